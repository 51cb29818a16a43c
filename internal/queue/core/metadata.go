package core

import (
	"encoding/json"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// WithField returns metadata, which are none or an object, with a field of the queue's own. The error is an InvalidError for metadata that
// are no object; why completes "must be an object".
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
