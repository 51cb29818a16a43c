package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sqluice/sqluice/jobs"
)

const (
	// resultLimit is the maximum number of bytes of a program's standard output that become the job's result.
	resultLimit = 64 << 10

	// errorLimit is the number of bytes that are kept of the end of a program's standard error. It exceeds the recorded length,
	// because sensitive values are withheld before the text is shortened.
	errorLimit = 16 << 10
)

// head keeps the first limit bytes written to it and counts the others.
type head struct {
	limit   int
	kept    []byte
	written int
}

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), h.limit-len(h.kept))]...)
	h.written += len(p)
	return len(p), nil
}

func (h *head) dropped() int { return h.written - len(h.kept) }

// tail keeps the last limit bytes written to it.
type tail struct {
	limit   int
	kept    []byte
	dropped bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-t.limit):]...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.dropped = true
	}
	if len(p) > t.limit {
		t.dropped = true
	}
	return len(p), nil
}

// failure returns the error of a program that ended with err, with its standard error.
func (t *tail) failure(err error) error {
	return &jobs.OutputError{Err: err, Output: string(t.kept), Truncated: t.dropped}
}

// setResult sets the program's output as the job's result: JSON unchanged, other text as a JSON string without its last line break.
// Empty output sets no result.
func setResult(job jobs.Job, stdout *head) error {
	text := bytes.TrimSpace(stdout.kept)
	if len(text) == 0 {
		return nil
	}
	var result any = json.RawMessage(text)
	if stdout.dropped() > 0 || jobs.ValidatePayload(text) != nil {
		result = validText(wholeRunes(bytes.TrimRight(stdout.kept, "\r\n")))
	}
	if err := job.SetResult(result); err != nil {
		return fmt.Errorf("store the program's output as the result: %w", err)
	}
	return nil
}

// wholeRunes drops a character that a cut has left incomplete at the end.
func wholeRunes(text []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if start := len(text) - back; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				return text[:start]
			}
			break
		}
	}
	return text
}

// validText replaces bytes that are not UTF-8, and NUL: the database cannot store them in text.
func validText(text []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\x00", "\uFFFD")
}
