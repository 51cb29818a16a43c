package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// Pruning runs every minute, and sooner where a pass would find more than pruneMany jobs: a million at once are much work beside
	// the claims, and on PostgreSQL new jobs take new places before vacuum gives back those (docs/decisions/0040-pruning.md).
	pruneEvery   = time.Minute
	pruneMany    = 50_000
	pruneSoonest = time.Second
	pruneFailed  = 10 * time.Second // at least, after an error

	// Beside an old transaction on PostgreSQL a pass goes through all dead rows before it finds the first job. Sooner than in a
	// minute it rests for this many times as long as that took.
	pruneRest = 9

	// When it looks at many more jobs than it finds to remove, it is to take no more than a hundredth of the time, but runs
	// once an hour.
	pruneLatest = time.Hour
	pruneShare  = 100
	pruneWorth  = 10 // looks for each job removed

	pruneSteps  = 10                 // of the history in one transaction; each has some rows for every kind
	keepWorkers = 7 * 24 * time.Hour // rows of workers that ended
)

// prune removes ended jobs whose retention is over; the first time within a minute, at random, so that processes that start together
// do not do it together.
func (s *session) prune(ctx context.Context) {
	s.keepPruning(ctx, rand.N(pruneEvery), func() (pruned, error) {
		sum, err := s.pruneOnce(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("pruning failed; trying again later", "error", err)
		}
		return sum, err
	})
}

// keepPruning makes passes until ctx ends: the first after a while, then every minute, or more or less often.
func (s *session) keepPruning(ctx context.Context, first time.Duration, pass func() (pruned, error)) {
	pause, last := first, time.Now().Add(-pruneEvery)
	for s.pause(ctx, pause) {
		began := time.Now()
		sum, err := pass()
		pause = pruneAgain(sum, began.Sub(last), time.Since(began))
		if err != nil {
			pause = max(pruneFailed, pause)
		}
		last = began
	}
}

// pruned is what a pass did, and how long it took to find the first job.
type pruned struct {
	looked, deleted int64
	walk            time.Duration
}

// pruneAgain is the pause after a pass that began so long after the one before. What it found tells how fast jobs end that others
// do not prune, and so when there are pruneMany again, or as many as it looked at in vain. It may just have come behind another
// process's pass, and so waits twice as long at most, and is not judged by what it looked at.
func pruneAgain(sum pruned, since, took time.Duration) time.Duration {
	if since >= pruneEvery && sum.looked > pruneWorth*sum.deleted {
		return min(max(pruneEvery, pruneShare*took), pruneLatest)
	}
	worth := max(pruneMany, sum.looked-sum.deleted)
	next := time.Duration(float64(since) * min(2, float64(worth)/float64(sum.deleted))) // twice, where there were none
	return min(max(pruneSoonest, pruneRest*sum.walk, next-took), pruneEvery)
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
		sum.looked, sum.deleted, sum.walk = sum.looked+part.looked, sum.deleted+part.deleted, sum.walk+part.walk
		if err != nil {
			return sum, err
		}
	}
	if sum.deleted > 0 {
		s.note()
	}
	return sum, errors.Join(s.upkeep(ctx), s.client.PruneHistory(ctx))
}

// PruneHistory removes what [Client.History] does not tell any more: minutes older than 6 hours, quarters of an hour older
// than 30 days. Runners do it by themselves.
func (c *Client) PruneHistory(ctx context.Context) error {
	now := c.store.Now()
	err := c.write(ctx, 0, func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteEmptyJobCounts(ctx)
		return err
	})
	if err == nil {
		err = c.pruneSteps(ctx, fineStep, now.Add(-keepFine))
	}
	if err == nil {
		err = c.pruneSteps(ctx, coarseStep, now.Add(-keepCoarse))
	}
	if err != nil {
		return fmt.Errorf("prune the history: %w", err)
	}
	return nil
}

