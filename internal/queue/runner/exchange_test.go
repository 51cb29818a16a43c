package runner

import (
	"context"
	"errors"
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
func TestReviewAfterASimpleClaimRunsAgain(t *testing.T) {
	store := &twice{q: &cancelling{}}
	c := endlessLoop(t, store, 0, func() {}).cycleOf(2)
	c.turn.plan.ended, c.turn.plan.simple = nil, true
	if err := c.exchange(t.Context()); err != nil {
		t.Fatal(err)
	}
	if notes := store.q.notes; len(notes) != 2 || notes[0] != notes[1] || len(c.turn.claimed) != 1 {
		t.Errorf("the runs noted %q, and %d jobs are kept", notes, len(c.turn.claimed))
	}
}

// twice is a store that runs each write twice.
type twice struct {
	endless
	q *cancelling
}

func (s *twice) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	return exchange(ctx, s.q, p)
}

func (s *twice) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	return errors.Join(fn(ctx, s.q), fn(ctx, s.q))
}

// A plan has the due time as the loop knew it, however often its transaction runs.
func TestPlanOfDueJobs(t *testing.T) {
	c := endlessLoop(t, &endless{}, 0, func() {}).cycleOf(2)
	now := time.Now()
	c.turn.plan.due = now.Add(-time.Second)
	if p := c.enginePlan(now); !p.Promote.IsDue(now) || p.Promote.Due != core.Micros(c.turn.plan.due) || p.Promote.N != promoteLeast+4 || !p.Look {
		t.Errorf("the plan has %+v", p.Promote)
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
