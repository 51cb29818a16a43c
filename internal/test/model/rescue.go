package model

import (
	"slices"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// rescue describes a rescue of stuck jobs.
type rescue struct {
	worker      int64  // when not 0, its row is ended first; if it has ended already, nothing happens
	reason      string // of that end: crash or lost
	judgeLeases bool   // a lease that is over makes a job stuck, whatever its worker's state
	maxCrashes  int
	failAll     bool
}

// isStuck reports whether no worker works on a running job any more.
func (q *queue) isStuck(j *job, judgeLeases bool) bool {
	if j.Status != jobs.StatusRunning {
		return false
	}
	w := q.worker(j.WorkerID)
	return w == nil || !w.endedAt.IsZero() || judgeLeases && j.LeaseUntil.Before(q.now)
}

// rescue releases stuck jobs, or ends those with a cancel request, without an attempt left or with too many crashes.
func (q *queue) rescue(r rescue) {
	if r.worker != 0 && q.endWorker(r.worker, r.reason) == 0 {
		return
	}
	for _, j := range q.having(func(j *job) bool { return q.isStuck(j, r.judgeLeases) }) {
		e := q.noteStuck(j)
		if j.isExcused(e) {
			j.Uncounted++
		}
		if e.Cause == jobs.CauseCrash {
			j.Crashes++
		}
		switch {
		case !j.CancelRequested.IsZero():
			q.end(j, jobs.StatusCancelled)
		case j.AttemptsLeft() == 0 || j.Crashes >= r.maxCrashes || r.failAll:
			j.LastError, j.keys.LastError = e.Message, ""
			q.end(j, jobs.StatusFailed)
		default:
			j.LastError, j.keys.LastError = e.Message, ""
			q.another(j, jobs.StatusPending)
		}
	}
}

// isExcused reports whether an attempt that a rescue has ended does not count: it may not have started. The first death is excused, and the
// first lease that ran out.
func (j *job) isExcused(e attemptEnd) bool {
	return j.prefetched == j.Attempt && j.Crashes == 0 && j.AttemptsLeft() > 0 &&
		(e.Cause == jobs.CauseCrash || !slices.ContainsFunc(j.attempts, func(old attemptEnd) bool {
			return old.Cause == jobs.CauseLost && old.Attempt < e.Attempt
		}))
}

// noteStuck lists the attempt among the job's errors: as lost when the process may live, as a crash when it does not.
func (q *queue) noteStuck(j *job) attemptEnd {
	name, cause, text := "unknown", jobs.CauseCrash, "the process ended: worker "
	if w := q.worker(j.WorkerID); w != nil {
		name = w.Name
		switch {
		case w.endReason == "stopped":
			cause, text = jobs.CauseLost, "the worker stopped without recording the end: worker "
		case w.endedAt.IsZero() || w.endReason == "lost":
			cause, text = jobs.CauseLost, "the lease ran out: worker "
		}
	}
	if j.prefetched == j.Attempt {
		name += ", and the handler may not have started"
	}
	e := attemptEnd{worker: j.WorkerID, AttemptEnd: inspect.AttemptEnd{
		Attempt: j.Attempt, Cause: cause, Message: text + name, StartedAt: j.StartedAt, EndedAt: q.now,
	}}
	j.attempts = append(j.attempts, e)
	return e
}

// boot is the rescue of a starting runner before its first claim: it uses locks only.
func (q *queue) boot(maxCrashes int, failAll bool) {
	q.rescueUnlocked(maxCrashes, failAll)
	q.rescue(rescue{maxCrashes: maxCrashes, failAll: failAll})
}

// rescueUnlocked ends the workers whose lock is free.
func (q *queue) rescueUnlocked(maxCrashes int, failAll bool) {
	for _, w := range q.live() {
		if !w.locked {
			q.rescue(rescue{worker: w.id, reason: "crash", maxCrashes: maxCrashes, failAll: failAll})
		}
	}
}
