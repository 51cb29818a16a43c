package prune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// lookAgain is how soon each range is read again, at least, and twice that at most, whatever is known of it: a job with a low id may be
	// committed late, or be retried and end anew.
	lookAgain = time.Hour

	// forgetShare is how much longer than it takes to read all jobs a change of rules waits after the one before: some programs set rules
	// all the time.
	forgetShare = 20

	// holdOff is how soon jobs are looked at again that should have gone and did not: another process was at them.
	holdOff = time.Minute
)

// Retention removes jobs that have been kept for as long as the rules of the database say, and where they say nothing, as Keep does.
// It remembers of which jobs the time has not come, and does not read those again at each pass. It is for one goroutine.
type Retention struct {
	Scope *engine.Scope
	Notes *refusal.Notes
	Keep  Keep

	// Process is this process's clock, which goes on when people set that of the queue.
	Process func() time.Time

	rules   []db.Retention // of the last pass
	known   ranges         // by these rules
	emptied int64          // the newest job, when its time has come: its row stays, without what it carried

	clock, since time.Time // the queue's clock and the process's when it began to remember
	mayForget    time.Time // not before, for other rules
}

// Pass removes once what may go. The result's Examined counts what was read again: what is read for the first time says nothing of how often a
// pass is worth its while.
func (r *Retention) Pass(ctx context.Context) (sum Result, err error) {
	var rules []db.Retention
	err = r.Scope.ReadAsRunner(ctx, func(ctx context.Context, q db.Querier) (err error) {
		rules, err = q.ListRetentions(ctx)
		return err
	})
	if err != nil {
		return sum, fmt.Errorf("list rules of retention: %w", err)
	}
	now, began := r.Scope.Now(), r.Process()
	w := walk{pruner: pruner{scope: r.Scope, notes: r.Notes, now: core.Micros(now)}, keep: r.Keep, rules: 1, soonest: soonest(r.Keep, rules)}
	if w.soonest >= ever {
		return sum, nil
	}
	forgot := r.forget(rules, now)
	err = r.pass(ctx, w, &sum)
	if err == nil {
		err = r.Scope.Write(ctx, 0, func(ctx context.Context, q db.Querier) error { return q.FreeIDs(ctx) })
	}
	if forgot {
		ended := r.Process()
		r.mayForget = ended.Add(forgetShare * ended.Sub(began))
	}
	if err != nil {
		return sum, fmt.Errorf("remove jobs that were kept long enough: %w", err)
	}
	return sum, nil
}

// soonest is the shortest time that any job is kept.
func soonest(keep Keep, rules []db.Retention) int64 {
	done, failed, cancelled := keep.micros()
	shortest := min(done, failed, cancelled)
	for _, rule := range rules {
		if rule.Keep != nil {
			shortest = min(shortest, *rule.Keep)
		}
	}
	return shortest
}

// forget makes the pass read all jobs again when the rules are others, or when the clock was set: then it is not known how long to wait.
func (r *Retention) forget(rules []db.Retention, now time.Time) bool {
	process := r.Process()
	jump := now.Sub(r.clock) - process.Sub(r.since)
	switch {
	case r.since.IsZero(), jump.Abs() > holdOff:
	case reflect.DeepEqual(rules, r.rules), process.Before(r.mayForget):
		return false
	}
	r.rules, r.known, r.clock, r.since = rules, nil, now, process
	return true
}

// pass looks at the ranges whose time has come, and at what follows the last of them. A range that it did not get to keeps its time.
func (r *Retention) pass(ctx context.Context, w walk, sum *Result) (err error) {
	old, after := r.known, int64(math.MinInt64)
	r.known = make(ranges, 0, len(old)+1)
	for i, known := range old {
		if known.again.After(r.Process()) {
			r.known = r.known.add(known)
		} else if err := r.look(ctx, w, sum, after, known.last); err != nil {
			r.known = append(r.known, old[i:]...)
			return err
		}
		after = known.last
	}
	defer func() { r.known = r.known.bounded() }()
	for began := r.Process(); ; {
		step, err := w.read(ctx, after, math.MaxInt64)
		if sum.FirstRead == 0 {
			sum.FirstRead = r.Process().Sub(began)
		}
		if err != nil || step.LastID == 0 || w.young(step) {
			return err
		}
		if last, err := r.clear(ctx, w, sum, after, step); err != nil || last < step.LastID {
			return err
		}
		after = step.LastID
	}
}

// look looks at a range again. The ids from its last job to its end have no jobs.
func (r *Retention) look(ctx context.Context, w walk, sum *Result, after, last int64) error {
	for after < last {
		step, err := w.read(ctx, after, last)
		if err != nil {
			return err
		}
		if step.LastID == 0 {
			r.known = r.known.add(idRange{last, r.Process().Add(lookAgain), true})
			return nil
		}
		sum.Examined += Chunk
		if last, err := r.clear(ctx, w, sum, after, step); err != nil || last < step.LastID {
			return err
		}
		after = step.LastID
	}
	return nil
}

// clear removes those jobs of a step that may go, and remembers when the next of its jobs may. It returns the last id of which it knows that:
// the newest job stays as long as it is the newest, and a later pass reads it again.
func (r *Retention) clear(ctx context.Context, w walk, sum *Result, after int64, step db.GetPruneStepRow) (last int64, err error) {
	if step.Expired > 0 {
		if step, err = r.keepNewest(ctx, w, sum, after, step); err != nil || step.LastID == 0 {
			return 0, err
		}
	}
	wait, err := w.clear(ctx, sum, after, step)
	if err == nil {
		r.known = r.known.add(idRange{step.LastID, r.Process().Add(wait), step.NextAt < 0})
	}
	return step.LastID, err
}

// keepNewest empties the newest job if it is one of a step and its time has come, and returns the step without it. On SQLite the row
// of the newest job keeps its id from being given again; without it a row that is no job would, and a count of all rows would be wrong.
func (r *Retention) keepNewest(ctx context.Context, w walk, sum *Result, after int64, step db.GetPruneStepRow) (db.GetPruneStepRow, error) {
	var newest int64
	var ended bool
	err := w.scope.ReadAsRunner(ctx, func(ctx context.Context, q db.Querier) (err error) {
		if newest, err = q.GetNewestID(ctx); err != nil || newest != step.LastID {
			return err
		}
		fence, err := q.GetJobFence(ctx, newest)
		ended = jobtype.Status(fence.Status).Final()
		return core.NotFound(err)
	})
	if err != nil || !ended {
		if errors.Is(err, jobtype.ErrNotFound) { // deleted meanwhile
			err = nil
		}
		return step, err
	}
	if newest != r.emptied {
		own, err := w.read(ctx, newest-1, newest)
		if err != nil || own.Expired == 0 {
			return step, err
		}
		if err := w.empty(ctx, sum, newest); err != nil {
			return step, err
		}
		r.emptied = newest
	}
	step.Expired--
	step.LastID--
	if step.LastID <= after {
		step.LastID = 0
	}
	return step, nil
}
