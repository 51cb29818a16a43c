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
	// the claims, and on PostgreSQL new jobs take new space before vacuum frees the old (docs/decisions/0040-pruning.md).
	pruneEvery   = time.Minute
	pruneMany    = 50_000
	pruneSoonest = time.Second
	pruneFailed  = 10 * time.Second // the shortest pause after an error

	// Beside an old transaction on PostgreSQL a pass reads all dead rows before it finds the first job. A pause of less than a
	// minute is at least this many times the duration of that read.
	pruneRest = 9

	// A pass that reads many more jobs than it removes should take at most a hundredth of the time, but runs once an hour.
	pruneLatest = time.Hour
	pruneShare  = 100
	pruneWorth  = 10 // the number of read jobs that are worth one removed job

	keepWorkers = 7 * 24 * time.Hour // for the rows of workers that ended
)

// Pruner removes jobs, audit notes and history steps after their retention.
type Pruner struct {
	Scope     *engine.Scope
	Retention prune.Retention
	Log       *slog.Logger
	Notes     *refusal.Notes
	Pruned    func() // called after jobs were removed; optional

	parts []*part // the parts of a pass
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

// keepPruning makes passes until ctx ends: the first after a given time, the next ones after a minute, or sooner or later.
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

// pruneAgain returns the pause after a pass that began the time since after the one before. The jobs that it found show how fast
// jobs end that others do not prune, and so when there are pruneMany again, or as many as it read in vain. The pass may have come
// just after another process's pass; so it waits twice as long at most, and is not judged by the jobs that it read.
func pruneAgain(sum prune.Result, since, took time.Duration) time.Duration {
	if since >= pruneEvery && sum.Examined > pruneWorth*sum.Deleted {
		return min(max(pruneEvery, pruneShare*took), pruneLatest)
	}
	worth := max(pruneMany, sum.Examined-sum.Deleted)
	next := time.Duration(float64(since) * min(2, float64(worth)/float64(sum.Deleted))) // twice, if the pass removed none
	return min(max(pruneSoonest, pruneRest*sum.FirstRead, next-took), pruneEvery)
}

// Pass makes one pass. A refusal of the database, or a part that fails, stops no other part.
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
			p.Notes.Report("prune "+part.name, "one of them", err)
			part.again = time.Now().Add(min(pruneEvery<<min(part.refusals, 10), pruneLatest))
			part.refusals++
		default:
			errs = append(errs, err)
		}
		if ctx.Err() != nil || err != nil && p.Scope.Store.CanRetry(err) {
			break // the other parts would fail too
		}
	}
	if sum.Deleted > 0 && p.Pruned != nil {
		p.Pruned()
	}
	return sum, errors.Join(errs...)
}

// part is one kind of work of a pass, independent of the others.
type part struct {
	name     string
	run      func(context.Context) (prune.Result, error)
	refusals int       // the number in a row
	again    time.Time // the earliest time of the next try after a refusal
}

func (p *Pruner) allParts() []*part {
	ended := prune.JobPruner{Scope: p.Scope, Notes: p.Notes, Keep: p.Retention, Process: time.Now}
	parts := []*part{{name: "ended jobs", run: ended.Pass}}
	add := func(name string, run func(context.Context) error) {
		parts = append(parts, &part{name: name, run: func(ctx context.Context) (prune.Result, error) { return prune.Result{}, run(ctx) }})
	}
	remove := func(name, rows string, some deletion) {
		add(name, func(ctx context.Context) error { return p.remove(ctx, rows, some) })
	}
	add("workers", p.workers)
	remove("declarations", "declarations", func(ctx context.Context, q db.Querier) (int64, error) { // of programs without workers
		return q.DeleteOldDeclarations(ctx, p.ago(keepWorkers))
	})
	if p.Retention.Audit != prune.Forever {
		remove("changes", "changes", func(ctx context.Context, q db.Querier) (int64, error) {
			return q.DeleteOldAudit(ctx, db.DeleteOldAuditParams{Before: p.ago(p.Retention.Audit), N: prune.Chunk})
		})
	}
	remove("refusals", "refusals", func(ctx context.Context, q db.Querier) (int64, error) { return q.DeleteOldRefusals(ctx) })
	remove("unique keys", "unique keys", func(ctx context.Context, q db.Querier) (int64, error) {
		return q.DeletePastUniqueKeys(ctx, db.DeletePastUniqueKeysParams{Now: p.ago(0), N: prune.Chunk})
	})
	remove("limit keys", "limit keys", func(ctx context.Context, q db.Querier) (int64, error) {
		return q.DeleteIdleLimitKeys(ctx, db.DeleteIdleLimitKeysParams{Now: p.ago(0), N: prune.Chunk})
	})
	remove("rows that keep ids", "rows that only kept ids", func(ctx context.Context, q db.Querier) (int64, error) {
		return 0, p.Scope.Store.Upkeep().FreeIDs(ctx, q)
	})
	add("the history", func(ctx context.Context) error {
		return prune.History(ctx, p.Scope, p.Retention.Minutes, p.Retention.History)
	})
	return parts
}

// ago returns the time before now by a duration, in microseconds.
func (p *Pruner) ago(d time.Duration) int64 { return core.Micros(p.Scope.Now().Add(-d)) }

// deletion deletes rows in a transaction, at most prune.Chunk or all, and returns their number.
type deletion = func(ctx context.Context, q db.Querier) (int64, error)

// remove repeats a deletion in transactions of its own until it has deleted fewer than prune.Chunk rows.
func (p *Pruner) remove(ctx context.Context, rows string, some deletion) error {
	for {
		var n int64
		err := p.Scope.Store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
			n, err = some(ctx, q)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old %s: %w", rows, err)
		}
		if n < prune.Chunk {
			return nil
		}
	}
}

// workers removes old rows of ended workers: all at once, or one by one when the database refuses to remove one of them.
func (p *Pruner) workers(ctx context.Context) error {
	const rows = "rows of workers"
	before := p.ago(keepWorkers)
	err := p.remove(ctx, rows, func(ctx context.Context, q db.Querier) (int64, error) { return q.DeleteEndedWorkers(ctx, before) })
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
	err = refusal.Split(ids, p.Scope.Store.RefusesRow, func(part []int64) error {
		return p.remove(ctx, rows, func(ctx context.Context, q db.Querier) (int64, error) {
			for _, id := range part {
				if _, err := q.DeleteEndedWorker(ctx, id); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
	}, func(_ int64, err error) error {
		refused = err
		return nil
	})
	return cmp.Or(err, refused)
}
