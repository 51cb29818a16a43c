package runner

import (
	"context"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// cancelling is a database of two jobs on their last chance, each with a cancel request.
type cancelling struct {
	db.Querier
	notes []string
}

func (*cancelling) ClaimJobs(context.Context, db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	return []db.ClaimJobsRow{
		{ID: 1, Kind: "k", Payload: "0", Attempt: 3, MaxAttempts: 9, Crashes: 2},
		{ID: 2, Kind: "k", Payload: "0", Attempt: 3, MaxAttempts: 9, Crashes: 2},
	}, nil
}

func (*cancelling) AddJobError(context.Context, db.AddJobErrorParams) error { return nil }

func (*cancelling) EndJob(context.Context, db.EndJobParams) (int64, error) {
	return 1, nil
}

func (q *cancelling) AddJobChanges(_ context.Context, arg db.AddJobChangesParams) error {
	q.notes = append(q.notes, arg.Items)
	return nil
}

// After a simple claim the second transaction may run more than once: each run has the same results.
func TestJudgeAfterASimpleClaimRunsAgain(t *testing.T) {
	c := endlessLoop(t, &endless{}, 0, func() {}).cycleOf(2)
	c.plan.ended, c.plan.simple = nil, true
	x, q := c.exchange(), &cancelling{}
	x.Begin()
	for _, claim := range x.Claims {
		if err := claim(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if x.Keep() {
		t.Error("jobs on their last chance are kept without a look")
	}
	for range 2 {
		if err := x.Conclude(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if len(q.notes) != 2 || q.notes[0] != q.notes[1] {
		t.Errorf("the runs noted %q", q.notes)
	}
}

// A transaction that runs again uses the due time from before its first run.
func TestExchangeThatRunsAgainIsDue(t *testing.T) {
	c := endlessLoop(t, &endless{}, 0, func() {}).cycleOf(2)
	c.plan.due = time.Now().Add(-time.Second)
	x := c.exchange()
	for run := range 2 {
		if x.Begin(); !x.IsDue() {
			t.Errorf("run %d has Due %d, not %d", run, x.Due, core.Micros(c.plan.due))
		}
		if err := x.Look(t.Context(), &endlessQuerier{}); err != nil || x.IsDue() {
			t.Errorf("run %d: after a look that found nothing Due is %d, %v", run, x.Due, err)
		}
	}
}

// shaky is a store that panics when its schema is read.
type shaky struct{ endless }

func (*shaky) Migrations() engine.Migrations { return shakyMigrations{} }

type shakyMigrations struct{ engine.Migrations }

func (shakyMigrations) Schema(context.Context) (engine.Schema, error) { panic("oh no") }

// Without its heartbeat a worker must not go on.
func TestHeartbeatThatPanicsEndsTheRun(t *testing.T) {
	r := runOf(t, &shaky{}, Config{Lease: time.Second}, map[string]int{"q": 2}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	newHeartbeat(r.executor, r.presence, cancel).Run(ctx)
	if err, _ := r.ledger.faults(); err == nil || ctx.Err() == nil || context.Cause(ctx) == context.DeadlineExceeded {
		t.Errorf("the run's error is %v, the context's %v", err, ctx.Err())
	}
}
