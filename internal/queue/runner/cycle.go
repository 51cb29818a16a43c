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

// cycle carries out a plan in one transaction. Its functions may run more than once.
type cycle struct {
	env       *env
	completer *completer
	plan      plan
	did       outcome
}

// outcome holds the results of a cycle.
type outcome struct {
	left      *lifecycle.Transitions
	lost      []*lifecycle.End
	promote   int64 // the largest number of jobs to promote
	promoted  int64
	rows      map[string][]*Attempt // the claimed jobs of each queue, before judge
	claimed   []*Attempt
	committed []func()        // called after the commit
	more      map[string]bool // queues in which another claim may find something
	short     map[string]bool // queues with fewer claimed jobs than wanted, but some
	returned  map[string]bool // queues from which jobs were claimed that must not wait for a slot
	looked    bool            // the cycle has looked for the next scheduled job
	next      time.Time       // the time when that job falls due, if looked
	began     time.Time       // the time when its functions began
	now       time.Time       // the store's clock at began
	took      time.Duration   // the duration of its transaction
	held      time.Duration   // the time for which its functions kept all other writers waiting; 0 where they do not
}

// exchange returns the functions that the engine runs in one transaction: they record ends, promote due jobs and claim, and then
// judge the claimed jobs.
func (c *cycle) exchange() *engine.Exchange {
	x := &engine.Exchange{Simple: c.plan.simple, Claiming: c.plan.promotes(c.env.store.Now()), Keep: c.keepAll, Judge: c.judge, Note: c.note}
	x.Begin = func() {
		c.reset()
		x.Now, x.Due = core.Micros(c.did.now), 0
		if !c.plan.due.IsZero() {
			x.Due = core.Micros(c.plan.due)
		}
	}
	if ended := c.plan.ended; len(ended) > 0 {
		x.Returning = slices.ContainsFunc(ended, func(a *Attempt) bool { return a.end.Fate.Returns() })
		x.Releasing = slices.ContainsFunc(ended, func(a *Attempt) bool { return a.job.UniqueKey != "" })
		x.Record = func(ctx context.Context, q db.Querier) (err error) {
			ends := c.completer.ends(ended)
			if err = lifecycle.Hide(ctx, q, ends); err == nil {
				c.did.lost, err = lifecycle.Finish(ctx, c.env.store, q, c.did.now, ends, c.did.left)
			}
			if err != nil {
				return fmt.Errorf("record ends of attempts: %w", err)
			}
			return nil
		}
	}
	if !x.Claiming {
		return x
	}
	if c.plan.listed == nil {
		x.Promote = c.runDue
		x.Look = func(ctx context.Context, q db.Querier) error {
			next, err := c.completer.steps.next(ctx, q)
			if err == nil {
				x.Due, c.did.looked, c.did.next = next, true, core.Time(next)
			}
			return err
		}
	}
	for queue, n := range c.plan.wants {
		x.Claims = append(x.Claims, func(ctx context.Context, q db.Querier) (err error) {
			c.did.rows[queue], err = c.claimFrom(ctx, q, queue, n, x.NoneDueBefore)
			return err
		})
	}
	return x
}

// note adds the recorded ends of the cycle to the counts.
func (c *cycle) note(ctx context.Context, q db.Querier) error {
	c.did.held = time.Since(c.did.began)
	return c.did.left.Conclude(ctx, q, core.Micros(c.did.now))
}

// keepAll keeps all jobs that a simple cycle has claimed, if every step would.
func (c *cycle) keepAll() bool {
	for _, attempts := range c.did.rows {
		if !c.keepsAll(attempts) {
			return false
		}
	}
	for _, attempts := range c.did.rows {
		c.did.claimed = append(c.did.claimed, attempts...)
	}
	return true
}

// judge keeps the claimed jobs that must run now.
func (c *cycle) judge(ctx context.Context, q db.Querier) error {
	if c.did.claimed = nil; c.plan.simple {
		c.did.left = lifecycle.NewTransitions() // nothing was recorded before, and the transaction after a simple claim may run more than once
	}
	for queue, attempts := range c.did.rows {
		kept, err := c.judged(ctx, q, queue, attempts)
		if err != nil {
			return err
		}
		c.did.claimed = append(c.did.claimed, kept...)
	}
	return nil
}

// commit runs the cycle as one transaction.
func (c *cycle) commit(ctx context.Context) error {
	began, x := time.Now(), c.exchange()
	err := c.env.store.Exchange(ctx, x)
	c.did.took = time.Since(began)
	if !x.Alone {
		c.did.held = 0
	}
	if err != nil {
		return err
	}
	for _, fn := range c.did.committed {
		fn()
	}
	return nil
}

// reset clears the results of an earlier run of the functions.
func (c *cycle) reset() {
	c.did = outcome{
		began: time.Now(), now: c.env.store.Now(), left: lifecycle.NewTransitions(), rows: make(map[string][]*Attempt, len(c.plan.wants)),
		more: map[string]bool{}, short: map[string]bool{}, returned: map[string]bool{},
	}
}

// claimFrom claims up to n jobs of a queue: none while a scheduled job is due before noneDueBefore, unless that is 0.
func (c *cycle) claimFrom(ctx context.Context, q db.Querier, queue string, n int64, noneDueBefore int64) ([]*Attempt, error) {
	worker, lease := c.completer.presence.workerID(), c.did.now.Add(c.env.config.Lease)
	rows, committed, err := c.claimRows(ctx, q, db.ClaimJobsParams{
		WorkerID: worker, LeaseUntil: core.Micros(lease), Now: core.Micros(c.did.now), Kinds: c.env.kinds, Queue: queue, N: n,
		NoneDueBefore: noneDueBefore,
	})
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	if committed != nil {
		c.did.committed = append(c.did.committed, committed)
	}
	c.did.more[queue] = int64(len(rows)) == n
	c.did.short[queue] = len(rows) > 0 || len(c.plan.ended) > 0
	claimed := make([]*Attempt, len(rows))
	for i, row := range rows {
		claimed[i] = newAttempt(c.env, &c.completer.ledger.mu, jobrow.Claimed(row, queue, worker, c.did.now, lease))
	}
	return claimed, nil
}

// claimRows runs the statement of a claim.
func (c *cycle) claimRows(ctx context.Context, q db.Querier, arg db.ClaimJobsParams) (rows []db.ClaimJobsRow, committed func(), err error) {
	if c.plan.listed == nil {
		return c.env.store.Claims().ClaimJobs(ctx, q, arg)
	}
	listed, err := q.ClaimListedJobs(ctx, db.ClaimListedJobsParams{
		WorkerID: arg.WorkerID, LeaseUntil: arg.LeaseUntil, Now: arg.Now, Queue: arg.Queue, Ids: core.JSONIDs(c.plan.listed),
	})
	for _, row := range listed {
		rows = append(rows, db.ClaimJobsRow(row))
	}
	return rows, nil, err
}

// signals returns the signals that the cycle sends to others.
func (c *cycle) signals() core.Signal {
	var signals core.Signal
	if len(c.did.returned) > 0 || c.did.left.Released() > 0 {
		signals |= core.WorkReady
	}
	for _, a := range c.plan.ended {
		switch a.end.Fate {
		case lifecycle.FateDone, lifecycle.FateCancel:
			signals |= core.JobEnded
		default:
			signals |= core.WorkReady | core.JobEnded // a cancel request of the job decides which of them is right
		}
	}
	return signals
}
