package model

import (
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// fence identifies the attempt in every write of a holder.
type fence struct {
	job, attempt, worker int64
}

// held returns the job that a fence names, or nil when that attempt is over.
func (q *queue) held(f fence) *job {
	j := q.job(f.job)
	if j == nil || j.Status != jobs.StatusRunning || int64(j.Attempt) != f.attempt || j.WorkerID != f.worker {
		return nil
	}
	return j
}

// complete ends attempts well and reports of each whether it was still held. results has one for each fence, which may be nil.
func (q *queue) complete(fences []fence, results []json.RawMessage) []bool {
	var list []bool
	for i, f := range fences {
		j := q.held(f)
		if j != nil {
			j.Result, j.keys.Result = results[i], q.key
			q.end(j, jobs.StatusDone)
		}
		list = append(list, j != nil)
	}
	return list
}

// completeTx ends an attempt well in a transaction of the handler's own: a successor waits until the attempt is recorded.
func (q *queue) completeTx(f fence, result json.RawMessage) int64 {
	j := q.held(f)
	if j == nil {
		return 0
	}
	q.settle(j, jobs.StatusDone)
	j.Result, j.keys.Result = result, q.key
	return 1
}

// end gives a job a final status, and lets its successor run.
func (q *queue) end(j *job, status jobs.Status) {
	q.settle(j, status)
	q.release(keyOf{j.Kind, j.UniqueKey})
}

// settle gives a job a final status. Its last holder stays known.
func (q *queue) settle(j *job, status jobs.Status) {
	j.Status, j.FinishedAt, j.UpdatedAt, j.LeaseUntil, j.Successor = status, q.now, q.now, time.Time{}, false
}

// another makes a running job wait for another attempt: it has begun in time.
func (q *queue) another(j *job, status jobs.Status) {
	j.StartBy = time.Time{}
	q.again(j, status)
}

// again makes a job wait.
func (q *queue) again(j *job, status jobs.Status) {
	j.Status, j.UpdatedAt, j.WorkerID, j.LeaseUntil = status, q.now, 0, time.Time{}
}

// fate is the status of a job after an attempt that did not simply succeed.
type fate string

const (
	retried   fate = "retry"
	snoozed   fate = "snoozed"
	failed    fate = "failed"
	cancelled fate = "cancelled"
	released  fate = "released"
	unable    fate = "unable"
)

// outcome is the end of an attempt that did not simply succeed.
type outcome struct {
	fate    fate
	delay   time.Duration // of retried and snoozed: the delay; of unable: the addition to the delay that grows
	cause   jobs.Cause    // of a failure
	message string
	stack   string
}

// record ends an attempt and returns the job's fate: that of the outcome, cancelled when a cancel was requested
// meanwhile, none when the attempt was over.
func (q *queue) record(f fence, o outcome) (fate, bool) {
	j := q.held(f)
	if j == nil {
		return "", false
	}
	if !j.CancelRequested.IsZero() {
		o.fate = cancelled
	}
	q.note(j, o, j.StartedAt)
	status := jobs.StatusPending
	if o.delay > 0 {
		status = jobs.StatusScheduled
	}
	switch o.fate {
	case retried:
		j.RunAfter = micros(q.now.Add(o.delay))
		j.LastError, j.keys.LastError = o.message, q.key
		q.another(j, status)
	case snoozed:
		j.RunAfter = micros(q.now.Add(o.delay))
		j.Uncounted++
		q.another(j, status)
	case unable: // the note of this attempt is one of those in a row
		j.RunAfter = micros(q.now.Add(time.Duration(min(j.unableInARow(), 60))*time.Second + o.delay))
		j.Uncounted++
		q.again(j, jobs.StatusScheduled)
	case released:
		j.Uncounted++
		q.another(j, jobs.StatusPending)
	case failed:
		j.LastError, j.keys.LastError = o.message, q.key
		q.end(j, jobs.StatusFailed)
	case cancelled:
		j.LastError, j.keys.LastError = o.message, q.key
		q.end(j, jobs.StatusCancelled)
	}
	return o.fate, true
}

// unableInARow counts the latest attempts whose workers could not run the job. Those that were released between them do not matter.
func (j *job) unableInARow() (n int64) {
	for i := len(j.attempts) - 1; i >= 0; i-- {
		switch j.attempts[i].Cause {
		case jobs.CauseUnable:
			n++
		case jobs.CauseReleased:
		default:
			return n
		}
	}
	return n
}

// note adds the attempt of a running job to the ended ones.
func (q *queue) note(j *job, o outcome, startedAt time.Time) {
	if o.cause == "" {
		o.cause = jobs.Cause(o.fate) // the words are the same
	}
	j.attempts = append(j.attempts, attemptEnd{worker: j.WorkerID, key: q.key, AttemptEnd: inspect.AttemptEnd{
		Attempt: j.Attempt, Cause: o.cause, Message: o.message, Stack: o.stack, StartedAt: startedAt, EndedAt: q.now,
	}})
}

// giveBack makes jobs pending whose handlers were not called: the attempts do not count, and the jobs must still start in time.
func (q *queue) giveBack(fences []fence) {
	for _, f := range fences {
		switch j := q.held(f); {
		case j == nil:
		case !j.CancelRequested.IsZero():
			j.LastError = ""
			q.note(j, outcome{fate: cancelled}, time.Time{})
			q.end(j, jobs.StatusCancelled)
		default:
			j.Uncounted++
			q.note(j, outcome{fate: released}, time.Time{})
			q.again(j, jobs.StatusPending)
		}
	}
}

// progress records the progress of an attempt.
func (q *queue) progress(f fence, text []byte) int64 {
	j := q.held(f)
	if j == nil {
		return 0
	}
	j.Progress, j.keys.Progress, j.UpdatedAt = text, q.key, q.now
	return 1
}

// extend renews the leases of attempts that are still held.
func (q *queue) extend(fences []fence, lease time.Duration) int64 {
	var n int64
	for _, f := range fences {
		if j := q.held(f); j != nil {
			j.LeaseUntil = q.now.Add(lease)
			n++
		}
	}
	return n
}
