package prune

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/refusal"
)

const (
	// lookAgain is how soon each job is looked at again, whatever is known of it: one with a low id may be committed late, or
	// be retried and end anew.
	lookAgain = time.Hour

	// holdOff is how soon jobs are looked at again that should have gone and did not: another process was at them.
	holdOff = time.Minute
)

// Retention removes jobs that have been kept for as long as the rules of the database say, and where they say nothing, as Keep does.
// It remembers of which jobs the time has not come, and does not read those again at each pass. It is for one goroutine.
type Retention struct {
	Scope *engine.Scope
	Notes *refusal.Notes
	Keep  Keep

	rules []db.Retention // of the last pass
	known ranges         // by these rules

	clock, since time.Time // the queue's clock and the process's when it began to remember
}

// Pass removes once what may go.
func (r *Retention) Pass(ctx context.Context) (sum Result, err error) {
	var rules []db.Retention
	err = r.Scope.ReadAsRunner(ctx, func(ctx context.Context, q db.Querier) (err error) {
		rules, err = q.ListRetentions(ctx)
		return err
	})
	if err != nil {
		return sum, fmt.Errorf("list how long jobs are kept: %w", err)
	}
	now := r.Scope.Now()
	r.forget(rules, now)
	w := walk{pruner: pruner{scope: r.Scope, notes: r.Notes, now: core.Micros(now)}, keep: r.Keep, rules: 1, soonest: r.soonest()}
	if w.soonest >= ever {
		return sum, nil
	}
	if err := r.pass(ctx, w, &sum); err != nil {
		return sum, fmt.Errorf("remove jobs that were kept long enough: %w", err)
	}
	return sum, nil
}

// soonest is the shortest time that any job is kept.
func (r *Retention) soonest() int64 {
	soonest := min(keepMicros(r.Keep.Done), keepMicros(r.Keep.Failed), keepMicros(r.Keep.Cancelled))
	for _, rule := range r.rules {
		if rule.Keep != nil {
			soonest = min(soonest, *rule.Keep)
		}
	}
	return soonest
}

// forget makes the pass look at all jobs when the rules are others, or when the clock was set: then it is not known how long to wait.
func (r *Retention) forget(rules []db.Retention, now time.Time) {
	jump := now.Sub(r.clock) - time.Since(r.since)
	if r.since.IsZero() || !reflect.DeepEqual(rules, r.rules) || jump.Abs() > holdOff {
		r.rules, r.known, r.clock, r.since = rules, nil, now, time.Now()
	}
}

// pass looks at the ranges whose time has come, and at what follows the last of them. A range that it did not get to keeps its time.
func (r *Retention) pass(ctx context.Context, w walk, sum *Result) (err error) {
	old, after := r.known, int64(math.MinInt64)
	r.known = make(ranges, 0, len(old)+1)
	for i, known := range old {
		if known.again.After(time.Now()) {
			r.known = r.known.add(known)
		} else if err := r.look(ctx, w, sum, after, known.last); err != nil {
			r.known = append(r.known, old[i:]...)
			return err
		}
		after = known.last
	}
	defer func() { r.known = r.known.bounded() }()
	for began := time.Now(); ; {
		step, err := w.read(ctx, after, math.MaxInt64)
		if sum.FirstRead == 0 {
			sum.FirstRead = time.Since(began)
		}
		if err != nil || step.LastID == 0 || w.young(step) {
			return err
		}
		next, err := w.clear(ctx, sum, after, step)
		if err != nil {
			return err
		}
		r.known, after = r.known.add(next), next.last
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
			r.known = r.known.add(idRange{last, time.Now().Add(lookAgain), true})
			return nil
		}
		next, err := w.clear(ctx, sum, after, step)
		if err != nil {
			return err
		}
		r.known, after = r.known.add(next), next.last
	}
	return nil
}
