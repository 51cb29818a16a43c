package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/prune"
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

	keepWorkers = 7 * 24 * time.Hour // rows of workers that ended
)

// Forever, as a retention, keeps jobs until a caller deletes them.
const Forever time.Duration = -1

// Retention is how long ended jobs and the audit log are kept: a time, or Forever.
type Retention struct {
	Done      time.Duration
	Cancelled time.Duration
	Failed    time.Duration
	Audit     time.Duration
}

// Pruner removes what has been kept for its retention.
type Pruner struct {
	Scope     *engine.Scope
	Retention Retention
	Log       *slog.Logger
	Pruned    func() // called after jobs were removed; optional
}

// Name implements Service.
func (*Pruner) Name() string { return "pruner" }

// Run implements Service. The first pass comes within a minute, at random, so that processes that start together do not
// prune together.
func (p *Pruner) Run(ctx context.Context) {
	keepPruning(ctx, rand.N(pruneEvery), func() (prune.Result, error) {
		sum, err := p.pass(ctx)
		if err != nil && ctx.Err() == nil {
			p.Log.Error("pruning failed; trying again later", "error", err)
		}
		return sum, err
	})
}

// keepPruning makes passes until ctx ends: the first after a while, then every minute, or more or less often.
func keepPruning(ctx context.Context, first time.Duration, pass func() (prune.Result, error)) {
	pause, last := first, time.Now().Add(-pruneEvery)
	for outage.Sleep(ctx, pause) {
		began := time.Now()
		sum, err := pass()
		pause = pruneAgain(sum, began.Sub(last), time.Since(began))
		if err != nil {
			pause = max(pruneFailed, pause)
		}
		last = began
	}
}

// pruneAgain is the pause after a pass that began so long after the one before. What it found tells how fast jobs end that others
// do not prune, and so when there are pruneMany again, or as many as it looked at in vain. It may just have come behind another
// process's pass, and so waits twice as long at most, and is not judged by what it looked at.
func pruneAgain(sum prune.Result, since, took time.Duration) time.Duration {
	if since >= pruneEvery && sum.Examined > pruneWorth*sum.Deleted {
		return min(max(pruneEvery, pruneShare*took), pruneLatest)
	}
	worth := max(pruneMany, sum.Examined-sum.Deleted)
	next := time.Duration(float64(since) * min(2, float64(worth)/float64(sum.Deleted))) // twice, where there were none
	return min(max(pruneSoonest, pruneRest*sum.FirstRead, next-took), pruneEvery)
}

// pass removes once what is old enough.
func (p *Pruner) pass(ctx context.Context) (sum prune.Result, err error) {
	for _, rule := range []struct {
		status jobtype.Status
		age    time.Duration
	}{
		{jobtype.StatusDone, p.Retention.Done},
		{jobtype.StatusCancelled, p.Retention.Cancelled},
		{jobtype.StatusFailed, p.Retention.Failed},
	} {
		if rule.age == Forever {
			continue
		}
		part, err := prune.Jobs(ctx, p.Scope, rule.status, rule.age)
		sum.Add(part)
		if err != nil {
			return sum, err
		}
	}
	if sum.Deleted > 0 && p.Pruned != nil {
		p.Pruned()
	}
	return sum, errors.Join(p.upkeep(ctx), prune.History(ctx, p.Scope))
}

// upkeep removes rows of workers that ended, and notes of changes, that are old.
func (p *Pruner) upkeep(ctx context.Context) error {
	for again := true; again; {
		err := p.Scope.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
			again = false
			now := p.Scope.Now()
			if _, err := q.DeleteEndedWorkers(ctx, core.Micros(now.Add(-keepWorkers))); err != nil {
				return err
			}
			if p.Retention.Audit == Forever {
				return nil
			}
			n, err := q.DeleteOldAudit(ctx, db.DeleteOldAuditParams{Before: core.Micros(now.Add(-p.Retention.Audit)), N: prune.Chunk})
			again = n == prune.Chunk
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old rows of workers and changes: %w", err)
		}
	}
	return nil
}
