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
	"github.com/sqluice/sqluice/internal/queue/cipher"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
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

// fences returns the fences of some jobs that a worker holds, or believes to hold: each job once.
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

// items returns the JSON list [[id, attempt], ...] for batch statements.
func (e *engine) items(fences []fence) string {
	var list []string
	for _, f := range fences {
		list = append(list, fmt.Sprintf("[%d,%d]", e.jobs.to(f.job), f.attempt))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// complete ends one attempt well by the statement of CompleteTx.
func (m *machine) complete(t *rapid.T) {
	f := m.fence(t)
	var result json.RawMessage
	var column *string
	if rapid.Bool().Draw(t, "with a result") {
		result = text(t, "result")
		column = new(m.keys.stored(m.kindOf(f.job), cipher.Result, result))
	}
	want := m.model.completeTx(f, result)
	t.Logf("complete %+v: %d", f, want)
	m.change(t, "complete", want, func(ctx context.Context, e *engine, q db.Querier) (int64, error) {
		return q.CompleteJob(ctx, db.CompleteJobParams{
			ResultJson: column, Now: micro(m.model.now), ID: e.jobs.to(f.job), Attempt: f.attempt, WorkerID: e.workers.to(f.worker),
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

// completeMany ends attempts of one worker, some with a result; of some jobs nothing is kept.
func (m *machine) completeMany(t *rapid.T) {
	fences := slices.DeleteFunc(m.fences(t, m.fence(t).worker), m.isRecorded)
	var ends []*lifecycle.End
	var results []json.RawMessage
	for _, f := range fences {
		end, result := m.endOf(f), json.RawMessage(nil)
		if rapid.Bool().Draw(t, "with a result") {
			result, end.Result = text(t, "result"), new(string)
			*end.Result = string(result)
		}
		end.Drop = rapid.Bool().Draw(t, "keep nothing")
		ends, results = append(ends, end), append(results, result)
	}
	want := m.model.complete(fences, results)
	for i, end := range ends {
		if want[i] && end.Drop {
			m.model.drop(m.model.job(fences[i].job))
		}
	}
	t.Logf("complete %v: %v", fences, want)
	each(m, "complete many", want, nil, func(e *engine) ([]bool, error) { return e.finish(m.ctx, m.model.now, ends) })
}

// giveBack gives jobs back that a worker has claimed and not begun.
func (m *machine) giveBack(t *rapid.T) {
	fences := m.fences(t, m.fence(t).worker)
	var ends []*lifecycle.End
	for _, f := range fences {
		end := m.endOf(f)
		end.Fate = lifecycle.FateReturn
		ends = append(ends, end)
	}
	m.model.giveBack(fences)
	t.Logf("give %v back", fences)
	each(m, "give back", struct{}{}, nil, func(e *engine) (struct{}, error) {
		_, err := e.finish(m.ctx, m.model.now, ends)
		return struct{}{}, err
	})
}

// isRecorded reports whether a worker has recorded already that an attempt ended well: it does so once.
func (m *machine) isRecorded(f fence) bool {
	j := m.model.job(f.job)
	return j != nil && j.Status == jobs.StatusDone && int64(j.Attempt) == f.attempt && j.WorkerID == f.worker
}

// endOf returns the good end of an attempt, as its worker records it, with the model's ids.
func (m *machine) endOf(f fence) *lifecycle.End {
	job := jobs.Job{}
	if j := m.model.job(f.job); j != nil {
		job = j.Job
	}
	job.ID, job.Attempt, job.WorkerID = f.job, int(f.attempt), f.worker
	return &lifecycle.End{Job: &job, Cipher: m.keys.values}
}

// kindOf returns the kind of a job; empty for one that is gone.
func (m *machine) kindOf(id int64) string {
	if j := m.model.job(id); j != nil {
		return j.Kind
	}
	return ""
}

// finish records ends as a runner does. It reports of each whether its attempt was still held, and sets Recorded.
func (e *engine) finish(ctx context.Context, at time.Time, ends []*lifecycle.End) (held []bool, err error) {
	theirs := make([]*lifecycle.End, len(ends))
	for i, end := range ends {
		copied, job := *end, *end.Job
		job.ID, job.WorkerID = e.jobs.to(job.ID), e.workers.to(job.WorkerID)
		copied.Job, theirs[i] = &job, &copied
	}
	var lost []*lifecycle.End
	err = e.store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		made := lifecycle.NewTransitions()
		if err = lifecycle.Hide(ctx, q, theirs); err != nil {
			return err
		}
		if lost, err = lifecycle.Finish(ctx, e.store, q, at, theirs, made); err != nil {
			return err
		}
		return made.Conclude(ctx, q, micro(at))
	})
	for i, end := range theirs {
		held = append(held, !slices.Contains(lost, end))
		ends[i].Recorded = end.Recorded
	}
	return held, err
}

// progress records the progress of an attempt.
func (m *machine) progress(t *rapid.T) {
	f := m.fence(t)
	data := text(t, "progress")
	stored := m.keys.stored(m.kindOf(f.job), cipher.Progress, data)
	want := m.model.progress(f, data)
	t.Logf("progress of %+v: %d", f, want)
	m.change(t, "progress", want, func(ctx context.Context, e *engine, q db.Querier) (int64, error) {
		return q.SetJobProgress(ctx, db.SetJobProgressParams{
			ProgressJson: stored, Now: micro(m.model.now), ID: e.jobs.to(f.job), Attempt: f.attempt, WorkerID: e.workers.to(f.worker),
		})
	})
}

// outcome ends an attempt in another way.
func (m *machine) outcome(t *rapid.T) {
	f := m.fence(t)
	o := outcome{fate: pick(t, "outcome", []fate{retried, failed, snoozed, cancelled, released, unable})}
	switch o.fate {
	case retried, failed:
		o.cause = pick(t, "cause", []jobs.Cause{jobs.CauseError, jobs.CauseTimeout, jobs.CausePanic})
		o.message, o.stack = pick(t, "message", messages), pick(t, "stack", messages)
	case cancelled, unable:
		o.message = pick(t, "message", messages)
	}
	if o.fate == retried || o.fate == snoozed || o.fate == unable {
		o.delay = pick(t, "delay", []time.Duration{time.Second, 0, time.Microsecond, time.Hour})
	}
	end := m.endOf(f)
	want, held := m.model.record(f, o)
	t.Logf("%+v ends as %+v: %q, %v", f, o, want, held)
	each(m, "outcome", want, nil, func(e *engine) (fate, error) {
		end.Fate, end.Delay, end.Spread, end.Cause, end.Message, end.Stack = fates[o.fate], o.delay, o.delay, o.cause, o.message, o.stack
		held, err := e.finish(m.ctx, m.model.now, []*lifecycle.End{end})
		if err != nil || !held[0] {
			return "", err
		}
		return fate(end.Recorded.Public()), nil
	})
}

// fates are the outcomes as a worker records them.
var fates = map[fate]lifecycle.Fate{
	retried: lifecycle.FateRetry, snoozed: lifecycle.FateSnooze, failed: lifecycle.FateFail, cancelled: lifecycle.FateCancel,
	released: lifecycle.FateRelease, unable: lifecycle.FateUnable,
}
