package core

import (
	"encoding/json"
	"strings"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// ReservedFields returns the fields of metadata whose names the queue keeps for itself: they begin with sqluice_, in any letter case,
// because package json ignores case. It returns none for metadata that are no object.
func ReservedFields(metadata string) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(metadata), &fields) != nil {
		return nil
	}
	for name := range fields {
		if !strings.HasPrefix(strings.ToUpper(name), "SQLUICE_") {
			delete(fields, name)
		}
	}
	return fields
}

// WithField returns metadata, which are nil or an object, with a field of the queue. The error is an InvalidError for metadata that are
// no object; why completes "must be an object".
func WithField(metadata *string, name string, value any, why string) (*string, error) {
	fields := map[string]json.RawMessage{}
	if metadata != nil {
		if err := json.Unmarshal([]byte(*metadata), &fields); err != nil || fields == nil {
			return nil, jobtype.NewInvalidError("metadata", "", "be an object"+why)
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	fields[name] = text
	encoded, err := Encode("metadata", fields)
	return &encoded, err
}
