package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var retentionTests = []test{
	{"InTheBackground", testRetention},
}

// testRetention waits for the first pruning of a runner, which comes within its first minute.
func testRetention(f *fixture) {
	if testing.Short() {
		f.Skip("waits for up to a minute")
	}
	done, failed := f.one(nothing).ID, f.fail("bad", "bad")
	cancelled := f.enqueue("k")
	_, err := f.client.Cancel(f.ctx, cancelled)
	f.must(err)
	f.write(func(ctx context.Context, q db.Querier) error { // a worker that ended long ago
		id, err := q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: "ancient", LockKey: "x", Host: "h", Queues: "{}", Kinds: "[]", Now: 0, LeaseUntil: 0,
		})
		if err != nil {
			return err
		}
		if _, err := q.EndWorker(ctx, db.EndWorkerParams{Now: 0, EndReason: "stopped", ID: id}); err != nil {
			return err
		}
		return q.AddAudit(ctx, db.AddAuditParams{Now: 0, Actor: "ann", Action: "pause"})
	})
	_, err = f.client.PauseQueue(f.as("ann"), "q")
	f.must(err)
	f.start(jobs.Config{Retention: jobs.Retention{Done: 1, Cancelled: jobs.Forever}}, on("other", nothing))
	f.eventually("the done job is pruned", func() bool {
		_, err := f.client.Get(f.ctx, done)
		return errors.Is(err, jobs.ErrNotFound)
	})
	want(f, "status of a failed job, which is kept by default", f.get(failed).Status, jobs.StatusFailed)
	want(f, "status of a cancelled job, which is to be kept", f.get(cancelled).Status, jobs.StatusCancelled)
	f.eventually("an old note of a change is removed", func() bool { return len(f.audit(inspect.AuditFilter{})) == 1 })
	want(f, "who made the change that is still noted", f.audit(inspect.AuditFilter{})[0].Actor, "ann")
}
