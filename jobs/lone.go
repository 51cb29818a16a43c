package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/stats"
)

// A claim beside which there is nothing to record, as of the first job after a rest, is one statement. Where others may write
// meanwhile, and a statement is a round trip, it and its commit go in one, in place of three.

// claimsAlone reports whether a turn only claims from one queue, for free slots, after a notification. The claim takes nothing
// when a scheduled job is due; another turn then promotes and claims. While a suspect job runs it returns false, because the claim could take a job that must wait for
// that one.
func (p *pump) claimsAlone(t *turn) bool {
	if p.store.WritesAlone() || len(t.outcomes) > 0 || t.behind || len(t.wants) != 1 || !p.woken ||
		!p.next.IsZero() && !p.next.After(p.store.Now()) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lanes {
		if l.suspects > 0 {
			return false
		}
	}
	for queue, n := range t.wants {
		return n <= t.slots[queue]
	}
	return false
}

// claimAlone has a turn claim by a transaction of one statement. If it is not known whether that was committed, the jobs are strays.
func (t *turn) claimAlone(ctx context.Context) error {
	s := t.session
	var claimed []*attempt
	err := s.store.WriteOne(ctx, func(ctx context.Context, q db.Querier) (err error) {
		t.begin()
		for queue, n := range t.wants {
			now := s.store.Now()
			claimed, err = t.claimFrom(ctx, q, queue, n, now, core.Micros(now)+1)
		}
		return err
	})
	if err != nil || !slices.ContainsFunc(claimed, func(a *attempt) bool { return s.lastChance(a.job) }) {
		t.claimed = claimed
		return err
	}
	return s.store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		t.claimed = nil
		done := stats.Changes{}
		if t.claimed, err = t.putOff(ctx, q, claimed, done); err != nil {
			return err
		}
		if err := done.Write(ctx, q, core.Micros(s.store.Now())); err != nil {
			return fmt.Errorf("note what was put off: %w", err)
		}
		return nil
	})
}
