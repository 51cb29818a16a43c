package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sqluice/sqluice/db"
)

const (
	pruneEvery  = time.Minute
	keepWorkers = 7 * 24 * time.Hour // rows of workers that ended
)

// prune removes ended jobs whose retention is over, every minute; the first time within a minute of the start, at
// random, so that processes that start together do not do it together.
func (s *session) prune(ctx context.Context) {
	timer := time.NewTimer(rand.N(pruneEvery))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := s.pruneOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("pruning failed; trying again later", "error", err)
		}
		timer.Reset(pruneEvery)
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
