package runner

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// endless is a store that never runs out of jobs, and whose transactions take some time.
type endless struct {
	engine.Store
	recording, claims time.Duration
}

func (s *endless) Now() time.Time              { return time.Now() }
func (s *endless) Announce(core.Signal)        {}
func (s *endless) LocksRows() bool             { return false }
func (s *endless) Observer() *jobtype.Observer { return nil }

func (s *endless) Claims() engine.Claims { return endlessClaims{} }

type endlessClaims struct{ engine.Claims }

func (endlessClaims) PrefetchBytes() int { return 1 << 20 }

func (endlessClaims) Backoff(func() int64) engine.Backoff { return engine.NoBackoff{} }

func (s *endless) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	q := &endlessQuerier{}
	out, err := exchange(ctx, q, p)
	if q.recorded > 0 {
		time.Sleep(s.recording)
	}
	if q.claimed > 0 {
		time.Sleep(s.claims)
	}
	return out, err
}

// exchange carries out a plan by a Querier, without a look when it is simple.
func exchange(ctx context.Context, q db.Querier, p engine.Plan) (engine.Outcome, error) {
	out := engine.Outcome{Now: time.Now()}
	p.Look = p.Look && !p.Simple
	err := engine.RunPlan(ctx, q, plainStatements{}, p, &out)
	return out, err
}

// plainStatements runs the statements of a Querier.
type plainStatements struct{}

func (plainStatements) ClaimJobs(ctx context.Context, q db.Querier, arg db.ClaimJobsParams, list []db.ClaimJobsRow) ([]db.ClaimJobsRow, error) {
	rows, err := q.ClaimJobs(ctx, arg)
	return append(list, rows...), err
}

func (plainStatements) CompleteJobs(ctx context.Context, q db.Querier, now int64, c engine.Completion) (int64, error) {
	return q.CompleteJobs(ctx, c.Plain(now))
}

type endlessQuerier struct {
	db.Querier
	recorded, claimed int64
}

func (q *endlessQuerier) CompleteJobs(_ context.Context, arg db.CompleteJobsParams) (int64, error) {
	q.recorded = int64(strings.Count(arg.Ids, ",") + 1)
	return q.recorded, nil
}

func (q *endlessQuerier) AddJobChanges(context.Context, db.AddJobChangesParams) error { return nil }

func (q *endlessQuerier) GetNextRunAfter(context.Context) (engine.Next, error) {
	return engine.Next{}, nil
}

func (q *endlessQuerier) ClaimJobs(_ context.Context, arg db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	rows := make([]db.ClaimJobsRow, arg.N)
	for i := range rows {
		rows[i] = db.ClaimJobsRow{ID: 1000 + int64(i), Kind: "k", Payload: "0", Attempt: 1, MaxAttempts: 2, RunAfter: arg.Now}
	}
	q.claimed = arg.N
	return rows, nil
}

// endlessLoop returns a loop with a number of ends to record.
func endlessLoop(t *testing.T, store engine.Store, ends int, handle func()) *loop {
	t.Helper()
	config := Config{Lease: time.Minute, MaxCrashes: 3}
	handlers := map[string]*Handler{"k": {Run: func(context.Context, *jobtype.Job) error { handle(); return nil }}}
	r := runOf(t, store, config, map[string]int{jobtype.DefaultQueue: 1000}, handlers)
	for i := range ends {
		a := r.attemptOf(db.ClaimJobsRow{ID: int64(i + 1), Kind: "k", Attempt: 1})
		r.ledger.running[a.fence()] = a
		a.end = lifecycle.End{Job: &a.job}
		r.ledger.ended = append(r.ledger.ended, a)
	}
	return r.newLoop()
}

func (l *loop) cycleOf(wants int64) *cycle {
	return &cycle{committer: l.committer, worker: 1, turn: turn{plan: plan{
		ended: l.ledger.ended,
		wants: map[string]int64{jobtype.DefaultQueue: wants}, slots: map[string]int64{jobtype.DefaultQueue: wants},
	}}}
}

// While the end of a job on its last chance is not recorded, no other such job begins.
func TestLastChanceWaitsForTheEndOfAnother(t *testing.T) {
	l := endlessLoop(t, &endless{}, 1, nil)
	ended := l.ledger.ended[0]
	ended.over, ended.job.Crashes = true, 2
	for _, recorded := range []bool{true, false} {
		c := l.cycleOf(1)
		if !recorded {
			c.turn.plan.ended = nil
		}
		snoozed := &snoozing{}
		other := (&run{env: l.env, ledger: l.ledger}).attemptOf(db.ClaimJobsRow{ID: 2, Kind: "k", Attempt: 3, Crashes: 2, Payload: "0"})
		c.turn.reset(time.Now())
		kept, err := l.committer.steps.review(t.Context(), snoozed, &c.turn, jobtype.DefaultQueue, []*Attempt{other})
		if err != nil {
			t.Fatal(err)
		}
		if begins := len(kept) == 1; begins != recorded || snoozed.jobs != 1-len(kept) {
			t.Errorf("with the end recorded in the same cycle: %t; the other begins: %t, put off: %d", recorded, begins, snoozed.jobs)
		}
	}
}

type snoozing struct {
	db.Querier
	jobs int
}

func (*snoozing) EndJob(context.Context, db.EndJobParams) (int64, error) {
	return 0, nil
}

func (q *snoozing) ReturnJob(context.Context, db.ReturnJobParams) (int64, error) {
	q.jobs++
	return 1, nil
}

func (q *snoozing) AddJobError(context.Context, db.AddJobErrorParams) error { return nil }
