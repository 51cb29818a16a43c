package runner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
)

// committer commits plans. Only the loop's goroutine uses it.
type committer struct {
	env       *env
	ledger    *ledger
	presence  *presence
	completer *completer
	steps     steps
	rows      claimBuffers
}

// claimBuffers keeps the memory of a cycle's claimed rows for the next cycle.
type claimBuffers [][]db.ClaimJobsRow

// get returns the buffer for a claim, or nil.
func (b claimBuffers) get(claim int) []db.ClaimJobsRow {
	if claim < len(b) {
		return b[claim]
	}
	return nil
}

// keep takes the rows of a cycle, which nothing uses any more.
func (b *claimBuffers) keep(rows [][]db.ClaimJobsRow) {
	for _, list := range rows {
		clear(list)
	}
	if len(rows) > 0 {
		*b = rows
	}
}

// runCycle carries out a plan in one transaction.
func (c *committer) runCycle(ctx context.Context, p plan) (*cycle, error) {
	y := &cycle{committer: c, turn: turn{plan: p}, worker: c.presence.workerID()}
	began := time.Now()
	err := y.exchange(ctx)
	y.turn.took = time.Since(began)
	return y, err
}

// recordTogether writes ends in one transaction, and reports them.
func (c *committer) recordTogether(ctx context.Context, ended []*Attempt) error {
	y, err := c.runCycle(ctx, plan{ended: ended})
	if err != nil {
		return err
	}
	c.completer.recorded(&y.turn)
	c.env.store.Announce(y.turn.made.Signals())
	return nil
}

// cycle carries out one plan.
type cycle struct {
	committer *committer
	turn      turn
	worker    int64
	queues    []string    // the queue of each claim
	further   [][]Claimed // the claimed jobs of further sources
	groups    []lifecycle.Group
	others    []*lifecycle.End // the ends without a group
}

// exchange has the engine carry out the plan.
func (c *cycle) exchange(ctx context.Context) error {
	if err := c.group(); err != nil {
		return err
	}
	store := c.committer.env.store
	p := c.enginePlan(store.Now())
	out, err := store.Exchange(ctx, p)
	if err != nil {
		return err
	}
	defer c.committer.rows.keep(out.Claimed)
	if p.Simple {
		err = c.reviewSimple(ctx, &out)
	}
	if c.turn.promoted, c.turn.held = out.Promoted+c.turn.waiting, out.Held; out.Due {
		c.turn.promote = p.Promote.N
	}
	c.turn.looked, c.turn.next = out.Looked, out.Next
	return err
}

// group splits the ends into groups and others, and encrypts the results of the groups: the plan has them as text.
func (c *cycle) group() error {
	if len(c.turn.plan.ended) == 0 {
		return nil
	}
	c.groups, c.others = lifecycle.Plain(c.ends(c.turn.plan.ended))
	for _, g := range c.groups {
		if err := lifecycle.Encrypt(g.Ends); err != nil {
			return err
		}
	}
	return nil
}

// ends returns the ends of attempts.
func (c *cycle) ends(ended []*Attempt) []*lifecycle.End {
	list := make([]*lifecycle.End, len(ended))
	for i, a := range ended {
		a.end.Drop = a.handler.Drop && !a.refused.drop
		if !a.unfit {
			a.end.Cipher = c.committer.env.cipher
		}
		if list[i] = &a.end; a.end.Apart {
			c.committer.ledger.do(func() { a.end.Completed = a.completed })
		}
	}
	return list
}

// enginePlan returns the plan as the engine takes it.
func (c *cycle) enginePlan(now time.Time) engine.Plan {
	p := &c.turn.plan
	x := engine.Plan{Clock: c.committer.env.store.Now, Claimer: c.claimer(), Simple: p.simple}
	if x.Promote.IDs = p.promoteIDs; !p.isListed() && p.promotes(now) {
		x.Look, x.Promote.N = true, p.promotion()
		if !p.due.IsZero() {
			x.Promote.Due = core.Micros(p.due)
		}
	}
	for queue := range p.wants {
		if n := p.pendingShare(queue); n > 0 {
			c.queues = append(c.queues, queue)
			x.Claims = append(x.Claims, engine.QueueClaim{
				Queue: queue, N: n, IDs: p.claimIDs, Ahead: p.wants[queue] > p.slots[queue], Rows: c.committer.rows.get(len(x.Claims)),
			})
		}
	}
	for _, f := range p.further {
		c.queues = append(c.queues, f.Queue)
	}
	if p.simple {
		return x
	}
	x.Before, x.After = c.before, c.after
	for _, g := range c.groups {
		x.Done = append(x.Done, g.Complete())
	}
	for _, e := range c.others {
		x.Returns = x.Returns || e.Fate.Returns()
	}
	return x
}

