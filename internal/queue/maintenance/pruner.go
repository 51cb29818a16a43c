package maintenance

import (
	"cmp"
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
	"github.com/sqluice/sqluice/internal/queue/refusal"
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
const Forever = prune.Forever

// Retention is how long ended jobs, the audit log and the history are kept: a time, or, but for the history, Forever.
type Retention struct {
	Done      time.Duration
	Cancelled time.Duration
	Failed    time.Duration
	Audit     time.Duration
	History   time.Duration
	Minutes   time.Duration
}

// Pruner removes what has been kept for its retention.
type Pruner struct {
	Scope     *engine.Scope
	Retention Retention
	Log       *slog.Logger
	Notes     *refusal.Notes
	Pruned    func() // called after jobs were removed; optional

	parts []*part // of a pass
}

// Name implements Service.
func (*Pruner) Name() string { return "pruner" }

// Run implements Service. The first pass comes within a minute, at random, so that processes that start together do not
// prune together.
func (p *Pruner) Run(ctx context.Context) {
	trouble := outage.New(p.Log)
	keepPruning(ctx, rand.N(pruneEvery), func() (prune.Result, error) {
		sum, err := p.Pass(ctx)
		switch {
		case err == nil:
			trouble.Over("pruning works again")
		case ctx.Err() == nil:
			trouble.Failed(slog.LevelError, "pruning failed; trying again later", "error", err)
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

// Pass removes once what is old enough. What the database does not let go, or a part that fails, keeps no other part from it.
func (p *Pruner) Pass(ctx context.Context) (sum prune.Result, err error) {
	if p.parts == nil {
		p.parts = p.allParts()
	}
	var errs []error
	for _, part := range p.parts {
		if time.Now().Before(part.again) {
			continue
		}
		done, err := part.run(ctx)
		sum.Add(done)
		switch {
		case err == nil:
			part.refusals = 0
		case p.Scope.Store.RefusesRow(err):
			p.Notes.Tell("prune "+part.name, "one of them", err)
			part.again = time.Now().Add(min(pruneEvery<<min(part.refusals, 10), pruneLatest))
			part.refusals++
		default:
			errs = append(errs, err)
		}
		if ctx.Err() != nil || err != nil && p.Scope.Store.CanRetry(err) {
			break // so would the others
		}
	}
	if sum.Deleted > 0 && p.Pruned != nil {
		p.Pruned()
	}
	return sum, errors.Join(errs...)
}

// part is what a pass does beside its other parts.
type part struct {
	name     string
	run      func(context.Context) (prune.Result, error)
	refusals int       // in a row
	again    time.Time // not before, when the database refused it
}

func (p *Pruner) allParts() (parts []*part) {
	keep := prune.Keep{Done: p.Retention.Done, Failed: p.Retention.Failed, Cancelled: p.Retention.Cancelled}
	ended := prune.Retention{Scope: p.Scope, Notes: p.Notes, Keep: keep, Process: time.Now}
	parts = append(parts, &part{name: "ended jobs", run: ended.Pass})
	for _, upkeep := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"workers", p.workers}, {"declarations", p.declarations}, {"changes", p.audit}, {"refusals", p.refusals}, {"unique keys", p.uniqueKeys}, {"rows that keep ids", p.freeIDs},
		{"the history", func(ctx context.Context) error {
			return prune.History(ctx, p.Scope, p.Retention.Minutes, p.Retention.History)
		}},
	} {
		parts = append(parts, &part{name: upkeep.name, run: func(ctx context.Context) (prune.Result, error) {
			return prune.Result{}, upkeep.run(ctx)
		}})
	}
	return parts
}

// declarations removes schedules that no worker has declared for as long as rows of workers are kept.
func (p *Pruner) declarations(ctx context.Context) error {
	return p.write(ctx, "declarations", func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteOldDeclarations(ctx, core.Micros(p.Scope.Now().Add(-keepWorkers)))
		return err
	})
}

// workers removes old rows of workers that ended: all at once, or, when the database does not let one of them go, each by itself.
func (p *Pruner) workers(ctx context.Context) error {
	before := core.Micros(p.Scope.Now().Add(-keepWorkers))
	err := p.write(ctx, "rows of workers", func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteEndedWorkers(ctx, before)
		return err
	})
	if err == nil || !p.Scope.Store.RefusesRow(err) {
		return err
	}
	var ids []int64
	if err := p.Scope.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ids, err = q.ListEndedWorkerIDs(ctx, before)
		return err
	}); err != nil {
		return fmt.Errorf("list old rows of workers: %w", err)
	}
	var refused error
	err = refusal.Apart(ids, p.Scope.Store.RefusesRow, func(part []int64) error {
		return p.write(ctx, "rows of workers", func(ctx context.Context, q db.Querier) error {
			for _, id := range part {
				if _, err := q.DeleteEndedWorker(ctx, id); err != nil {
					return err
				}
			}
			return nil
		})
	}, func(_ int64, err error) error {
		refused = err
		return nil
	})
	return cmp.Or(err, refused)
}

// audit removes old notes of changes.
func (p *Pruner) audit(ctx context.Context) error {
	for again := p.Retention.Audit != Forever; again; {
		err := p.write(ctx, "changes", func(ctx context.Context, q db.Querier) error {
			n, err := q.DeleteOldAudit(ctx, db.DeleteOldAuditParams{Before: core.Micros(p.Scope.Now().Add(-p.Retention.Audit)), N: prune.Chunk})
			again = n == prune.Chunk
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refusals removes what is known of jobs that the database refused and that are gone or have gone on.
func (p *Pruner) refusals(ctx context.Context) error {
	return p.write(ctx, "refusals", func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteOldRefusals(ctx)
		return err
	})
}

// freeIDs removes rows that only kept ids.
func (p *Pruner) freeIDs(ctx context.Context) error {
	return p.write(ctx, "rows that only kept ids", p.Scope.Store.Upkeep().FreeIDs)
}

// uniqueKeys removes unique keys that were taken until a time that is over.
func (p *Pruner) uniqueKeys(ctx context.Context) error {
	for again := true; again; {
		err := p.write(ctx, "unique keys", func(ctx context.Context, q db.Querier) error {
			n, err := q.DeletePastUniqueKeys(ctx, db.DeletePastUniqueKeysParams{Now: core.Micros(p.Scope.Now()), N: prune.Chunk})
			again = n == prune.Chunk
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Pruner) write(ctx context.Context, what string, fn engine.Func) error {
	if err := p.Scope.Store.Write(ctx, fn); err != nil {
		return fmt.Errorf("delete old %s: %w", what, err)
	}
	return nil
}
