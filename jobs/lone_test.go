package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
)

// A turn claims alone where it has nothing else to do, and where that spares round trips.
func TestTurnsThatClaimAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*pump, *turn)
		alone  bool
	}{
		"slots for all":               {alone: true},
		"due later":                   {change: func(p *pump, _ *turn) { p.next = time.Now().Add(time.Hour) }, alone: true},
		"due":                         {change: func(p *pump, _ *turn) { p.next = time.Now() }},
		"on one machine":              {change: func(p *pump, _ *turn) { p.store.(*splitting).alone = true }},
		"ends to record":              {change: func(_ *pump, t *turn) { t.outcomes = make([]outcome, 1) }},
		"more to promote":             {change: func(_ *pump, t *turn) { t.behind = true }},
		"without a notification":      {change: func(p *pump, _ *turn) { p.woken = false }},
		"a job that killed a process": {change: func(p *pump, _ *turn) { p.lanes["another"] = &lane{suspects: 1} }},
		"two queues":                  {change: func(_ *pump, t *turn) { t.wants["other"], t.slots["other"] = 1, 1 }},
		"no queue":                    {change: func(_ *pump, t *turn) { delete(t.wants, "q") }},
		"jobs ahead of a slot":        {change: func(_ *pump, t *turn) { t.wants["q"]++ }},
	} {
		p := &pump{session: &session{store: &splitting{}, lanes: map[string]*lane{"q": {slots: 2}}}, woken: true}
		turn := &turn{session: p.session, wants: map[string]int64{"q": 2}, slots: map[string]int64{"q": 2}}
		if test.change != nil {
			test.change(p, turn)
		}
		if p.claimsAlone(turn) != test.alone {
			t.Errorf("%s: it claims alone: %t", name, !test.alone)
		}
	}
}

// lonely is a store whose transactions of one statement fail, so many of them, and the next one claims something.
type lonely struct {
	splitting
	failures int
	ones     int
}

// barren has nothing to claim.
type barren struct{ splittingQuerier }

func (*barren) ClaimJobs(context.Context, db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	return nil, nil
}

func (s *lonely) WriteOne(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	s.ones++
	if s.ones > s.failures+1 {
		return fn(ctx, &barren{})
	}
	if err := s.splitting.Write(ctx, fn); err != nil {
		return err
	}
	if s.ones <= s.failures {
		return ErrUnknownOutcome
	}
	return nil
}

// What a claim alone has claimed begins when it is known to be committed, and what may fall due is looked for after it.
func TestClaimAlone(t *testing.T) {
	store := &lonely{failures: 1}
	p := splitPump(t, &store.splitting, 0, func() {})
	p.session.store = store
	for round, want := range []int{0, 1, 1, 1} {
		turn := &turn{session: p.session, wants: map[string]int64{DefaultQueue: 1}, slots: map[string]int64{DefaultQueue: 1}, lone: true}
		p.hungry[DefaultQueue] = false
		err := turn.commit(t.Context())
		if err == nil {
			p.follow(turn)
		}
		if (want == 0) != errors.Is(err, ErrUnknownOutcome) || store.ones != round+1 {
			t.Errorf("round %d, after %d: the error is %v", round, store.ones, err)
		}
		p.mu.Lock()
		running := len(p.running)
		p.mu.Unlock()
		if running != want || p.hungry[DefaultQueue] != (round > 0) {
			t.Errorf("round %d: %d jobs run, hungry: %t", round, running, p.hungry[DefaultQueue])
		}
	}
}
