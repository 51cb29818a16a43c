package jobs

import (
	"encoding/json"
	"fmt"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/runner"
)

// VersionField is the field of a job's metadata that holds the version of its payload: see [Kind.Version].
const VersionField = "sqluice_version"

// upgraded returns the payload of a job in the form of the kind's version.
func (k *Kind[T]) upgraded(job *Job) (json.RawMessage, error) {
	if k.Version == 0 {
		return job.Payload, nil
	}
	from := versionOf(job.Metadata)
	switch {
	case from > k.Version:
		return nil, runner.Undecoded(fmt.Errorf("the payload has version %d, and this program knows up to %d", from, k.Version))
	case from == k.Version || k.Upgrade == nil:
		return job.Payload, nil
	}
	payload, err := k.Upgrade(from, job.Payload)
	if err != nil {
		return nil, runner.Undecoded(fmt.Errorf("upgrade payload from version %d to %d: %w", from, k.Version, discreet(err, len(k.Sensitive) > 0)))
	}
	return payload, nil
}

// versionOf returns the version in a job's metadata; 0 for none.
func versionOf(metadata json.RawMessage) int {
	var fields struct {
		Version int `json:"sqluice_version"`
	}
	if len(metadata) == 0 || json.Unmarshal(metadata, &fields) != nil {
		return 0
	}
	return fields.Version
}

// withVersion adds a version to metadata, which are none or an object.
func withVersion(metadata *string, version int) (*string, error) {
	return core.WithField(metadata, VersionField, version, ": the kind has a version, which is kept there")
}
