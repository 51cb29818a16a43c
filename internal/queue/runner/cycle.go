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
)

const (
	// The bounds of how many scheduled jobs become pending in one transaction: a few more than it claims, and when
	// that was not enough the most, so that a million that fall due at once do not hold up other writes for long.
	promoteLeast = 100
	promoteMost  = 1000
)

// cycle is one transaction of the producer. Its functions may run more than once.
type cycle struct {
	*completer
	executor *executor
	ended    []*Attempt // to be recorded
	wants    map[string]int64
	slots    map[string]int64 // how many of those begin at once
	behind   bool             // the cycle before promoted as many jobs as it might: promote more, also when none can be claimed
	due      time.Time        // when the first scheduled job falls due, as far as is known; the zero time: none is scheduled
	simple   bool             // it only claims, and the producer looks again: see [engine.Exchange]

	outcome
}

// outcome is what the functions of a cycle did.
type outcome struct {
	done      stats.Changes
	lost      []*lifecycle.End
	promote   int64 // how many jobs it might promote
	promoted  int64
	rows      map[string][]*Attempt // what was claimed from each queue, before it was judged
	claimed   []*Attempt
	committed []func()        // to be called when it is committed
	more      map[string]bool // queues in which another claim may find something
	short     map[string]bool // queues that gave some, but less than was wanted
	returned  map[string]bool // queues from which jobs were claimed that must not wait for a slot
	looked    bool            // for the next scheduled job
	next      time.Time       // when that falls due, if it has looked
	began     time.Time       // when its functions began
	now       time.Time       // by the store's clock, at that time
	took      time.Duration   // the time of its transaction
	held      time.Duration   // how long its functions took while all other writers waited; 0 where they do not
}

func (c *cycle) promotes() bool { return c.behind || len(c.wants) > 0 }

// exchange returns what the engine runs in one transaction: it records ends, promotes what is due and claims, and then judges what
// was claimed.
func (c *cycle) exchange() *engine.Exchange {
	x := &engine.Exchange{Simple: c.simple, Claiming: c.promotes(), Keep: c.keepAll, Judge: c.judge, Note: c.note}
	x.Begin = func() {
		c.reset()
		x.Now, x.Due = core.Micros(c.now), 0
		if !c.due.IsZero() {
			x.Due = core.Micros(c.due)
		}
	}
	if len(c.ended) > 0 {
		x.Record = func(ctx context.Context, q db.Querier) (err error) {
			if c.lost, err = lifecycle.Finish(ctx, c.store, q, c.now, c.ends(c.ended), c.done); err != nil {
				return fmt.Errorf("record ends of attempts: %w", err)
			}
			return nil
		}
	}
	if !x.Claiming {
		return x
	}
	x.Promote = c.promoteDue
	x.Look = func(ctx context.Context, q db.Querier) error {
		next, err := c.findNext(ctx, q)
		if err == nil {
			x.Due = next
		}
		return err
	}
	for queue, n := range c.wants {
		x.Claims = append(x.Claims, func(ctx context.Context, q db.Querier) (err error) {
			c.rows[queue], err = c.claimFrom(ctx, q, queue, n, x.NoneDueBefore)
			return err
		})
	}
	return x
}

// note adds what the cycle recorded to the counts.
func (c *cycle) note(ctx context.Context, q db.Querier) error {
	c.held = time.Since(c.began)
	if err := c.done.Write(ctx, q, core.Micros(c.now)); err != nil {
		return fmt.Errorf("note what was recorded: %w", err)
	}
	return nil
}

// keepAll keeps all that a simple cycle has claimed, unless a job is on its last chance.
func (c *cycle) keepAll() bool {
	for _, attempts := range c.rows {
		if slices.ContainsFunc(attempts, func(a *Attempt) bool { return c.config.lastChance(&a.job) }) {
			return false
		}
	}
	for _, attempts := range c.rows {
		c.claimed = append(c.claimed, attempts...)
	}
	return true
}

// judge keeps of what was claimed what must run now.
func (c *cycle) judge(ctx context.Context, q db.Querier) error {
	if c.claimed = nil; c.simple {
		c.done = stats.Changes{} // nothing was recorded before, and the transaction after a simple claim may run more than once
	}
	for queue, attempts := range c.rows {
		if err := c.keep(ctx, q, queue, attempts); err != nil {
			return err
		}
	}
	return nil
}

