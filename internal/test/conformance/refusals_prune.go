package conformance

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A runner's passes go on beside a job that a foreign key of the application keeps: the others go, and so do old steps of the
// history; later passes remove the jobs that ended since, and the kept one when the application lets it go.
func testPassesBesideKept(f *fixture, rules func(*fixture, string)) {
	var log sharedText
	logger := slog.New(slog.NewTextHandler(&log, nil))
	p := &maintenance.Pruner{
		Scope: engine.ScopeOf(f.client), Log: logger, Notes: &refusal.Notes{Log: logger},
		Retention: prune.Retention{Failed: prune.Forever, Audit: time.Hour, Minutes: time.Hour, History: 30 * 24 * time.Hour},
	}
	month := inspect.HistoryFilter{Since: f.store.Now().Add(-40 * 24 * time.Hour), Step: time.Hour}
	// end adds jobs that end, and a step of the history that is too old.
	end := func() []int64 {
		f.Helper()
		f.write(func(ctx context.Context, q db.Querier) error {
			at := core.Micros(f.store.Now().Add(-31 * 24 * time.Hour))
			return q.AddJobChanges(ctx, db.AddJobChangesParams{At: at, Items: `[["old", "old", "done", 1000, 0]]`})
		})
		ids := f.many(12)
		f.drain(jobs.Config{}, on("k", nothing)) // adds up
		f.waiting()                              // which is the newest, so that all others may go
		return ids
	}
	pass := func(deleted int64) {
		f.Helper()
		sum, err := p.Pass(f.ctx)
		f.must(err)
		want(f, "jobs that a pass removed", sum.Deleted, deleted)
		h, err := inspect.New(f.client).History(f.ctx, month)
		f.must(err)
		if h.Total.Done == 0 || h.Total.Done >= 1000 {
			f.Errorf("after a pass %d jobs are in the history", h.Total.Done)
		}
	}
	first := end()
	kept := f.sql("insert_receipts")
	want(f, "jobs that the application keeps", len(kept), 1)
	pass(int64(len(first) - 1))
	for range 3 {
		pass(int64(len(end())))
	}
	want(f, "status of the kept job", f.get(kept[0]).Status, jobs.StatusDone)
	f.wantWhy(kept[0], inspect.ReasonEnded, inspect.ReasonRefused)
	want(f, "lines about the kept job", strings.Count(log.String(), "the database refuses"), 1)

	rules(f, "application_rules_gone")
	f.write(func(ctx context.Context, q db.Querier) error { // as when its time has come
		_, err := q.RetryRefusals(ctx, db.RetryRefusalsParams{Action: string(refusal.Prune), Now: core.Micros(f.store.Now())})
		return err
	})
	p = &maintenance.Pruner{Scope: p.Scope, Log: logger, Notes: p.Notes, Retention: p.Retention} // of another process, which remembers nothing
	pass(1)
	f.wantGone(kept[0])
}
