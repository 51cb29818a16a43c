package postgres

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// claims is the part of the engine that looks for claimable jobs and completes jobs.
type claims struct{ cursors *cursors }

// Backoff implements [engine.Claims]: workers do not contend for one lock.
func (claims) Backoff(func() int64) engine.Backoff { return engine.NoBackoff{} }

// PrefetchBytes implements [engine.Claims]: larger claims bring no further gain.
func (claims) PrefetchBytes() int { return 4 << 20 }

// HasClaimableJobs implements [engine.Claims].
func (s claims) HasClaimableJobs(ctx context.Context, q db.Querier, arg db.HasClaimableJobsParams) (found bool, err error) {
	_, err = s.cursors.from(arg.Queue, arg.Kinds, func(cursors string) (int, error) {
		arg.Cursors = cursors
		n, err := q.HasClaimableJobs(ctx, arg)
		found = n > 0
		return 1, err
	})
	return found, err
}

// ClaimableQueues implements [engine.Claims]. A queue with a cursor has many dead index entries, and a look that goes from queue to
// queue would read them each time.
func (s claims) ClaimableQueues(ctx context.Context, q db.Querier, kinds string, queues []string) ([]string, error) {
	views, err := s.cursors.views(queues, kinds)
	if err != nil {
		return nil, err
	}
	if len(views) == 0 {
		return engine.ClaimableQueues(ctx, q, kinds, queues)
	}
	return engine.ListedQueues(ctx, q, kinds, queues, views)
}

// enqueueClaimed inserts a job as claimed, unless a search as for a claim finds jobs that come before it.
func (s claims) enqueueClaimed(ctx context.Context, q db.Querier, arg db.EnqueueClaimedJobParams) (row db.EnqueueClaimedJobRow, committed func(), err error) {
	v, err := s.cursors.from(arg.Queue, arg.Kinds, func(cursors string) (_ int, err error) {
		arg.Cursors = cursors
		row, err = q.EnqueueClaimedJob(ctx, arg)
		return 1, err
	})
	return row, func() {
		s.cursors.claimed(v, arg.Now, []db.ClaimJobsRow{db.ClaimJobsRow(row)})
	}, err
}

// CompleteJobs implements [engine.Claims].
func (s claims) CompleteJobs(ctx context.Context, q db.Querier, now int64, c engine.Completion) (int64, error) {
	return q.CompleteJobs(ctx, c.Plain(now))
}
