package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// The bounds of how many scheduled jobs become pending in one transaction: a few more than it claims, and when
	// that was not enough the most, so that a million that fall due at once do not hold up other writes for long.
	promoteLeast = 100
	promoteMost  = 1000
)

// cycle is one transaction of the producer. write may run more than once.
type cycle struct {
	*completer
	executor *executor
	ended    []*Attempt // to be recorded
	wants    map[string]int64
	slots    map[string]int64 // how many of those begin at once
	behind   bool             // the cycle before promoted as many jobs as it might: promote more, also when none can be claimed
	due      time.Time        // when the first scheduled job falls due, as far as is known; the zero time: none is scheduled
	lone     bool             // it claims by one statement, and a look for due jobs follows

	lost     []*lifecycle.End
	promote  int64 // how many jobs it might promote
	promoted int64
	claimed  []*Attempt
	more     map[string]bool // queues in which another claim may find something
	short    map[string]bool // queues that gave some, but less than was wanted
	returned map[string]bool // queues from which jobs were claimed that must not wait for a slot
	next     time.Time       // when the next scheduled job falls due, if it has looked
	took     time.Duration   // the time of its transaction
	held     time.Duration   // how long its statements took, which is most of the time that it held SQLite's write lock
}

func (c *cycle) promotes() bool { return c.behind || len(c.wants) > 0 }

// write records ends, promotes what is due and claims, in this order, and then judges what was claimed.
func (c *cycle) write(ctx context.Context, q db.Querier) error {
	began := time.Now()
	defer func() { c.held = time.Since(began) }()
	c.reset()
	now, done := c.store.Now(), stats.Changes{}
	claimed := make(map[string][]*Attempt, len(c.wants))
	var steps []engine.Func
	if len(c.ended) > 0 {
		steps = append(steps, func(ctx context.Context, q db.Querier) (err error) {
			if c.lost, err = lifecycle.Finish(ctx, q, now, c.ends(c.ended), done); err != nil {
				return fmt.Errorf("record ends of attempts: %w", err)
			}
			return nil
		})
	}
	if c.promotes() {
		steps = append(steps, c.claims(now, claimed)...)
	}
	if err := c.store.Together(ctx, q, steps...); err != nil {
		return err
	}
	for queue, attempts := range claimed {
		if err := c.keep(ctx, q, queue, attempts, done); err != nil {
			return err
		}
	}
	if err := done.Write(ctx, q, core.Micros(now)); err != nil {
		return fmt.Errorf("note what was recorded: %w", err)
	}
	return nil
}

// claims returns the steps that promote what is due and claim what each queue wants, into claimed.
//
// Where one transaction writes at a time, the cycle looks for due jobs, promotes them and claims. Elsewhere each look is a round
// trip, so it goes by the last look: a claim takes nothing when a job has fallen due since, and the next cycle promotes that.
func (c *cycle) claims(now time.Time, claimed map[string][]*Attempt) (steps []engine.Func) {
	alone, noneDueBefore := c.store.WritesAlone(), int64(0)
	switch {
	case alone:
		steps = append(steps, func(ctx context.Context, q db.Querier) error { return c.promoteAll(ctx, q, now) })
	case !c.due.IsZero() && !c.due.After(now):
		steps = append(steps, func(ctx context.Context, q db.Querier) error { return c.promoteDue(ctx, q, now) })
	default:
		noneDueBefore = core.Micros(now) + 1
	}
	for queue, n := range c.wants {
		steps = append(steps, func(ctx context.Context, q db.Querier) (err error) {
			claimed[queue], err = c.claimFrom(ctx, q, queue, n, now, noneDueBefore)
			return err
		})
	}
	if !alone {
		steps = append(steps, c.findNext)
	}
	return steps
}

// commit runs the cycle as one transaction.
func (c *cycle) commit(ctx context.Context) error {
	began := time.Now()
	var err error
	if c.lone {
		err = c.claimAlone(ctx)
	} else {
		err = c.store.Write(ctx, c.write)
	}
	c.took = time.Since(began)
	return err
}

// reset forgets what an earlier run of write did.
func (c *cycle) reset() {
	c.lost, c.claimed, c.next = nil, nil, time.Time{}
	c.more, c.short, c.returned = map[string]bool{}, map[string]bool{}, map[string]bool{}
	c.promote, c.promoted = 0, 0
}

