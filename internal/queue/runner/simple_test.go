package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// A cycle only claims where it has nothing else to do.
func TestCyclesThatOnlyClaim(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*loop, *plan)
		only   bool
	}{
		"slots for all":               {only: true},
		"due later":                   {change: func(l *loop, _ *plan) { l.lookout.next = time.Now().Add(time.Hour) }, only: true},
		"due":                         {change: func(l *loop, _ *plan) { l.lookout.next = time.Now() }},
		"ends to record":              {change: func(_ *loop, p *plan) { p.ended = make([]*Attempt, 1) }},
		"more to promote":             {change: func(_ *loop, p *plan) { p.behind = true }},
		"without a notification":      {change: func(l *loop, _ *plan) { l.lookout.notice.notified = false }},
		"a job that killed a process": {change: func(l *loop, _ *plan) { l.slots.formerCrashes = 1 }},
		"two queues":                  {change: func(_ *loop, p *plan) { p.wants["other"], p.slots["other"] = 1, 1 }},
		"no queue":                    {change: func(_ *loop, p *plan) { delete(p.wants, "q") }},
		"jobs ahead of a slot":        {change: func(_ *loop, p *plan) { p.wants["q"]++ }},
	} {
		l := runOf(t, &endless{}, Config{}, map[string]int{"q": 2}, nil).newLoop()
		l.lookout.notice.notified = true
		p := plan{wants: map[string]int64{"q": 2}, slots: map[string]int64{"q": 2}}
		if test.change != nil {
			test.change(l, &p)
		}
		if l.claimsOnly(p) != test.only {
			t.Errorf("%s: it only claims: %t", name, !test.only)
		}
	}
}

// uncertain is a store whose first exchanges have unknown outcomes, and whose next one claims a job.
type uncertain struct {
	endless
	failures int
	ones     int
}

// barren is a Querier without jobs to claim.
type barren struct{ endlessQuerier }

func (*barren) ClaimJobs(context.Context, db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	return nil, nil
}

func (s *uncertain) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	s.ones++
	if s.ones > s.failures+1 {
		return exchange(ctx, &barren{}, p)
	}
	out, err := s.endless.Exchange(ctx, p)
	if err == nil && s.ones <= s.failures {
		err = jobtype.ErrUnknownOutcome
	}
	return out, err
}

// The claimed jobs of a simple exchange begin when its commit is known, and the look for due jobs comes after it.
func TestSimpleExchange(t *testing.T) {
	store := &uncertain{failures: 1}
	l := endlessLoop(t, store, 0, func() {})
	for round, want := range []int{0, 1, 1, 1} {
		l.lookout.claimable[jobtype.DefaultQueue] = false
		_, err := l.commitOne(t.Context(), plan{
			wants: map[string]int64{jobtype.DefaultQueue: 1}, slots: map[string]int64{jobtype.DefaultQueue: 1}, simple: true,
		})
		if (want == 0) != errors.Is(err, jobtype.ErrUnknownOutcome) || store.ones != round+1 {
			t.Errorf("round %d, after %d: the error is %v", round, store.ones, err)
		}
		running := 0
		l.ledger.do(func() { running = len(l.ledger.running) })
		if running != want || l.lookout.claimable[jobtype.DefaultQueue] != (round > 0) {
			t.Errorf("round %d: %d jobs run, claimable: %t", round, running, l.lookout.claimable[jobtype.DefaultQueue])
		}
	}
}
