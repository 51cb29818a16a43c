package postgres

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// lookBelow looks beside the claims, after a while, whether there is something to claim below the floors that they begin
// at, and wakes the workers of the queue when there is.
func (s *backend) lookBelow(key floorKey, wait time.Duration) {
	s.hub.run(func() {
		if !s.hub.rest(wait) {
			return
		}
		var kinds int64
		began := time.Now()
		err := s.Read(s.hub.ctx, func(ctx context.Context, q db.Querier) (err error) {
			scope, err := s.floors.scopeBelow(key)
			if err != nil {
				return err
			}
			began = time.Now()
			kinds, err = q.HasClaimableJobs(ctx, db.HasClaimableJobsParams{Kinds: "[]", Cursors: scope, Queue: key.queue})
			return err
		})
		took := time.Since(began)
		if err != nil {
			if s.hub.ctx.Err() == nil {
				s.options.logger.Debug("cannot look for jobs below where claims begin; trying again", "queue", key.queue, "error", err)
			}
			took = slowLook // nothing is known
			s.floors.failedBelow(key)
		}
		if s.floors.lookedBelow(key, took, kinds > 0) {
			s.hub.wake(core.WorkReady, key.queue, jobs.WakeSafety)
		}
	})
}
