package model

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"pgregory.net/rapid"
)

// list lists the jobs of a filter.
func (m *machine) list(t *rapid.T) {
	f := inspect.Filter{Limit: rapid.IntRange(0, 5).Draw(t, "limit")}
	for _, name := range some(t, "filters", []string{"Tag", "Status", "UserID", "Kind", "Queue", "After"}, 1, 3) {
		switch name {
		case "Status":
			f.Status = pick(t, name, jobs.Statuses())
		case "Kind":
			f.Kind = pick(t, name, kinds)
		case "Queue":
			f.Queue = pick(t, name, queues)
		case "UserID":
			f.UserID = pick(t, name, users)
		case "Tag":
			f.Tag = pick(t, name, tags)
		case "After":
			f.After = rapid.Int64Range(0, m.model.lastJob).Draw(t, name)
		}
	}
	want := m.model.list(f)
	t.Logf("list %+v: %v", f, jobIDs(want))
	each(m, "list", want, nil, func(e *engine) ([]jobs.Job, error) {
		theirs := f
		theirs.After = e.jobs.to(f.After)
		return e.jobList(inspect.New(e.client).List(m.ctx, theirs))
	})
}

// report reads the report of failed jobs of a filter.
func (m *machine) report(t *rapid.T) {
	f := m.failedFilter(t)
	want := m.model.report(f)
	t.Logf("report %+v: %d groups", f, len(want))
	each(m, "report", want, nil, func(e *engine) ([]failedError, error) { return e.report(m.ctx, f) })
}

// wait waits for a job that has ended or does not exist.
func (m *machine) wait(t *rapid.T) {
	id := m.anyJob(t)
	var want jobs.Job
	wantErr := jobs.ErrNotFound
	if j := m.model.job(id); j != nil {
		if j.live() {
			return // the wait would not end
		}
		want, wantErr = j.Job, nil
	}
	t.Logf("wait for job %d: %v", id, wantErr)
	each(m, "wait", want, wantErr, func(e *engine) (jobs.Job, error) {
		j, err := e.client.Wait(m.ctx, e.jobs.to(id))
		return e.job(j), err
	})
}

// find looks a job up by a key.
func (m *machine) find(t *rapid.T) {
	k, byRequest := keyOf{pick(t, "kind", kinds), pick(t, "key", keys)}, rapid.Bool().Draw(t, "by request id")
	found := m.model.find(k)
	if byRequest {
		found = m.model.byRequestID(k.kind, k.key)
	}
	var want jobs.Job
	wantErr := jobs.ErrNotFound
	if found != nil {
		want, wantErr = found.Job, nil
	}
	t.Logf("find %+v, by request id: %v: %d, %v", k, byRequest, want.ID, wantErr)
	each(m, "find", want, wantErr, func(e *engine) (jobs.Job, error) {
		by := e.client.GetByUniqueKey
		if byRequest {
			by = e.client.GetByRequestID
		}
		j, err := by(m.ctx, k.kind, k.key)
		return e.job(j), err
	})
}

// peek reads the data that runners read.
func (m *machine) peek(t *rapid.T) {
	g := glance{
		queue: pick(t, "queue", queues), kinds: some(t, "kinds", kinds, 1, len(kinds)), worker: m.anyWorker(t), job: m.anyJob(t),
		judgeLeases: rapid.Bool().Draw(t, "judge leases"),
	}
	want := m.model.peek(g)
	t.Logf("peek at %+v: %+v", g, want)
	each(m, "peek", want, nil, func(e *engine) (p peeked, err error) {
		err = e.elsewhere(m.ctx, func(store port.Store) error {
			return store.Read(m.ctx, func(ctx context.Context, q db.Querier) (err error) {
				p, err = e.peek(ctx, q, m.model.now, g)
				return err
			})
		})
		return p, err
	})
}

// claimableAgrees compares the statements for many queues with the one for a single queue.
func claimableAgrees(ctx context.Context, q db.Querier, kinds, queue string, claimable bool) error {
	listed, err := q.ListClaimableQueues(ctx, db.ListClaimableQueuesParams{
		Kinds: kinds, Queues: string(encoded([][2]string{{"none", ""}, {queue, ""}})),
	})
	if err != nil {
		return err
	}
	pending, err := q.ListPendingQueues(ctx, db.ListPendingQueuesParams{Kinds: kinds, N: 100})
	if err != nil {
		return err
	}
	found := slices.Contains(pending, db.ListPendingQueuesRow{Queue: queue, Claimable: 1})
	if slices.Equal(listed, []string{queue}) != claimable || found != claimable {
		return fmt.Errorf("queue %q is claimable: %t; listed %q, pending %v", queue, claimable, listed, pending)
	}
	return nil
}

func (e *engine) peek(ctx context.Context, q db.Querier, now time.Time, g glance) (peeked, error) {
	p := peeked{Leases: map[int64]time.Time{}, Pauses: map[paused]pause{}}
	take := string(encoded(g.kinds))
	var err error
	if p.Claimable, err = q.HasClaimableJobs(ctx, db.HasClaimableJobsParams{Kinds: take, Queue: g.queue}); err != nil {
		return p, err
	}
	if err := claimableAgrees(ctx, q, take, g.queue, p.Claimable > 0); err != nil {
		return p, err
	}
	if p.Unfinished, err = q.HasUnfinishedJobs(ctx, db.HasUnfinishedJobsParams{Kinds: take, Queues: string(encoded([]string{g.queue})), Now: micro(now)}); err != nil {
		return p, err
	}
	next, err := q.GetNextRunAfter(ctx)
	if err != nil {
		return p, err
	}
	p.NextRunAfter = fromMicro(next.RunAfter)
	before := int64(0)
	if g.judgeLeases {
		before = micro(now)
	}
	work, err := q.CountHousework(ctx, db.CountHouseworkParams{WorkerID: e.workers.to(g.worker), LeaseBefore: before})
	if err != nil {
		return p, err
	}
	p.Work = housework{work.Held, work.Stuck, work.Self, work.Live, work.Newest}
	p.Work.Newest = e.workers.from(work.Newest)
	held, err := q.ListHeldJobs(ctx, e.workers.to(g.worker))
	if err != nil {
		return p, err
	}
	for _, h := range held { // in any order
		p.Held = append(p.Held, heldJob{e.jobs.from(h.ID), h.Attempt, fromMicro(h.CancelRequestedAt)})
	}
	slices.SortFunc(p.Held, func(a, b heldJob) int { return cmp.Compare(a.ID, b.ID) })
	fence, err := q.GetJobFence(ctx, e.jobs.to(g.job))
	if err == nil {
		p.Status, p.Attempt, p.Holder = jobs.Status(fence.Status), fence.Attempt, e.workers.from(fence.WorkerID)
	} else if !errors.Is(err, sql.ErrNoRows) {
		return p, err
	}
	return p, e.peekRows(ctx, q, &p)
}

func (e *engine) peekRows(ctx context.Context, q db.Querier, p *peeked) error {
	live, err := q.ListLiveWorkers(ctx)
	if err != nil {
		return err
	}
	for _, w := range live {
		p.Leases[e.workers.from(w.ID)] = fromMicro(w.LeaseUntil)
	}
	pauses, err := q.ListPauses(ctx)
	for _, row := range pauses {
		p.Pauses[paused{row.Queue, row.Kind}] = pause{fromMicro(row.PausedAt), fromMicro(row.UpdatedAt), optional(row.PausedUntil), core.Deref(row.Reason)}
	}
	return err
}

func optional(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return fromMicro(*us)
}

// fromMicro maps 0 to no time.
func fromMicro(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
