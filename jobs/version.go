package jobs

import (
	"encoding/json"
	"fmt"

	"github.com/sqluice/sqluice/internal/queue/runner"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// VersionField is the field of a job's metadata that holds the version of its payload: see [Kind.Version].
const VersionField = jobtype.VersionField

// AnyVersion, as [Kind.Version], makes a handler take payloads of all versions: [Job.PayloadVersion] returns a payload's version.
const AnyVersion = runner.AnyVersion

// upgraded returns the payload of a job in the form of the kind's version. The runner has released jobs with newer versions.
func (k *Kind[T]) upgraded(job *Job) (json.RawMessage, error) {
	if k.Version <= 0 || k.Upgrade == nil {
		return job.Payload, nil
	}
	from := job.PayloadVersion()
	if from >= k.Version {
		return job.Payload, nil
	}
	payload, err := k.Upgrade(from, job.Payload)
	if err != nil {
		return nil, runner.Undecoded(fmt.Errorf("upgrade payload from version %d to %d: %w", from, k.Version, discreet(err, len(k.Sensitive) > 0)))
	}
	return payload, nil
}
