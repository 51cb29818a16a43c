package lifecycle

import (
	"strings"
	"unicode/utf8"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// The bounds of the recorded texts of an error, in bytes.
const (
	maxMessage = 4 << 10
	maxStack   = 16 << 10
)

const (
	// maxOutput is the number of bytes of an OutputError's output that are recorded.
	maxOutput = 2 << 10

	// maxOutputSearched is the number of bytes at the output's end that are searched for marked values; the bytes before them are dropped.
	maxOutputSearched = 1 << 20
)

// Output is the end of a program's output until the attempt's end is recorded.
type Output struct {
	text      string // valid UTF-8 without NUL
	truncated bool   // the beginning is missing
}

// NewOutput returns the part of the output that is searched and recorded, or nil if there is none.
func NewOutput(e *jobtype.OutputError) *Output {
	text, truncated := e.Output, e.Truncated
	if over := len(text) - maxOutputSearched; over > 0 {
		text, truncated = text[over:], true
	}
	if truncated { // the cut may have split a character
		for i := 1; i < utf8.UTFMax && text != "" && !utf8.RuneStart(text[0]); i++ {
			text = text[1:]
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return &Output{text: core.Clean(text, redact.MostText), truncated: truncated}
}

// recorded returns the recorded part of the output: its end, without the marked values.
func (o Output) recorded(values []string) string {
	text := strings.TrimSpace(redact.WithholdCut(o.text, values, redact.CutEnds{Start: o.truncated, End: true}))
	truncated := o.truncated
	if over := len(text) - maxOutput; over > 0 {
		text, truncated = strings.ToValidUTF8(text[over:], ""), true
	}
	if truncated {
		if _, rest, ok := strings.Cut(text, "\n"); ok && strings.TrimSpace(rest) != "" {
			text = rest
		}
	}
	return text
}

// joinOutput returns the recorded message of an error and of its program's output. Both are without marked values.
func joinOutput(message, output string) string {
	if output == "" {
		return core.Cut(message, maxMessage)
	}
	return core.Cut(message, maxMessage-maxOutput-len(": ")) + ": " + output
}
