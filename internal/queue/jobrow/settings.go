package jobrow

import (
	"time"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Settings are what a kind declares of its jobs. A zero value declares nothing.
type Settings struct {
	MaxAttempts int
	Timeout     time.Duration
}

// Fill sets what the row of a job leaves to its kind, and says where each value comes from.
func (s Settings) Fill(job *jobtype.Job) {
	job.MaxAttempts, job.MaxAttemptsFrom = resolve(job.MaxAttempts, s.MaxAttempts, jobtype.DefaultMaxAttempts)
	job.Timeout, job.TimeoutFrom = resolve(job.Timeout, s.Timeout, 0)
}

// resolve returns the first value that is not zero: the job's own, that of its kind, or else the default.
func resolve[T int | time.Duration](own, kind, standard T) (T, jobtype.SettingSource) {
	switch {
	case own != 0:
		return own, jobtype.SettingOfJob
	case kind != 0:
		return kind, jobtype.SettingOfKind
	}
	return standard, jobtype.SettingDefault
}
