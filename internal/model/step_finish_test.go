package model

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// stale are the ways in which a fence can be wrong; most are right.
var stale = []string{"", "", "", "", "the attempt before", "another worker", "the attempt after"}

// fence draws the fence of a job, most often of a running one, and now and then makes it wrong.
func (m *machine) fence(t *rapid.T) fence {
	running := m.model.having(func(j *job) bool { return j.Status == jobs.StatusRunning })
	var id int64
	if len(running) == 0 || seldom(t, "a job that may not run", 10) {
		id = m.anyJob(t)
	} else {
		id = pick(t, "running job", idsOf(running))
	}
	f := fence{job: id, attempt: 1}
	if j := m.model.job(id); j != nil {
		f.attempt, f.worker = int64(j.Attempt), j.WorkerID
	}
	if f.worker == 0 {
		f.worker = m.anyWorker(t)
	}
	return m.blur(t, f)
}

func (m *machine) blur(t *rapid.T, f fence) fence {
	switch pick(t, "stale", stale) {
	case "the attempt before":
		f.attempt--
	case "the attempt after":
		f.attempt++
	case "another worker":
		f.worker = m.anyWorker(t)
	}
	return f
}

// fences are those of some jobs that a worker holds, or believes to hold: each job once.
func (m *machine) fences(t *rapid.T, worker int64) []fence {
	var list []fence
	if len(m.model.jobs) == 0 {
		return nil
	}
	held := m.model.having(func(j *job) bool { return j.WorkerID == worker || isAnyThird(j) })
	for _, id := range some(t, "held jobs", append(idsOf(held), m.model.lastJob+1), 0, 5) {
		f := fence{job: id, worker: worker}
		if j := m.model.job(id); j != nil {
			f.attempt = int64(j.Attempt)
		}
		f = m.blur(t, f)
		f.worker = worker // the statement's, for all of them
		list = append(list, f)
	}
	return list
}

// isAnyThird adds some jobs to those that a statement is meant for.
func isAnyThird(j *job) bool { return j.ID%3 == 0 }

// items returns the JSON list [[id, attempt], ...], or [[id, attempt, result], ...], for batch statements.
func (e *engine) items(fences []fence, results []json.RawMessage) string {
	var list []string
	for i, f := range fences {
		item := fmt.Sprintf("%d,%d", e.jobs.to(f.job), f.attempt)
		if results != nil {
			item += "," + string(encoded(string(results[i])))
		}
		list = append(list, "["+item+"]")
	}
	return "[" + strings.Join(list, ",") + "]"
}

// complete ends one attempt well.
func (m *machine) complete(t *rapid.T) {
	f := m.fence(t)
	var results []json.RawMessage
	var result *string
	if rapid.Bool().Draw(t, "with a result") {
		data := text(t, "result")
		results, result = []json.RawMessage{data}, new(string)
		*result = string(data)
	}
	want := m.model.complete([]fence{f}, results)
	t.Logf("complete %+v: %d", f, want)
	m.change(t, "complete", want, func(ctx context.Context, e *engine, q db.Querier) (int64, error) {
		return q.CompleteJob(ctx, db.CompleteJobParams{
			ResultJson: result, Now: micro(m.model.now), ID: e.jobs.to(f.job), Attempt: f.attempt, WorkerID: e.workers.to(f.worker),
		})
	})
}

// change runs a function in a transaction that changes a number of rows.
func (m *machine) change(t *rapid.T, what string, want int64, do func(context.Context, *engine, db.Querier) (int64, error)) {
	each(m, what, want, nil, func(e *engine) (n int64, err error) {
		err = e.store.Write(m.ctx, func(ctx context.Context, q db.Querier) (err error) {
			if n, err = do(ctx, e, q); err != nil {
				return err
			}
			return recount(ctx, q)
		})
		return n, err
	})
}

// recount corrects the counts after statements that the library notes in the same transaction, and that a step runs
// alone.
func recount(ctx context.Context, q db.Querier) error {
	_, err := q.RecountJobs(ctx, 0)
	return err
}

// completeMany ends attempts of one worker that have one number.
func (m *machine) completeMany(t *rapid.T) {
	f := m.fence(t)
	alike := m.model.having(func(j *job) bool {
		return j.WorkerID == f.worker && int64(j.Attempt) == f.attempt || isAnyThird(j)
	})
	ids := some(t, "jobs", append(idsOf(alike), m.model.lastJob+1), 0, 6)
	if !slices.Contains(ids, f.job) {
		ids = append(ids, f.job)
	}
	var fences []fence
	for _, id := range ids {
		fences = append(fences, fence{id, f.attempt, f.worker})
	}
	want := m.model.complete(fences, nil)
	t.Logf("complete %v: %d", fences, want)
	m.change(t, "complete many", want, func(ctx context.Context, e *engine, q db.Querier) (int64, error) {
		return q.CompleteJobs(ctx, db.CompleteJobsParams{
			Now: micro(m.model.now), WorkerID: e.workers.to(f.worker), Attempt: f.attempt, Ids: string(encoded(e.jobs.list(ids))),
		})
	})
}

