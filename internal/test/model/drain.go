package model

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// drain is a runner that works until no job is left.
type drain struct {
	name       string
	queues     map[string]int
	kinds      []string            // sorted
	brief      []string            // those of which nothing is kept when a job is done
	settings   map[string]settings // of kinds
	lease      time.Duration
	failAll    bool
	maxCrashes int
	endings    []ending
}

// ending is the behaviour of a handler.
type ending struct {
	what    ended
	message string
	delay   time.Duration
	value   any // of a result or progress
}

type ended string

const (
	endsWell        ended = "nil"
	endsWithResult  ended = "SetResult, then nil"
	endsAfterReport ended = "SetProgress, then nil"
	endsInTx        ended = "CompleteTx, committed"
	endsRolledBack  ended = "CompleteTx, rolled back, then an error"
	endsInError     ended = "error"
	endsInRetry     ended = "RetryIn"
	endsInSnooze    ended = "Snooze"
	endsInDiscard   ended = "Discard"
	endsInCancel    ended = "Cancel"
	endsInPanic     ended = "panic"
)

// tries bounds how often a job may come back in one drain before its handler returns nil.
const tries = 3

// of returns how the handler of an attempt ends; run counts the job's attempts in this drain from 1.
func (d drain) of(j jobs.Job, id int64, run int) ending {
	if run > tries {
		return ending{what: endsWell}
	}
	return d.endings[(id+int64(j.Attempt))%int64(len(d.endings))]
}

// retryDelay returns the retry delay of the kinds.
func retryDelay(n int) time.Duration { return time.Duration(n-1) * time.Second }

// aStack stands for every stack that Go wrote.
const aStack = "(a stack)"

// drain does the work of a runner with one slot, and returns the jobs as its handlers got them. No live worker has its
// name; an ended one makes room.
func (q *queue) drain(d drain, info inspect.WorkerInfo) []jobs.Job {
	w := q.register(info, d.lease)
	if w == nil {
		q.rescueUnlocked(d.maxCrashes, d.failAll)
		w = q.register(info, d.lease)
	}
	q.undeclare(d.kinds)
	q.declareSettings(d.kinds, d.settings)
	q.boot(d.maxCrashes, d.failAll)
	q.settleOverdue()
	var starts []jobs.Job
	runs := map[int64]int{}
	for {
		q.promote(int64(len(q.jobs))) // also a successor that the last end has released
		j := q.claimAny(w, d)
		if j == nil {
			q.endWorker(w.id, "stopped")
			return starts
		}
		start := j.Job // fields that are not known at the claim are not set
		start.Progress, start.Result, start.LastError = nil, nil, ""
		starts = append(starts, start)
		runs[j.ID]++
		q.run(j, d.of(j.Job, j.ID, runs[j.ID]))
		if j.Status == jobs.StatusDone && slices.Contains(d.brief, j.Kind) {
			q.drop(j)
		}
	}
}

func (q *queue) claimAny(w *worker, d drain) *job {
	for name := range d.queues {
		if list := q.claim(w, name, d.kinds, 1, d.lease, false); len(list) > 0 {
			return list[0]
		}
	}
	return nil
}

// run ends the attempt of a job that was just claimed.
func (q *queue) run(j *job, e ending) {
	f := fence{j.ID, int64(j.Attempt), j.WorkerID}
	failure := outcome{fate: retried, cause: jobs.CauseError, message: e.message, delay: retryDelay(j.Attempt - j.Uncounted)}
	switch e.what {
	case endsWell:
		q.complete([]fence{f}, []json.RawMessage{nil})
	case endsWithResult, endsInTx:
		q.complete([]fence{f}, []json.RawMessage{encoded(e.value)})
	case endsAfterReport:
		q.progress(f, encoded(e.value))
		q.complete([]fence{f}, []json.RawMessage{nil})
	case endsInSnooze:
		q.record(f, outcome{fate: snoozed, delay: e.delay})
	case endsInDiscard:
		q.record(f, outcome{fate: failed, cause: jobs.CauseError, message: e.message})
	case endsInCancel:
		q.record(f, outcome{fate: cancelled, message: e.message})
	case endsInRetry:
		failure.delay = e.delay
		q.fail(j, f, failure)
	case endsInPanic:
		failure.cause, failure.message, failure.stack = jobs.CausePanic, "panic: "+e.message, aStack
		q.fail(j, f, failure)
	case endsInError, endsRolledBack:
		q.fail(j, f, failure)
	}
}

// fail retries while attempts are left.
func (q *queue) fail(j *job, f fence, o outcome) {
	if j.AttemptsLeft() == 0 {
		o.fate = failed
	}
	q.record(f, o)
}

// drainAhead is the time within which a job must fall due for a drain to wait for it.
const drainAhead = 50 * time.Millisecond

// busy reports whether a drain would wait for a job of a queue and kind: for a running one, one that is pending
// before its time, or one that falls due in a moment.
func (q *queue) busy(name, kind string) bool {
	return slices.ContainsFunc(q.jobs, func(j *job) bool {
		soon := j.Status == jobs.StatusScheduled && j.RunAfter.After(q.now) && !j.RunAfter.After(q.now.Add(drainAhead))
		return (j.Status == jobs.StatusRunning || q.isEarly(j) || soon) && j.Queue == name && j.Kind == kind
	})
}

// encoded returns the library's encoding of a Go value.
func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // of a value that a test made
	}
	return data
}
