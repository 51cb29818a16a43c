package schedule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// fixedColumns returns the columns of a job that the schedule's own columns or its tick set: no option may set them.
func fixedColumns() []string {
	return []string{"kind", "queue", "payload", "status", "run_after", "start_by", "unique_key", "successor_at", "request_id", "now"}
}

// withinName is the option that says how long after its tick a job must start, in microseconds.
const withinName = "start_within"

// Options returns the text of a schedule's column of that name: each column of its jobs that is not the default, by name, and the time
// after its tick by which a job must start, if any.
func Options(job db.EnqueueJobParams, startWithin time.Duration) (string, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return "", err
	}
	var columns map[string]json.RawMessage
	if err := json.Unmarshal(text, &columns); err != nil {
		return "", err
	}
	for _, name := range fixedColumns() {
		delete(columns, name)
	}
	for name, text := range map[string]*string{"tags": job.Tags, "metadata": job.Metadata} { // these columns hold JSON
		if text != nil {
			columns[name] = json.RawMessage(*text)
		}
	}
	if startWithin > 0 {
		columns[withinName] = json.RawMessage(strconv.FormatInt(startWithin.Microseconds(), 10))
	}
	maps.DeleteFunc(columns, func(_ string, value json.RawMessage) bool { return string(value) == "null" || string(value) == "0" })
	options, err := json.Marshal(columns)
	return string(options), err
}

// job returns the job that a schedule enqueues for a tick.
func job(s db.Schedule, tick time.Time, now int64) (db.EnqueueJobParams, error) {
	job, within, err := parseOptions(s.Options)
	if err != nil {
		return job, fmt.Errorf("options: %w", err)
	}
	if within > 0 {
		job.StartBy = new(min(core.Micros(tick)+within, core.Micros(core.Latest)))
	}
	if job.Metadata, err = withTick(job.Metadata, s.Name, tick); err != nil {
		return job, err
	}
	job.Kind, job.Queue, job.Payload = s.Kind, s.Queue, s.Payload
	job.Status, job.RunAfter, job.Now = string(jobtype.StatusPending), now, now
	return job, nil
}

// parseOptions reads the options of a schedule: columns of its jobs, and the microseconds after its tick by which a job must start; 0
// for no such bound. Columns that hold JSON may be given as JSON or as its text.
func parseOptions(text string) (job db.EnqueueJobParams, within int64, err error) {
	var columns map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &columns); err != nil {
		return job, 0, err
	}
	if value, given := columns[withinName]; given {
		if err := json.Unmarshal(value, &within); err != nil || within < 0 || within > core.Micros(core.Latest) {
			return job, 0, fmt.Errorf("%q must be a number of microseconds", withinName)
		}
		delete(columns, withinName)
	}
	known, err := columnNames()
	if err != nil {
		return job, 0, err
	}
	for name, value := range columns {
		switch { // package json would accept the name in other letter case
		case slices.Contains(fixedColumns(), name):
			return job, 0, fmt.Errorf("%q must not be an option: the schedule or its tick sets it", name)
		case known[name] == nil:
			return job, 0, fmt.Errorf("%q is unknown to this program: a newer version may have written it", name)
		}
		if value[0] == '{' || value[0] == '[' {
			if columns[name], err = json.Marshal(string(value)); err != nil {
				return job, 0, err
			}
		}
	}
	plain, err := json.Marshal(columns)
	if err != nil {
		return job, 0, err
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.DisallowUnknownFields()
	return job, within, decoder.Decode(&job)
}

// columnNames returns the names of the columns with which a job is inserted.
func columnNames() (names map[string]json.RawMessage, err error) {
	text, err := json.Marshal(db.EnqueueJobParams{})
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &names)
	return names, err
}

// withTick returns metadata, which are nil or an object, with the tick of a schedule.
func withTick(metadata *string, name string, tick time.Time) (*string, error) {
	return core.WithField(metadata, jobtype.TickField, jobtype.JobTick{Schedule: name, Tick: tick.UTC()}, tickInMetadata)
}

const tickInMetadata = ", because the jobs of a schedule have their tick in it"

// notAnObject returns the error for metadata to which a job's tick cannot be added.
func notAnObject() error {
	return jobtype.NewInvalidError("metadata", "", "be an object"+tickInMetadata)
}