// pruneSteps removes the steps of one length that began before a time, some in each transaction.
func (c *Client) pruneSteps(ctx context.Context, step time.Duration, before time.Time) error {
	for again := true; again; {
		err := c.write(ctx, 0, func(ctx context.Context, q db.Querier) error {
			again = false
			oldest, err := q.GetOldestJobHistory(ctx, step.Microseconds())
			if err != nil || oldest == 0 || oldest >= core.Micros(before) {
				return err
			}
			until := earlier(before, core.Time(oldest).Add(pruneSteps*step))
			again = until.Before(before)
			_, err = q.DeleteJobHistory(ctx, db.DeleteJobHistoryParams{Step: step.Microseconds(), Before: core.Micros(until)})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Prune removes the jobs of one final status that ended more than age ago and returns how many: in transactions of a
// few hundred, so a stop half-way leaves some of them.
func (c *Client) Prune(ctx context.Context, status Status, age time.Duration) (int64, error) {
	sum, err := c.prune(ctx, status, age)
	return sum.deleted, err
}

func (c *Client) prune(ctx context.Context, status Status, age time.Duration) (sum pruned, err error) {
	if !status.Final() {
		return sum, fmt.Errorf("prune: %w", jobtype.NewInvalidError("status", core.Quote(string(status)), "be done, failed or cancelled"))
	}
	if age < 0 {
		return sum, fmt.Errorf("prune: %w", jobtype.NewInvalidError("age", age.String(), "not be negative"))
	}
	p, err := newPruner(ctx, c, status, c.store.Now().Add(-age))
	if err != nil {
		return sum, fmt.Errorf("prune %s jobs: %w", status, err)
	}
	if status == StatusDone {
		sum, err = p.done(ctx)
	} else {
		sum, err = p.failed(ctx)
	}
	if err != nil {
		return sum, fmt.Errorf("prune %s jobs: %w", status, err)
	}
	return sum, nil
}

// pruner removes the jobs of one status that ended before a time.
type pruner struct {
	*Client
	status Status
	before int64
	who    *author
	detail json.RawMessage
}

func newPruner(ctx context.Context, c *Client, status Status, before time.Time) (p pruner, err error) {
	p = pruner{Client: c, status: status, before: core.Micros(before)}
	if p.who, err = authorOf(ctx); err == nil && p.who != nil {
		p.detail, err = detailOf(map[string]any{"filter": map[string]any{"status": status, "finished_before": before.UTC()}})
	}
	return p, err
}

// remove is a transaction that removes some, and returns how many.
func (p pruner) remove(ctx context.Context, some func(context.Context, db.Querier) (int64, error)) (n int64, err error) {
	err = p.change(ctx, 0, func(ctx context.Context, q db.Querier) error {
		var err error
		if n, err = some(ctx, q); err != nil || n == 0 {
			return err
		}
		return p.who.note(ctx, q, core.Micros(p.store.Now()), AuditEntry{Action: ActionPrune, Jobs: n, Detail: p.detail})
	})
	return n, err
}

// step reads over the connections for runners, which prune too.
func (p pruner) step(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if p.tx != nil {
		return p.join(ctx, fn)
	}
	return p.store.Read(ctx, fn)
}

// failed removes jobs that failed or were cancelled, which an index finds.
func (p pruner) failed(ctx context.Context) (sum pruned, err error) {
	for {
		n, err := p.remove(ctx, func(ctx context.Context, q db.Querier) (int64, error) {
			return q.DeleteFailedJobs(ctx, db.DeleteFailedJobsParams{Status: string(p.status), Before: p.before, N: chunk})
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

// done removes done jobs, which are in no index, so that a job that ends well costs less. It looks at jobs in the
// order of their ids, up to where they are too young to have ended before then. (Those of the future are no sign of that,
// but of a clock that was wrong.)
func (p pruner) done(ctx context.Context) (sum pruned, err error) {
	now, began := core.Micros(p.store.Now()), time.Now()
	for after := int64(math.MinInt64); ; {
		var step db.GetPruneStepRow
		err := p.step(ctx, func(ctx context.Context, q db.Querier) error {
			var err error
			step, err = q.GetPruneStep(ctx, db.GetPruneStepParams{Before: p.before, After: after, N: chunk})
			return err
		})
		if after == math.MinInt64 {
			sum.walk = time.Since(began)
		}
		if err != nil || step.LastID == 0 || step.CreatedAt >= p.before && step.CreatedAt <= now {
			return sum, err
		}
		sum.looked += chunk
		if step.Expired > 0 {
			n, err := p.remove(ctx, func(ctx context.Context, q db.Querier) (int64, error) {
				return q.DeleteDoneJobs(ctx, db.DeleteDoneJobsParams{After: after, LastID: step.LastID, Before: p.before})
			})
			if err != nil {
				return sum, err
			}
			sum.deleted += n
		}
		after = step.LastID
	}
}

// upkeep removes rows of workers that ended, and notes of changes, that are old.
func (s *session) upkeep(ctx context.Context) error {
	for again := true; again; {
		err := s.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
			again = false
			now := s.store.Now()
			if _, err := q.DeleteEndedWorkers(ctx, core.Micros(now.Add(-keepWorkers))); err != nil {
				return err
			}
			if s.config.Retention.Audit == Forever {
				return nil
			}
			n, err := q.DeleteOldAudit(ctx, db.DeleteOldAuditParams{Before: core.Micros(now.Add(-s.config.Retention.Audit)), N: chunk})
			again = n == chunk
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old rows of workers and changes: %w", err)
		}
	}
	return nil
}
