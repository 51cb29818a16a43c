package sql_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Jobs that were due at the time 0 run, and the history has them at the time at which they ran.
// A row that its CHECK refuses would keep the runner from adding up any count.
func TestHistoryOfJobsDueAtTimeZero(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		w := worlds(t, e)(t)
		w.must("insert", w.exec(`INSERT INTO sqluice_jobs (kind, created_at, run_after) VALUES ('k', 0, 0), ('k', 100000000000000, 100000000000000)`))
		runner, err := jobs.NewRunner(w.client, jobs.Config{Logger: w.failing()})
		w.must("make a runner", err)
		kind := jobs.Kind[json.RawMessage]{Name: "k"}
		kind.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error { return nil })
		w.must("drain", runner.Drain(w.ctx))
		history, err := inspect.New(w.client).History(w.ctx, inspect.HistoryFilter{})
		w.must("history", err)
		if total := history.Total; total.Done != 2 || total.Wait.Jobs != 2 || total.Run.Jobs != 2 {
			t.Errorf("the history of the last hour is %+v", total)
		}
		if n := scan[int64](t, w.plain, `SELECT COUNT(*) FROM sqluice_job_changes`); n != 0 {
			t.Errorf("%d counts are not added up", n)
		}
	})
}
