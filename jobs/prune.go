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
	// Pruning is to take no more than a hundredth of the time, however many old jobs it has to look at.
	pruneEvery  = time.Minute
	pruneLatest = time.Hour
	pruneShare  = 100

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
		if err := s.pruneOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("pruning failed; trying again later", "error", err)
		}
		timer.Reset(min(max(pruneEvery, pruneShare*time.Since(began)), pruneLatest))
	}
}

func (s *session) pruneOnce(ctx context.Context) error {
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
		if _, err := s.client.Prune(ctx, rule.status, rule.age); err != nil {
			return err
		}
	}
	err := s.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteEndedWorkers(ctx, toMicros(s.store.Now().Add(-keepWorkers)))
		return err
	})
	if err != nil {
		return fmt.Errorf("delete rows of ended workers: %w", err)
	}
	return nil
}

// Prune removes the jobs of one final status that ended more than age ago and returns how many: in transactions of a
// few hundred, so a stop half-way leaves some of them.
func (c *Client) Prune(ctx context.Context, status Status, age time.Duration) (int64, error) {
	if !status.Final() {
		return 0, fmt.Errorf("prune: %w", invalid("status", quote(string(status)), "be done, failed or cancelled"))
	}
	if age < 0 {
		return 0, fmt.Errorf("prune: %w", invalid("age", age.String(), "not be negative"))
	}
	before := toMicros(c.store.Now().Add(-age))
	var deleted int64
	var err error
	if status == StatusDone {
		deleted, err = c.pruneDone(ctx, before)
	} else {
		deleted, err = c.pruneFailed(ctx, status, before)
	}
	if err != nil {
		return deleted, fmt.Errorf("prune %s jobs: %w", status, err)
	}
	return deleted, nil
}

// pruneFailed removes jobs that failed or were cancelled, which an index finds.
func (c *Client) pruneFailed(ctx context.Context, status Status, before int64) (deleted int64, err error) {
	for {
		var n int64
		err := c.change(ctx, 0, func(ctx context.Context, q db.Querier) error {
			var err error
			n, err = q.DeleteFailedJobs(ctx, db.DeleteFailedJobsParams{Status: string(status), Before: before, N: chunk})
			return err
		})
		if err != nil {
			return deleted, err
		}
		deleted += n
		if n < chunk {
			return deleted, nil
		}
	}
}

// pruneDone removes done jobs, which are in no index, so that a job that ends well costs less. It looks at jobs in the
// order of their ids, up to where they are too young to have ended before then. (Those of the future are no sign of that,
// but of a clock that was wrong.)
func (c *Client) pruneDone(ctx context.Context, before int64) (deleted int64, err error) {
	now := toMicros(c.store.Now())
	for after := int64(math.MinInt64); ; {
		var step db.GetPruneStepRow
		err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
			var err error
			step, err = q.GetPruneStep(ctx, db.GetPruneStepParams{Before: before, After: after, N: chunk})
			return err
		})
		if err != nil || step.LastID == 0 || step.CreatedAt >= before && step.CreatedAt <= now {
			return deleted, err
		}
		if step.Expired > 0 {
			var n int64
			err := c.change(ctx, 0, func(ctx context.Context, q db.Querier) error {
				var err error
				n, err = q.DeleteDoneJobs(ctx, db.DeleteDoneJobsParams{After: after, LastID: step.LastID, Before: before})
				return err
			})
			if err != nil {
				return deleted, err
			}
			deleted += n
		}
		after = step.LastID
	}
}