// keep takes in what was claimed from a queue, but for jobs that must not run now.
func (c *cycle) keep(ctx context.Context, q db.Querier, queue string, claimed []*Attempt, done stats.Changes) error {
	claimed, err := c.putOff(ctx, q, claimed, done)
	if err == nil {
		claimed, err = c.returnRisky(ctx, q, queue, claimed, done)
	}
	c.claimed = append(c.claimed, claimed...)
	return err
}

// claimFrom claims up to n jobs of a queue: none while a scheduled job is due before noneDueBefore, unless that is 0.
func (c *cycle) claimFrom(ctx context.Context, q db.Querier, queue string, n int64, now time.Time, noneDueBefore int64) ([]*Attempt, error) {
	worker, lease := c.workerID(), now.Add(c.config.Lease)
	rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
		WorkerID: worker, LeaseUntil: core.Micros(lease), Now: core.Micros(now), Kinds: c.kinds, Queue: queue, N: n,
		NoneDueBefore: noneDueBefore,
	})
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	c.more[queue] = int64(len(rows)) == n
	c.short[queue] = len(rows) > 0 || len(c.ended) > 0
	claimed := make([]*Attempt, len(rows))
	for i, row := range rows {
		claimed[i] = c.executor.attempt(jobrow.Claimed(row, queue, worker, now, lease))
	}
	return claimed, nil
}

// returnRisky gives back those of a queue's claimed jobs that would have to wait for a slot and had better not: should the
// process die, a crash is charged to all that it holds. A job on its last attempt would fail without having run; and beside
// one that was running when a process died before, the others would be charged again and again.
func (c *cycle) returnRisky(ctx context.Context, q db.Querier, queue string, claimed []*Attempt, done stats.Changes) ([]*Attempt, error) {
	slots := int(c.slots[queue])
	if len(claimed) <= slots {
		return claimed, nil
	}
	slices.SortFunc(claimed, better)
	suspect := slices.ContainsFunc(claimed, func(a *Attempt) bool { return a.job.Crashes > 0 })
	kept, back := claimed[:slots:slots], []*Attempt{}
	for _, a := range claimed[slots:] {
		if suspect || a.job.AttemptsLeft() == 0 {
			a.end = lifecycle.End{Job: &a.job, Fate: lifecycle.FateReturn}
			back = append(back, a)
		} else {
			kept = append(kept, a)
		}
	}
	if len(back) > 0 {
		c.returned[queue] = true
		if err := lifecycle.Return(ctx, q, c.store.Now(), c.ends(back), done); err != nil {
			return nil, fmt.Errorf("give claimed jobs back: %w", err)
		}
	}
	return kept, nil
}

// promoteAll promotes if anything is due, and finds out when the next scheduled job falls due.
func (c *cycle) promoteAll(ctx context.Context, q db.Querier, now time.Time) error {
	if err := c.findNext(ctx, q); err != nil || c.next.IsZero() || c.next.After(now) {
		return err
	}
	if err := c.promoteDue(ctx, q, now); err != nil {
		return err
	}
	return c.findNext(ctx, q)
}

// promoteDue makes due jobs claimable, so that the claim chooses among them by priority.
func (c *cycle) promoteDue(ctx context.Context, q db.Querier, now time.Time) (err error) {
	c.promote = promoteMost
	if !c.behind {
		c.promote = promoteLeast
		for _, n := range c.wants {
			c.promote = min(c.promote+2*n, promoteMost)
		}
	}
	if c.promoted, err = q.PromoteDueJobs(ctx, db.PromoteDueJobsParams{Now: core.Micros(now), N: c.promote}); err != nil {
		return fmt.Errorf("promote due jobs: %w", err)
	}
	return nil
}

// findNext finds out when the next scheduled job falls due.
func (c *cycle) findNext(ctx context.Context, q db.Querier) error {
	next, err := q.GetNextRunAfter(ctx)
	if err != nil {
		return fmt.Errorf("find the next due job: %w", err)
	}
	c.next = core.Time(next)
	return nil
}

// signals is what others want to know of the cycle.
func (c *cycle) signals() jobtype.Signal {
	var signals jobtype.Signal
	if len(c.returned) > 0 {
		signals |= jobtype.WorkReady
	}
	for _, a := range c.ended {
		switch a.end.Fate {
		case lifecycle.FateDone, lifecycle.FateCancel:
			signals |= jobtype.JobEnded
		default:
			signals |= jobtype.WorkReady | jobtype.JobEnded // which of them depends on whether the job had a cancel request
		}
	}
	return signals
}