// before begins a run of the transaction, records the ends without a group, and claims from further sources. Jobs with a limit key become
// waiting before that, and so does the lock on the keys of all these jobs come in one order.
func (c *cycle) before(ctx context.Context, q db.Querier, now time.Time) (err error) {
	c.turn.reset(now)
	if err := c.limit(ctx, q); err != nil {
		return err
	}
	if len(c.others) > 0 {
		if err = lifecycle.Hide(ctx, q, c.others); err == nil {
			c.turn.lost, err = lifecycle.Finish(ctx, c.committer.env.store, q, now, c.others, c.turn.made)
		}
		if err != nil {
			return fmt.Errorf("record ends of attempts: %w", err)
		}
	}
	if err := c.turn.made.ReactEarly(ctx, q, core.Micros(now)); err != nil {
		return fmt.Errorf("open lanes: %w", err)
	}
	for queue := range c.turn.plan.direct {
		c.turn.returned[queue] = true
	}
	c.further = make([][]Claimed, len(c.turn.plan.further))
	if c.turn.due >= promoteMost {
		return nil // more are due, perhaps better ones
	}
	for i, f := range c.turn.plan.further {
		f.Queues = c.queues[len(c.queues)-len(c.turn.plan.further):]
		rows, err := f.source.Claim(ctx, q, c.claimer(), f.QueueClaim, now)
		if err != nil {
			return fmt.Errorf("claim jobs: %w", err)
		}
		c.further[i] = rows
	}
	return nil
}

// limit makes due jobs with limit keys waiting, and pending ones that a limit of their whole kind or queue holds.
func (c *cycle) limit(ctx context.Context, q db.Querier) (err error) {
	t := &c.turn
	if t.plan.limitedIDs != nil {
		t.waiting, err = lifecycle.PromoteListedLimited(ctx, q, t.now, t.plan.limitedIDs, t.made)
		return err
	}
	if t.plan.limited {
		if t.due, err = lifecycle.PromoteLimited(ctx, q, t.now, promoteMost, t.made); err != nil {
			return err
		}
		t.waiting = t.due
	}
	if !t.plan.whole {
		return nil
	}
	queues := core.JSONNames(slices.Collect(maps.Keys(t.plan.wants)))
	n, err := lifecycle.Adopt(ctx, q, t.now, queues, c.committer.env.kinds, promoteMost, t.made)
	t.waiting += n
	return err
}

func (c *cycle) claimer() engine.Claimer {
	return engine.Claimer{WorkerID: c.worker, Lease: c.committer.env.config.Lease, Kinds: c.committer.env.kinds}
}

// after counts the ends, and keeps the claimed jobs that must run now.
func (c *cycle) after(ctx context.Context, q db.Querier, out *engine.Outcome) error {
	lost, err := lifecycle.Settle(ctx, q, out.Now, c.groups, out.Done, c.turn.made)
	if err != nil {
		return fmt.Errorf("record ends of attempts: %w", err)
	}
	c.turn.lost = append(c.turn.lost, lost...)
	if err := c.reviewClaimed(ctx, q, c.claimedAttempts(out)); err != nil {
		return err
	}
	out.Changes, err = c.turn.made.Changes(ctx, q, core.Micros(out.Now))
	return err
}

// claimedAttempts returns the Attempts of the jobs of each claim.
func (c *cycle) claimedAttempts(out *engine.Outcome) [][]*Attempt {
	env, t := c.committer.env, &c.turn
	n := len(out.Claimed) + len(c.further)
	lists, claimed := make([][]*Attempt, n), make(map[string]int64, n)
	attempts := func(i, n int, row func(j int) (db.ClaimJobsRow, *string)) {
		queue := c.queues[i]
		claimed[queue] += int64(n)
		t.more[queue] = claimed[queue] == t.plan.wants[queue]
		t.short[queue] = claimed[queue] > 0 || len(t.plan.ended) > 0
		lists[i] = make([]*Attempt, n)
		for j := range n {
			row, limitKey := row(j)
			job := jobrow.Claimed(row, queue, c.worker, out.Now, out.Now.Add(env.config.Lease))
			job.LimitKey = limitKey
			lists[i][j] = newAttempt(env, job)
		}
	}
	for i, rows := range out.Claimed {
		attempts(i, len(rows), func(j int) (db.ClaimJobsRow, *string) { return rows[j], nil })
	}
	for i, list := range c.further {
		attempts(len(out.Claimed)+i, len(list), func(j int) (db.ClaimJobsRow, *string) { return list[j].Row, list[j].LimitKey })
	}
	return lists
}

// reviewClaimed keeps the claimed jobs that all steps let run.
func (c *cycle) reviewClaimed(ctx context.Context, q db.Querier, lists [][]*Attempt) error {
	for i, claimed := range lists {
		kept, err := c.committer.steps.review(ctx, q, &c.turn, c.queues[i], claimed)
		if err != nil {
			return err
		}
		c.turn.claimed = append(c.turn.claimed, kept...)
	}
	return nil
}

// reviewSimple does so for a simple plan, whose claim is committed. The transaction for it may run more than once.
func (c *cycle) reviewSimple(ctx context.Context, out *engine.Outcome) error {
	c.turn.reset(out.Now)
	lists := c.claimedAttempts(out)
	for _, claimed := range lists {
		if !c.committer.steps.keepAll(claimed) {
			more, short := c.turn.more, c.turn.short
			return c.committer.env.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
				c.turn.reset(out.Now)
				c.turn.more, c.turn.short = more, short
				if err := c.reviewClaimed(ctx, q, lists); err != nil {
					return err
				}
				return c.turn.made.Conclude(ctx, q, core.Micros(out.Now))
			})
		}
		c.turn.claimed = append(c.turn.claimed, claimed...)
	}
	return nil
}
