package redact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const redactedJSON = `"` + jobtype.Redacted + `"`

// Columns holds the columns of a job that can contain sensitive values.
type Columns struct{ Payload, Metadata, Progress, Result *json.RawMessage }

func (c Columns) byName() map[string]*json.RawMessage {
	return map[string]*json.RawMessage{inPayload: c.Payload, inMetadata: c.Metadata, inProgress: c.Progress, inResult: c.Result}
}

// The columns of a job that can contain sensitive values. Paths begin with the names before the colon.
const (
	inPayload  = ""
	inMetadata = "metadata"
	inProgress = "progress"
	inResult   = "result"
)

// Check returns an error for paths that a kind cannot mark.
func Check(paths []string) error {
	if len(paths) > jobtype.MaxSensitive {
		return jobtype.NewInvalidError("number of sensitive fields", fmt.Sprint(len(paths)), fmt.Sprintf("be at most %d: mark the objects that contain them", jobtype.MaxSensitive))
	}
	for _, path := range paths {
		if _, _, err := parsePath(path); err != nil {
			return err
		}
	}
	return nil
}

// parsePath splits a path into its column and the names of the fields on the way.
func parsePath(path string) (column string, names []string, err error) {
	if err := core.CheckText("sensitive field", path, jobtype.MaxKeyLength); err != nil {
		return "", nil, err
	}
	rest := path
	for _, c := range []string{inMetadata, inProgress, inResult} {
		if after, ok := strings.CutPrefix(path, c+":"); ok {
			column, rest = c, after
		}
	}
	if rest != "*" { // the whole column
		names = strings.Split(rest, ".")
	}
	for _, name := range names {
		if name == "" {
			return "", nil, jobtype.NewInvalidError("sensitive field", strconv.Quote(path), "be names with a dot between them, such as card.number")
		}
	}
	return column, names, nil
}

// Fields holds the hidden fields of a kind's jobs: paths by column.
type Fields map[string][][]string

// everything returns the Fields that hide all columns.
func everything() Fields {
	all := [][]string{{}}
	return Fields{inPayload: all, inMetadata: all, inProgress: all, inResult: all}
}

// Hide adds a path. An invalid path hides everything: a later version may know its meaning.
func (h Fields) Hide(path string) {
	column, names, err := parsePath(path)
	if err != nil {
		for column, all := range everything() {
			h[column] = append(h[column], all...)
		}
		return
	}
	h[column] = append(h[column], names)
}

// Redact puts [jobtype.Redacted] in place of the hidden values of a job.
func (h Fields) Redact(j Columns) {
	for column, value := range j.byName() {
		if paths := h[column]; len(paths) > 0 && value != nil && *value != nil {
			*value = redact(*value, paths)
		}
	}
}

// Shown reports whether a payload has [jobtype.Redacted] in place of a hidden value: the caller read it through a
// redacting client.
func (h Fields) Shown(payload json.RawMessage) bool {
	paths := h[inPayload]
	if len(paths) == 0 {
		return false
	}
	return slices.ContainsFunc(selectValues(payload, paths), func(value json.RawMessage) bool { return string(value) == redactedJSON })
}
