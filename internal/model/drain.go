package model

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// drain is a runner that works until nothing is left to do.
type drain struct {
	name       string
	queues     map[string]int
	kinds      []string // sorted
	lease      time.Duration
	failAll    bool
	maxCrashes int
	endings    []ending
}

// ending is what a handler does.
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

// tries is how often a job may come back in one drain before its handler returns nil.
const tries = 3

// of is how the handler of an attempt ends; run counts the job's attempts in this drain from 1.
func (d drain) of(j jobs.Job, id int64, run int) ending {
	if run > tries {
		return ending{what: endsWell}
	}
	return d.endings[(id+int64(j.Attempt))%int64(len(d.endings))]
}

// retryDelay is that of the kinds.
func retryDelay(n int) time.Duration { return time.Duration(n-1) * time.Second }

// aStack stands for every stack that Go wrote.
const aStack = "(a stack)"

// drain does what a runner with one slot does, and returns the jobs as its handlers got them. No worker that lives has
// its name; one that is gone makes room.
func (q *queue) drain(d drain, info jobs.WorkerInfo) []jobs.Job {
	w := q.register(info, d.lease)
	if w == nil {
		q.rescueUnlocked(d.maxCrashes, d.failAll)
		w = q.register(info, d.lease)
	}
	q.boot(d.maxCrashes, d.failAll)
	q.promote(int64(len(q.jobs)))
	var starts []jobs.Job
	runs := map[int64]int{}
	for {
		j := q.claimAny(w, d)
		if j == nil {
			q.endWorker(w.id, "stopped")
			return starts
		}
		start := j.Job // what is not known at the claim is not there
		start.Progress, start.Result, start.LastError = nil, nil, ""
		starts = append(starts, start)
		runs[j.ID]++
		q.run(j, d.of(j.Job, j.ID, runs[j.ID]))
	}
}

func (q *queue) claimAny(w *worker, d drain) *job {
	for name := range d.queues {
		if list := q.claim(w, name, d.kinds, 1, d.lease); len(list) > 0 {
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
		q.complete([]fence{f}, nil)
	case endsWithResult, endsInTx:
		q.complete([]fence{f}, []json.RawMessage{encoded(e.value)})
	case endsAfterReport:
		q.progress(f, encoded(e.value))
		q.complete([]fence{f}, nil)
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

// busy says whether a drain would wait for a job of a queue and kind: for one that runs, or that is pending before its time.
func (q *queue) busy(name, kind string) bool {
	return slices.ContainsFunc(q.jobs, func(j *job) bool {
		return (j.Status == jobs.StatusRunning || q.isEarly(j)) && j.Queue == name && j.Kind == kind
	})
}

// encoded is what the library keeps of a Go value.
func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // of a value that a test made
	}
	return data
}
