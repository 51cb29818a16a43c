package model

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// TestEndsBesideACancelledSequence ends attempts together of which one may fail and so cancel the jobs behind it, and others may be stale.
func TestEndsBesideACancelledSequence(t *testing.T) {
	checkLimited(t, func(t *rapid.T, l *limitedMachine) {
		of := jobs.LimitValues{Ordered: true, OnFail: jobs.OnFailCancel}
		l.must(t, l.engine.client.SetLimit(l.ctx, limitedKind, "a", of))
		l.model.limits["a"] = of
		l.add(t, 2, "a", jobs.DefaultQueue, 0, 0)
		l.add(t, 2, "b", jobs.DefaultQueue, 0, 0)
		l.claimFrom(t, jobs.DefaultQueue, 3)
		l.endTogether(t)
		l.check(t)
	})
}

// endTogether ends several attempts in one transaction, as a cycle does. The worker may have lost the lease of some: their ends are refused,
// and all that the others lead to is counted.
func (l *limitedMachine) endTogether(t *rapid.T) {
	running := l.model.having(jobs.StatusRunning)
	if len(running) < 2 {
		t.Skip("less than two jobs run")
	}
	l.recount(t)
	var ends, stale []*lifecycle.End
	for _, j := range running[:rapid.IntRange(2, len(running)).Draw(t, "ends")] {
		key := j.key
		end := &lifecycle.End{Job: &jobs.Job{
			ID: j.id, Kind: limitedKind, Queue: j.queue, Attempt: j.attempt, WorkerID: l.worker, LimitKey: &key, StartedAt: l.model.now,
		}}
		ends = append(ends, end)
		switch way := pick(t, "end", []string{"done", "done", "done", "failed", "lost"}); way {
		case "done":
			j.status = jobs.StatusDone
		case "failed":
			end.Fate, end.Cause, end.Message = lifecycle.FateFail, jobs.CauseError, "bad"
			j.status = jobs.StatusFailed
		case "lost":
			end.Job.WorkerID = l.worker + 1
			stale = append(stale, end)
		}
		t.Logf("job %d is %s, %d ends are stale", j.id, j.status, len(stale))
	}
	for _, end := range ends {
		if end.Fate == lifecycle.FateFail {
			l.model.cancelBehind(*end.Job.LimitKey)
		}
	}
	var lost []*lifecycle.End
	l.write(t, func(ctx context.Context, q db.Querier) (err error) {
		made := lifecycle.NewTransitions()
		if err = lifecycle.Hide(ctx, q, ends); err != nil {
			return err
		}
		if lost, err = lifecycle.Finish(ctx, l.engine.store, q, l.model.now, ends, made); err != nil {
			return err
		}
		return made.Conclude(ctx, q, micro(l.model.now))
	})
	if len(lost) != len(stale) || slices.ContainsFunc(stale, func(e *lifecycle.End) bool { return !slices.Contains(lost, e) }) {
		t.Fatalf("%d ends are refused, and %d are stale", len(lost), len(stale))
	}
	if wrong := l.recount(t); wrong != 0 {
		t.Fatalf("%d counts of ended jobs are wrong", wrong)
	}
}

// recount mends the counts of ended jobs, and returns the number of the wrong ones: other steps do not count all that they do.
func (l *limitedMachine) recount(t *rapid.T) int64 {
	wrong, err := inspect.New(l.engine.client).Recount(l.ctx)
	l.must(t, err)
	return wrong
}