// commit runs the cycle as one transaction.
func (c *cycle) commit(ctx context.Context) error {
	began, x := time.Now(), c.exchange()
	err := c.store.Exchange(ctx, x)
	c.took = time.Since(began)
	if !x.Alone {
		c.held = 0
	}
	if err != nil {
		return err
	}
	for _, fn := range c.committed {
		fn()
	}
	return nil
}

// reset forgets what an earlier run of the functions did.
func (c *cycle) reset() {
	c.outcome = outcome{
		began: time.Now(), now: c.store.Now(), done: stats.Changes{}, rows: make(map[string][]*Attempt, len(c.wants)),
		more: map[string]bool{}, short: map[string]bool{}, returned: map[string]bool{},
	}
}

// keep takes in what was claimed from a queue, but for jobs that must not run now.
func (c *cycle) keep(ctx context.Context, q db.Querier, queue string, claimed []*Attempt) error {
	claimed, err := c.putOff(ctx, q, claimed, c.done)
	if err == nil {
		claimed, err = c.returnRisky(ctx, q, queue, claimed)
	}
	c.claimed = append(c.claimed, claimed...)
	return err
}

// claimFrom claims up to n jobs of a queue: none while a scheduled job is due before noneDueBefore, unless that is 0.
func (c *cycle) claimFrom(ctx context.Context, q db.Querier, queue string, n int64, noneDueBefore int64) ([]*Attempt, error) {
	worker, lease := c.workerID(), c.now.Add(c.config.Lease)
	rows, committed, err := c.store.ClaimJobs(ctx, q, db.ClaimJobsParams{
		WorkerID: worker, LeaseUntil: core.Micros(lease), Now: core.Micros(c.now), Kinds: c.kinds, Queue: queue, N: n,
		NoneDueBefore: noneDueBefore,
	})
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	if committed != nil {
		c.committed = append(c.committed, committed)
	}
	c.more[queue] = int64(len(rows)) == n
	c.short[queue] = len(rows) > 0 || len(c.ended) > 0
	claimed := make([]*Attempt, len(rows))
	for i, row := range rows {
		claimed[i] = c.executor.attempt(jobrow.Claimed(row, queue, worker, c.now, lease))
	}
	return claimed, nil
}

// returnRisky gives back those of a queue's claimed jobs that would have to wait for a slot and had better not: should the
// process die, a crash is charged to all that it holds. A job on its last attempt would fail without having run; and beside
// one that was running when a process died before, the others would be charged again and again.
func (c *cycle) returnRisky(ctx context.Context, q db.Querier, queue string, claimed []*Attempt) ([]*Attempt, error) {
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
		if err := lifecycle.Return(ctx, q, c.store.Now(), c.ends(back), c.done); err != nil {
			return nil, fmt.Errorf("give claimed jobs back: %w", err)
		}
	}
	return kept, nil
}

// promoteDue makes due jobs claimable, so that the claim chooses among them by priority.
func (c *cycle) promoteDue(ctx context.Context, q db.Querier) (err error) {
	c.promote = promoteMost
	if !c.behind {
		c.promote = promoteLeast
		for _, n := range c.wants {
			c.promote = min(c.promote+2*n, promoteMost)
		}
	}
	if c.promoted, err = q.PromoteDueJobs(ctx, db.PromoteDueJobsParams{Now: core.Micros(c.now), N: c.promote}); err != nil {
		return fmt.Errorf("promote due jobs: %w", err)
	}
	return nil
}

// findNext finds out when the next scheduled job falls due, in microseconds; 0 means that none is scheduled.
func (c *cycle) findNext(ctx context.Context, q db.Querier) (int64, error) {
	next, err := q.GetNextRunAfter(ctx)
	if err != nil {
		return 0, fmt.Errorf("find the next due job: %w", err)
	}
	c.looked, c.next = true, core.Time(next)
	return next, nil
}

// signals is what others want to know of the cycle.
func (c *cycle) signals() core.Signal {
	var signals core.Signal
	if len(c.returned) > 0 {
		signals |= core.WorkReady
	}
	for _, a := range c.ended {
		switch a.end.Fate {
		case lifecycle.FateDone, lifecycle.FateCancel:
			signals |= core.JobEnded
		default:
			signals |= core.WorkReady | core.JobEnded // which of them depends on whether the job had a cancel request
		}
	}
	return signals
}
