package postgres

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// ghostWorker simulates a worker of another process by its traces: a row, a lock and claimed jobs.
type ghostWorker struct {
	t       *testing.T
	store   *backend
	id      int64
	key     string
	release func(ended bool) error // keeps the row: as seen from outside, the process is dead
	held    []db.ClaimJobsRow
}

// ghost makes a worker that holds all pending jobs of some kinds of the default queue.
func ghost(t *testing.T, store *backend, name string, kinds []string) *ghostWorker {
	t.Helper()
	g := &ghostWorker{t: t, store: store}
	list, err := json.Marshal(append([]string{}, kinds...)) // never null
	must(t, err)
	g.key, g.release, err = store.WorkerLocks().HoldWorkerLock(t.Context())
	must(t, err)
	must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) (err error) {
		now, later := store.Now().UnixMicro(), store.Now().Add(time.Hour).UnixMicro()
		g.id, err = q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: name, LockKey: g.key, Host: "elsewhere", Pid: 1, Queues: `{"default":10}`, Kinds: string(list),
			Now: now, LeaseUntil: later,
		})
		if err != nil {
			return err
		}
		g.held, err = q.ClaimJobs(ctx, db.ClaimJobsParams{
			WorkerID: g.id, LeaseUntil: later, Now: now, Kinds: string(list), Queue: jobs.DefaultQueue, N: 1000,
		})
		return err
	}))
	return g
}

// die leaves the traces of a killed process: a worker without a lock whose lease is over.
func (g *ghostWorker) die() {
	g.t.Helper()
	must(g.t, g.release(true))
	if g.key != "" {
		return
	}
	must(g.t, g.store.Write(g.t.Context(), func(ctx context.Context, q db.Querier) error {
		now := g.store.Now().UnixMicro()
		_, err := q.HeartbeatWorker(ctx, db.HeartbeatWorkerParams{Now: now, LeaseUntil: now - 1, ID: g.id})
		return err
	}))
}
