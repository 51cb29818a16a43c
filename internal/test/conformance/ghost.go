package conformance

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
)

// ghost is a worker of another process as the database shows it: a row, a lock and claimed jobs.
type ghost struct {
	f        *fixture
	id       int64
	key      string
	declares []declare.Declaration
	release  func(ended bool) error
}

// ghost adds a live worker: it holds its lock.
func (f *fixture) ghost(name string, lease time.Duration) *ghost {
	f.Helper()
	g := &ghost{f: f}
	var err error
	g.key, g.release, err = f.store.WorkerLocks().HoldWorkerLock(f.ctx)
	f.must(err)
	g.register(name, lease)
	return g
}

// lockless adds a worker of a process without a lock.
func (f *fixture) lockless(name string, lease time.Duration) *ghost {
	f.Helper()
	g := &ghost{f: f, release: func(bool) error { return nil }}
	g.register(name, lease)
	return g
}

func (g *ghost) register(name string, lease time.Duration) {
	g.f.Helper()
	g.f.write(func(ctx context.Context, q db.Querier) (err error) {
		now := g.f.store.Now()
		if err := declare.Register(ctx, q, g.declares, now); err != nil {
			return err
		}
		g.id, err = q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: name, LockKey: g.key, Host: "elsewhere", Pid: 1, Version: "", Queues: `{"default":10}`, Kinds: `["k"]`, Declares: declare.IDs(g.declares),
			Now: now.UnixMicro(), LeaseUntil: now.Add(lease).UnixMicro(),
		})
		return err
	})
}

// claim makes the ghost the holder of up to n jobs of kind k in the default queue.
func (g *ghost) claim(n int64, lease time.Duration) []db.ClaimJobsRow {
	g.f.Helper()
	var rows []db.ClaimJobsRow
	g.f.write(func(ctx context.Context, q db.Querier) (err error) {
		rows, err = g.claimWith(ctx, q, n, lease)
		return err
	})
	return rows
}

// prefetch does so with more jobs than free slots.
func (g *ghost) prefetch(n int64, lease time.Duration) {
	g.f.Helper()
	g.f.write(func(ctx context.Context, q db.Querier) error {
		arg := g.claimParams(n, lease)
		arg.Prefetch = 1
		rows, err := q.ClaimJobs(ctx, arg)
		want(g.f, "prefetched jobs", len(rows), int(n))
		return err
	})
}

func (g *ghost) claimWith(ctx context.Context, q db.Querier, n int64, lease time.Duration) ([]db.ClaimJobsRow, error) {
	return q.ClaimJobs(ctx, g.claimParams(n, lease))
}

func (g *ghost) claimParams(n int64, lease time.Duration) db.ClaimJobsParams {
	now := g.f.store.Now()
	return db.ClaimJobsParams{
		WorkerID: g.id, LeaseUntil: now.Add(lease).UnixMicro(), Now: now.UnixMicro(), Kinds: `["k"]`,
		Queue: jobs.DefaultQueue, N: n,
	}
}

// giveBack releases claimed jobs of the kind k whose handlers were not called, as a worker does.
func (g *ghost) giveBack(rows ...db.ClaimJobsRow) {
	g.f.Helper()
	now := g.f.store.Now()
	var ends []*lifecycle.End
	for _, row := range rows {
		ends = append(ends, &lifecycle.End{Fate: lifecycle.FateReturn, Job: &jobs.Job{
			ID: row.ID, Kind: "k", Queue: jobs.DefaultQueue, Attempt: int(row.Attempt), WorkerID: g.id, StartedAt: now,
		}})
	}
	g.f.write(func(ctx context.Context, q db.Querier) error {
		made := lifecycle.NewTransitions()
		if err := lifecycle.Return(ctx, q, now, ends, made); err != nil {
			return err
		}
		return made.Conclude(ctx, q, core.Micros(now))
	})
}

// die leaves the state after a killed process.
func (g *ghost) die() {
	g.f.Helper()
	g.f.must(g.release(true))
	g.f.must(g.f.store.LeaveLock(g.key))
}

// takeOver gives the job of a running handler to a ghost, as happens when its lease is over: the job is reset and
// claimed anew, in one transaction, so that the handler's own worker does not come first.
func (f *fixture) takeOver(job jobs.Job) (attempt int64, holder *ghost) {
	f.Helper()
	g := f.ghost("taker", time.Hour)
	f.Cleanup(func() { f.must(g.release(true)) })
	var rows []db.ClaimJobsRow
	f.write(func(ctx context.Context, q db.Querier) (err error) {
		if err := f.reset(ctx, q, job); err != nil {
			return err
		}
		rows, err = g.claimWith(ctx, q, 1, time.Hour)
		return err
	})
	for _, row := range rows {
		if row.ID == job.ID {
			return row.Attempt, g
		}
	}
	f.Errorf("job %d was not taken over", job.ID)
	return 0, g
}

// reset gives up the claim of a job that a handler runs, behind the handler's back.
func (f *fixture) reset(ctx context.Context, q db.Querier, job jobs.Job) error {
	n, err := q.ReturnJob(ctx, db.ReturnJobParams{
		Status: "pending", Uncounted: 1, Now: f.store.Now().UnixMicro(), ID: job.ID, Attempt: int64(job.Attempt), WorkerID: job.WorkerID,
	})
	if err == nil && n != 1 {
		f.Errorf("job %d is not held by its handler", job.ID)
	}
	return err
}

// complete ends a job that the ghost holds.
func (g *ghost) complete(id, attempt int64) int64 {
	g.f.Helper()
	var n int64
	g.f.write(func(ctx context.Context, q db.Querier) (err error) {
		n, err = q.CompleteJob(ctx, db.CompleteJobParams{
			Now: g.f.store.Now().UnixMicro(), ID: id, Attempt: attempt, WorkerID: g.id, ResultJson: text(`"by the ghost"`),
		})
		return err
	})
	return n
}

func text(s string) *string { return &s }

// many adds n jobs of kind k.
func (f *fixture) many(n int, opts ...jobs.EnqueueOption) []int64 {
	f.Helper()
	payloads := make([]json.RawMessage, n)
	for i := range payloads {
		payloads[i] = json.RawMessage("{}")
	}
	ids, err := receipts.IDs(f.client.EnqueueMany(f.ctx, "k", payloads, opts...))
	f.must(err)
	return ids
}