// completeWithResults ends attempts of one worker, each with a result.
func (m *machine) completeWithResults(t *rapid.T) {
	worker := m.fence(t).worker
	fences := m.fences(t, worker)
	results := make([]json.RawMessage, 0, len(fences))
	for range fences {
		results = append(results, text(t, "result"))
	}
	want := m.model.complete(fences, results)
	t.Logf("complete %v with results: %d", fences, want)
	m.change(t, "complete with results", want, func(ctx context.Context, e *engine, q db.Querier) (int64, error) {
		return q.CompleteJobsWithResults(ctx, db.CompleteJobsWithResultsParams{
			Now: micro(m.model.now), WorkerID: e.workers.to(worker), Items: e.items(fences, results),
		})
	})
}

// progress records the progress of an attempt.
func (m *machine) progress(t *rapid.T) {
	f := m.fence(t)
	data := text(t, "progress")
	want := m.model.progress(f, data)
	t.Logf("progress of %+v: %d", f, want)
	m.change(t, "progress", want, func(ctx context.Context, e *engine, q db.Querier) (int64, error) {
		return q.SetJobProgress(ctx, db.SetJobProgressParams{
			ProgressJson: string(data), Now: micro(m.model.now), ID: e.jobs.to(f.job), Attempt: f.attempt, WorkerID: e.workers.to(f.worker),
		})
	})
}

// outcome ends an attempt in another way.
func (m *machine) outcome(t *rapid.T) {
	f := m.fence(t)
	o := outcome{fate: pick(t, "outcome", []fate{retried, failed, snoozed, cancelled, released})}
	switch o.fate {
	case retried, failed:
		o.cause = pick(t, "cause", []jobs.Cause{jobs.CauseError, jobs.CauseTimeout, jobs.CausePanic})
		o.message, o.stack = pick(t, "message", messages), pick(t, "stack", messages)
	case cancelled:
		o.message = pick(t, "message", messages)
	}
	if o.fate == retried || o.fate == snoozed {
		o.delay = pick(t, "delay", []time.Duration{time.Second, 0, time.Microsecond, time.Hour})
	}
	var startedAt time.Time
	if j := m.model.job(f.job); j != nil {
		startedAt = j.StartedAt
	}
	want, held := m.model.record(f, o)
	t.Logf("%+v ends as %+v: %q, %v", f, o, want, held)
	each(m, "outcome", want, nil, func(e *engine) (done fate, err error) {
		err = e.store.Write(m.ctx, func(ctx context.Context, q db.Querier) (err error) {
			if done, err = e.record(ctx, q, m.model.now, startedAt, f, o); err != nil {
				return err
			}
			return recount(ctx, q)
		})
		return done, err
	})
}

// record writes an outcome as the producer of a runner does.
func (e *engine) record(ctx context.Context, q db.Querier, at, startedAt time.Time, f fence, o outcome) (fate, error) {
	id, worker, now := e.jobs.to(f.job), e.workers.to(f.worker), micro(at)
	message := &o.message
	if o.message == "" {
		message = nil
	}
	n, err := q.CancelRequestedJob(ctx, db.CancelRequestedJobParams{
		LastError: message, Now: now, ID: id, Attempt: f.attempt, WorkerID: worker,
	})
	done := cancelled
	if err == nil && n == 0 {
		done = o.fate
		n, err = e.recordFate(ctx, q, at, f, o, message)
	}
	if err != nil || n == 0 {
		return "", err
	}
	if o.cause == "" {
		return done, nil
	}
	return done, q.AddJobError(ctx, db.AddJobErrorParams{
		JobID: id, Attempt: f.attempt, WorkerID: worker, StartedAt: micro(startedAt), EndedAt: now,
		Cause: string(o.cause), Message: o.message, Stack: o.stack,
	})
}

func (e *engine) recordFate(ctx context.Context, q db.Querier, at time.Time, f fence, o outcome, message *string) (int64, error) {
	id, worker, now, runAfter := e.jobs.to(f.job), e.workers.to(f.worker), micro(at), micro(at.Add(o.delay))
	status := string(jobs.StatusPending)
	if o.delay > 0 {
		status = string(jobs.StatusScheduled)
	}
	switch o.fate {
	case retried:
		return q.RetryJob(ctx, db.RetryJobParams{
			Status: status, RunAfter: runAfter, LastError: o.message, Now: now, ID: id, Attempt: f.attempt, WorkerID: worker,
		})
	case snoozed:
		return q.SnoozeJob(ctx, db.SnoozeJobParams{
			Status: status, RunAfter: runAfter, Now: now, ID: id, Attempt: f.attempt, WorkerID: worker,
		})
	case failed:
		return q.FailJob(ctx, db.FailJobParams{LastError: o.message, Now: now, ID: id, Attempt: f.attempt, WorkerID: worker})
	case cancelled:
		return q.CancelRunningJob(ctx, db.CancelRunningJobParams{
			LastError: message, Now: now, ID: id, Attempt: f.attempt, WorkerID: worker,
		})
	default:
		return q.ReleaseJob(ctx, db.ReleaseJobParams{Now: now, ID: id, Attempt: f.attempt, WorkerID: worker})
	}
}
