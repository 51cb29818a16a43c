package jobs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sqluice/sqluice/db"
)

const (
	// Pruning runs every minute. When it looks at many more jobs than it finds to remove, it is to take no more than a
	// hundredth of the time, but runs once an hour.
	pruneEvery  = time.Minute
	pruneLatest = time.Hour
	pruneShare  = 100
	pruneWorth  = 10 // looks for each job removed

	keepWorkers = 7 * 24 * time.Hour // rows of workers that ended
)

// prune removes ended jobs whose retention is over, every minute or less often; the first time within a minute of the
// start, at random, so that processes that start together do not do it together.
func (s *session) prune(ctx context.Context) {
	timer := time.NewTimer(rand.N(pruneEvery))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		sum, err := s.pruneOnce(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("pruning failed; trying again later", "error", err)
		}
		timer.Reset(pruneAgain(sum, time.Since(began)))
	}
}

// pruned is what a pass did.
type pruned struct{ looked, deleted int64 }

// pruneAgain is the pause after a pass.
func pruneAgain(sum pruned, took time.Duration) time.Duration {
	if sum.looked <= pruneWorth*sum.deleted {
		return pruneEvery
	}
	return min(max(pruneEvery, pruneShare*took), pruneLatest)
}

func (s *session) pruneOnce(ctx context.Context) (sum pruned, err error) {
	for _, rule := range []struct {
		status Status
		age    time.Duration
	}{
		{StatusDone, s.config.Retention.Done},
		{StatusCancelled, s.config.Retention.Cancelled},
		{StatusFailed, s.config.Retention.Failed},
	} {
		if rule.age == Forever {
			continue
		}
		part, err := s.client.prune(ctx, rule.status, rule.age)
		sum.looked, sum.deleted = sum.looked+part.looked, sum.deleted+part.deleted
		if err != nil {
			return sum, err
		}
	}
	err = s.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteEndedWorkers(ctx, toMicros(s.store.Now().Add(-keepWorkers)))
		return err
	})
	if err != nil {
		return sum, fmt.Errorf("delete rows of ended workers: %w", err)
	}
	return sum, nil
}

// Prune removes the jobs of one final status that ended more than age ago and returns how many: in transactions of a
// few hundred, so a stop half-way leaves some of them.
func (c *Client) Prune(ctx context.Context, status Status, age time.Duration) (int64, error) {
	sum, err := c.prune(ctx, status, age)
	return sum.deleted, err
}

func (c *Client) prune(ctx context.Context, status Status, age time.Duration) (sum pruned, err error) {
	if !status.Final() {
		return sum, fmt.Errorf("prune: %w", invalid("status", quote(string(status)), "be done, failed or cancelled"))
	}
	if age < 0 {
		return sum, fmt.Errorf("prune: %w", invalid("age", age.String(), "not be negative"))
	}
	before := toMicros(c.store.Now().Add(-age))
	if status == StatusDone {
		sum, err = c.pruneDone(ctx, before)
	} else {
		sum, err = c.pruneFailed(ctx, status, before)
	}
	if err != nil {
		return sum, fmt.Errorf("prune %s jobs: %w", status, err)
	}
	return sum, nil
}

// pruneFailed removes jobs that failed or were cancelled, which an index finds.
func (c *Client) pruneFailed(ctx context.Context, status Status, before int64) (sum pruned, err error) {
	for {
		var n int64
		err := c.change(ctx, 0, func(ctx context.Context, q db.Querier) error {
			var err error
			n, err = q.DeleteFailedJobs(ctx, db.DeleteFailedJobsParams{Status: string(status), Before: before, N: chunk})
			return err
		})
		if err != nil {
			return sum, err
		}
		sum.looked, sum.deleted = sum.looked+n, sum.deleted+n
		if n < chunk {
			return sum, nil
		}
	}
}

// pruneDone removes done jobs, which are in no index, so that a job that ends well costs less. It looks at jobs in the
// order of their ids, up to where they are too young to have ended before then. (Those of the future are no sign of that,
// but of a clock that was wrong.)
func (c *Client) pruneDone(ctx context.Context, before int64) (sum pruned, err error) {
	now := toMicros(c.store.Now())
	for after := int64(math.MinInt64); ; {
		var step db.GetPruneStepRow
		err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
			var err error
			step, err = q.GetPruneStep(ctx, db.GetPruneStepParams{Before: before, After: after, N: chunk})
			return err
		})
		if err != nil || step.LastID == 0 || step.CreatedAt >= before && step.CreatedAt <= now {
			return sum, err
		}
		sum.looked += chunk
		if step.Expired > 0 {
			var n int64
			err := c.change(ctx, 0, func(ctx context.Context, q db.Querier) error {
				var err error
				n, err = q.DeleteDoneJobs(ctx, db.DeleteDoneJobsParams{After: after, LastID: step.LastID, Before: before})
				return err
			})
			if err != nil {
				return sum, err
			}
			sum.deleted += n
		}
		after = step.LastID
	}
}
