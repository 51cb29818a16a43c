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
	// lookAgain is the shortest time after which each range is read again, and half of the longest one, whatever is known of it: a job
	// with a low id may be committed late, or be retried and end anew.
	lookAgain = time.Hour

	// forgetShare is the pause before changed rules start another read of all jobs, in durations of that read: some programs set rules
	// all the time.
	forgetShare = 20

	// holdOff is the time after which the pruner reads jobs again that it could not remove because another process held them.
	holdOff = time.Minute
)

// JobPruner removes jobs after the time that the rules of the database set, or, without a rule, after that of Keep. It remembers the
// ranges of jobs whose time has not come, and does not read them again at each pass. It is for one goroutine.
type JobPruner struct {
	Scope *engine.Scope
	Notes *refusal.Notes
	Keep  Retention

	// Process returns the time of this process's clock, which does not change when people set the queue's clock.
	Process func() time.Time

	rules []db.Retention // the rules of the last pass
	known ranges         // the ranges under these rules

	clock, since time.Time // the queue's clock and the process's when known was last cleared
	mayForget    time.Time // the earliest time at which other rules may clear known
}

// Pass removes once the jobs whose time has passed. The result's Examined counts jobs that were read again: a first read says nothing of
// how often a pass is worthwhile.
func (r *JobPruner) Pass(ctx context.Context) (sum Result, err error) {
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
	if forgot {
		ended := r.Process()
		r.mayForget = ended.Add(forgetShare * ended.Sub(began))
	}
	if err != nil {
		return sum, fmt.Errorf("remove jobs after their retention: %w", err)
	}
	return sum, nil
}

// soonest returns the shortest time, in microseconds, that any job is kept.
func soonest(keep Retention, rules []db.Retention) int64 {
	done, failed, cancelled := keep.micros()
	shortest := min(done, failed, cancelled)
	for _, rule := range rules {
		if rule.Keep != nil {
			shortest = min(shortest, *rule.Keep)
		}
	}
	return shortest
}

// forget makes the pass read all jobs again when the rules have changed, or when the clock was set: the known times are then wrong.
func (r *JobPruner) forget(rules []db.Retention, now time.Time) bool {
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

// pass reads the ranges whose time has come, and the jobs after the last range. A range that it did not reach keeps its time.
func (r *JobPruner) pass(ctx context.Context, w walk, sum *Result) (err error) {
	old, after := r.known, int64(math.MinInt64)
	r.known = make(ranges, 0, len(old)+1)
	for i, known := range old {
		if known.again.After(r.Process()) {
			r.known = r.known.add(known)
		} else if newest, err := r.look(ctx, w, sum, after, known.last); err != nil {
			r.known = append(r.known, old[i:]...)
			return err
		} else if newest {
			return nil
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
		if newest, err := r.clear(ctx, w, sum, after, step); err != nil || newest {
			return err
		}
		after = step.LastID
	}
}

// look reads a range again. The ids from its last job to its end have no jobs. It reports whether it came to the newest job, as clear does.
func (r *JobPruner) look(ctx context.Context, w walk, sum *Result, after, last int64) (newest bool, err error) {
	for after < last {
		step, err := w.read(ctx, after, last)
		if err != nil {
			return false, err
		}
		if step.LastID == 0 {
			r.known = r.known.add(idRange{last, r.Process().Add(lookAgain), true})
			return false, nil
		}
		sum.Examined += Chunk
		if newest, err := r.clear(ctx, w, sum, after, step); err != nil || newest {
			return newest, err
		}
		after = step.LastID
	}
	return false, nil
}

// clear removes the jobs of a step whose time has passed, and remembers when the next of them may go. It reports whether the last one is
// the newest job and stays although its time is over: then it remembers nothing, and each pass reads it again until a later job exists.
func (r *JobPruner) clear(ctx context.Context, w walk, sum *Result, after int64, step db.GetPruneStepRow) (newest bool, err error) {
	if step.Expired > 0 {
		if newest, err = w.emptyNewest(ctx, sum, after, step); err != nil {
			return false, err
		}
	}
	if newest {
		step.Expired--
		step.LastID--
	}
	if step.LastID <= after {
		return newest, nil
	}
	wait, err := w.clear(ctx, sum, after, step)
	if err == nil {
		r.known = r.known.add(idRange{step.LastID, r.Process().Add(wait), step.NextAt < 0})
	}
	return newest, err
}
