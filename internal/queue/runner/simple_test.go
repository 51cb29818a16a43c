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
		change func(*producer, *cycle)
		only   bool
	}{
		"slots for all":               {only: true},
		"due later":                   {change: func(p *producer, _ *cycle) { p.next = time.Now().Add(time.Hour) }, only: true},
		"due":                         {change: func(p *producer, _ *cycle) { p.next = time.Now() }},
		"ends to record":              {change: func(_ *producer, c *cycle) { c.ended = make([]*Attempt, 1) }},
		"more to promote":             {change: func(_ *producer, c *cycle) { c.behind = true }},
		"without a notification":      {change: func(p *producer, _ *cycle) { p.notified = false }},
		"a job that killed a process": {change: func(p *producer, _ *cycle) { p.suspects = 1 }},
		"two queues":                  {change: func(_ *producer, c *cycle) { c.wants["other"], c.slots["other"] = 1, 1 }},
		"no queue":                    {change: func(_ *producer, c *cycle) { delete(c.wants, "q") }},
		"jobs ahead of a slot":        {change: func(_ *producer, c *cycle) { c.wants["q"]++ }},
	} {
		p := &producer{run: runOf(t, &endless{}, Config{}, map[string]int{"q": 2}, nil), notified: true}
		c := &cycle{completer: p.completer, executor: p.executor, wants: map[string]int64{"q": 2}, slots: map[string]int64{"q": 2}}
		if test.change != nil {
			test.change(p, c)
		}
		if p.claimsOnly(c) != test.only {
			t.Errorf("%s: it only claims: %t", name, !test.only)
		}
	}
}

// uncertain is a store whose exchanges have unknown outcomes, so many of them, and the next one claims something.
type uncertain struct {
	endless
	failures int
	ones     int
}

// barren has nothing to claim.
type barren struct{ endlessQuerier }

func (*barren) ClaimJobs(context.Context, db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	return nil, nil
}

func (s *uncertain) Exchange(ctx context.Context, x *engine.Exchange) error {
	s.ones++
	if s.ones > s.failures+1 {
		return exchange(ctx, &barren{}, x)
	}
	if err := s.endless.Exchange(ctx, x); err != nil {
		return err
	}
	if s.ones <= s.failures {
		return jobtype.ErrUnknownOutcome
	}
	return nil
}

// What a simple exchange has claimed begins when it is known to be committed, and what may fall due is looked for after it.
func TestSimpleExchange(t *testing.T) {
	store := &uncertain{failures: 1}
	p := endlessProducer(t, store, 0, func() {})
	for round, want := range []int{0, 1, 1, 1} {
		c := &cycle{completer: p.completer, executor: p.executor, wants: map[string]int64{jobtype.DefaultQueue: 1}, slots: map[string]int64{jobtype.DefaultQueue: 1}, simple: true}
		p.claimable[jobtype.DefaultQueue] = false
		err := c.commit(t.Context())
		if err == nil {
			p.follow(c)
		}
		if (want == 0) != errors.Is(err, jobtype.ErrUnknownOutcome) || store.ones != round+1 {
			t.Errorf("round %d, after %d: the error is %v", round, store.ones, err)
		}
		p.mu.Lock()
		running := len(p.running)
		p.mu.Unlock()
		if running != want || p.claimable[jobtype.DefaultQueue] != (round > 0) {
			t.Errorf("round %d: %d jobs run, claimable: %t", round, running, p.claimable[jobtype.DefaultQueue])
		}
	}
}
