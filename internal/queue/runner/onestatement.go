package runner

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

// claimsAlone reports whether a cycle only claims from one queue, for free slots, after a notification. The claim takes nothing
// when a scheduled job is due; another cycle then promotes and claims. While a suspect job runs it returns false, because the
// claim could take a job that must wait for that one.
func (p *producer) claimsAlone(c *cycle) bool {
	if p.store.WritesAlone() || len(c.ended) > 0 || c.behind || len(c.wants) != 1 || !p.notified ||
		!p.next.IsZero() && !p.next.After(p.store.Now()) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holdsSuspects() {
		return false
	}
	for queue, n := range c.wants {
		return n <= c.slots[queue]
	}
	return false
}

// claimAlone has a cycle claim by a transaction of one statement. If it is not known whether that was committed, the jobs are orphans.
func (c *cycle) claimAlone(ctx context.Context) error {
	var claimed []*Attempt
	err := c.store.WriteOne(ctx, func(ctx context.Context, q db.Querier) (err error) {
		c.reset()
		for queue, n := range c.wants {
			now := c.store.Now()
			claimed, err = c.claimFrom(ctx, q, queue, n, now, core.Micros(now)+1)
		}
		return err
	})
	if err != nil || !slices.ContainsFunc(claimed, func(a *Attempt) bool { return c.config.lastChance(&a.job) }) {
		c.claimed = claimed
		return err
	}
	return c.store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		c.claimed = nil
		done := stats.Changes{}
		if c.claimed, err = c.putOff(ctx, q, claimed, done); err != nil {
			return err
		}
		if err := done.Write(ctx, q, core.Micros(c.store.Now())); err != nil {
			return fmt.Errorf("note what was put off: %w", err)
		}
		return nil
	})
}
