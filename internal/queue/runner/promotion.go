package runner

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

const (
	// The bounds of the number of scheduled jobs that become pending in one transaction: a few more than it claims, and the largest
	// number when that was not enough, so that a million jobs that fall due at once do not hold up other writes for long.
	promoteLeast = 100
	promoteMost  = 1000
)

// promotion is the step that makes scheduled jobs pending when they fall due.
func promotion() step { return step{due: (*cycle).promoteDue, next: nextDue} }

// promoteDue makes due jobs claimable, so that the claim chooses among them by priority.
func (c *cycle) promoteDue(ctx context.Context, q db.Querier) (err error) {
	c.did.promote = promoteMost
	if !c.plan.behind {
		c.did.promote = promoteLeast
		for _, n := range c.plan.wants {
			c.did.promote = min(c.did.promote+2*n, promoteMost)
		}
	}
	if c.did.promoted, err = q.PromoteDueJobs(ctx, db.PromoteDueJobsParams{Now: core.Micros(c.did.now), N: c.did.promote}); err != nil {
		return fmt.Errorf("promote due jobs: %w", err)
	}
	return nil
}

// nextDue returns when the next scheduled job falls due, in microseconds; 0 when none is scheduled.
func nextDue(ctx context.Context, q db.Querier) (int64, error) {
	next, err := q.GetNextRunAfter(ctx)
	if err != nil {
		return 0, fmt.Errorf("find the next due job: %w", err)
	}
	return next, nil
}
