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
)

// cycle is one transaction of the producer. Its functions may run more than once.
type cycle struct {
	*completer
	executor *executor
	steps    steps
	ended    []*Attempt // to be recorded
	wants    map[string]int64
	slots    map[string]int64 // how many of those begin at once
	behind   bool             // the cycle before promoted as many jobs as it might: promote more, also when none can be claimed
	due      time.Time        // when the first scheduled job falls due, as far as is known; the zero time: none is scheduled
	simple   bool             // it only claims, and the producer looks again: see [engine.Exchange]
	many     bool             // many queues wanted jobs: wants are those that a look found to have some
	only     []int64          // the only jobs that it claims, without a promotion before; nil means all

	outcome
}

// outcome is what the functions of a cycle did.
type outcome struct {
	left      lifecycle.Left
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

func (c *cycle) promotes() bool {
	return c.behind || len(c.wants) > 0 || c.many && !c.due.IsZero() && !c.due.After(c.store.Now())
}

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
		x.Returning = slices.ContainsFunc(c.ended, func(a *Attempt) bool { return a.end.Fate.Returns() })
		x.Releasing = slices.ContainsFunc(c.ended, func(a *Attempt) bool { return a.job.UniqueKey != "" })
		x.Record = func(ctx context.Context, q db.Querier) (err error) {
			if c.lost, err = lifecycle.Finish(ctx, c.store, q, c.now, c.ends(c.ended), c.left); err != nil {
				return fmt.Errorf("record ends of attempts: %w", err)
			}
			return nil
		}
	}
	if !x.Claiming {
		return x
	}
	if c.only == nil {
		x.Promote = c.allDue
		x.Look = func(ctx context.Context, q db.Querier) error {
			next, err := c.steps.next(ctx, q)
			if err == nil {
				x.Due, c.looked, c.next = next, true, core.Time(next)
			}
			return err
		}
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
	return c.left.Conclude(ctx, q, core.Micros(c.now))
}

// keepAll keeps all that a simple cycle has claimed, if every step would.
func (c *cycle) keepAll() bool {
	for _, attempts := range c.rows {
		if !c.keepsAll(attempts) {
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
		c.left = lifecycle.NewLeft() // nothing was recorded before, and the transaction after a simple claim may run more than once
	}
	for queue, attempts := range c.rows {
		kept, err := c.judged(ctx, q, queue, attempts)
		if err != nil {
			return err
		}
		c.claimed = append(c.claimed, kept...)
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
		began: time.Now(), now: c.store.Now(), left: lifecycle.NewLeft(), rows: make(map[string][]*Attempt, len(c.wants)),
		more: map[string]bool{}, short: map[string]bool{}, returned: map[string]bool{},
	}
}

// claimFrom claims up to n jobs of a queue: none while a scheduled job is due before noneDueBefore, unless that is 0.
func (c *cycle) claimFrom(ctx context.Context, q db.Querier, queue string, n int64, noneDueBefore int64) ([]*Attempt, error) {
	worker, lease := c.workerID(), c.now.Add(c.config.Lease)
	rows, committed, err := c.claimRows(ctx, q, db.ClaimJobsParams{
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

// claimRows runs the statement of a claim.
func (c *cycle) claimRows(ctx context.Context, q db.Querier, arg db.ClaimJobsParams) (rows []db.ClaimJobsRow, committed func(), err error) {
	if c.only == nil {
		return c.store.ClaimJobs(ctx, q, arg)
	}
	listed, err := q.ClaimListedJobs(ctx, db.ClaimListedJobsParams{
		WorkerID: arg.WorkerID, LeaseUntil: arg.LeaseUntil, Now: arg.Now, Queue: arg.Queue, Ids: core.JSONIDs(c.only),
	})
	for _, row := range listed {
		rows = append(rows, db.ClaimJobsRow(row))
	}
	return rows, nil, err
}

// signals is what others want to know of the cycle.
func (c *cycle) signals() core.Signal {
	var signals core.Signal
	if len(c.returned) > 0 || c.left.Released() > 0 {
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

// claimsOnly reports whether a cycle only claims from one queue, for free slots, after a notification, as of the first job after a
// rest. An engine for which each statement is a round trip then sends the claim and its commit in one, in place of three. The claim
// takes nothing when a scheduled job is due; another cycle then promotes and claims. While a suspect job runs claimsOnly returns
// false, because the claim could take a job that must wait for that one.
func (p *producer) claimsOnly(c *cycle) bool {
	if len(c.ended) > 0 || c.behind || len(c.wants) != 1 || !p.notified || !p.next.IsZero() && !p.next.After(p.store.Now()) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holdsSuspects() {
		return false
	}
	for queue, n := range c.wants {
		return n <= c.slots[queue]
	}
	return false
}
