package model

import (
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// settings holds the number of attempts and the timeout that a program declares for a kind. A zero value is not declared.
type settings struct {
	attempts int
	timeout  time.Duration
}

// declareSettings puts in force the settings that a starting runner declares of its kinds, also for existing jobs. Declarations of other
// kinds stay.
func (q *queue) declareSettings(kinds []string, declared map[string]settings) {
	for _, kind := range kinds {
		q.settings[kind] = declared[kind]
	}
	for _, j := range q.jobs {
		if slices.Contains(kinds, j.Kind) {
			q.resolve(&j.Job)
		}
	}
}

// resolve sets the fields that a job leaves to its kind.
func (q *queue) resolve(j *jobs.Job) {
	s := q.settings[j.Kind]
	if j.MaxAttemptsFrom != jobs.SettingOfJob {
		j.MaxAttempts, j.MaxAttemptsFrom = s.attempts, jobs.SettingOfKind
		if s.attempts == 0 {
			j.MaxAttempts, j.MaxAttemptsFrom = jobs.DefaultMaxAttempts, jobs.SettingDefault
		}
	}
	if j.TimeoutFrom != jobs.SettingOfJob {
		j.Timeout, j.TimeoutFrom = s.timeout, jobs.SettingOfKind
		if s.timeout == 0 {
			j.TimeoutFrom = jobs.SettingDefault
		}
	}
}

// setAttempts sets how many attempts a job has; 0 leaves the number to its kind, whose number resolve sets.
func setAttempts(j *jobs.Job, n int) {
	if j.MaxAttempts, j.MaxAttemptsFrom = n, jobs.SettingOfJob; n == 0 {
		j.MaxAttemptsFrom = jobs.SettingDefault
	}
}

// setTimeout sets the timeout of a job's attempts; 0 leaves it to its kind, whose timeout resolve sets.
func setTimeout(j *jobs.Job, d time.Duration) {
	if j.Timeout, j.TimeoutFrom = d, jobs.SettingOfJob; d == 0 {
		j.TimeoutFrom = jobs.SettingDefault
	}
}
