package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
)

const (
	// asideMost is how many ends the database may refuse before the runner claims no more: what it runs cannot be recorded.
	asideMost = 1000

	// cleanEvery is how often, at most, what is known of refused jobs that have gone on is removed.
	cleanEvery = 10 * time.Second

	// conflictsMost is how many jobs are tried again, at most, when attempts have ended that may have had their keys.
	conflictsMost = 10
)

// apart is the part of a producer that works after the database has refused a job, as for an application's own index or trigger. Promotions
// and claims then go by lists of jobs without those that are set aside, and in smaller parts when a list is refused.
type apart struct {
	*producer

	on       bool
	conflict bool      // some wait for the keys of others
	triedAll bool      // a drain has tried those that are set aside, and claimed none since
	cleaned  time.Time // when old refusals were removed
}

// refusedBefore reports whether the end of one of the attempts was set aside before.
func refusedBefore(ended []*Attempt) bool {
	return slices.ContainsFunc(ended, func(a *Attempt) bool { return a.refused.times > 0 })
}

// commit does the work of a cycle in several transactions: it records the ends, promotes what is due and claims. refused is the
// error of the cycle, nil when it was not tried. It returns what must be tried again after an error.
func (p *apart) commit(ctx context.Context, c *cycle, refused error) (rest *cycle, err error) {
	ended := len(c.ended)
	if err := p.recordEnds(ctx, c); err != nil {
		return c, err
	}
	if ended > 0 && p.conflict {
		p.lookEverywhere()
		if err := p.retry(ctx, func(ctx context.Context, q db.Querier, now int64) error {
			_, err := q.RetryConflicts(ctx, db.RetryConflictsParams{Now: now, N: int64(min(ended, conflictsMost))})
			return err
		}); err != nil {
			return c, err
		}
	}
	if c.ended = nil; !c.promotes() {
		p.lookEverywhere()
		return c, nil
	}
	if refused != nil && !p.on {
		p.notes.Tell("cycle", "one of many", refused)
		p.on = true
	}
	if !p.on {
		p.lookEverywhere()
		return c, nil // an end alone was refused before
	}
	promoted, err := p.promote(ctx)
	claimed := 0
	for queue, n := range c.wants {
		if err != nil {
			return c, err
		}
		var some int
		some, err = p.claim(ctx, queue, n)
		claimed += some
	}
	if err != nil {
		return c, err
	}
	return c, p.finish(ctx, promoted+claimed > 0)
}

// recordEnds records the ends of a cycle. Those that are refused are set aside, and c keeps those that must be tried again.
func (p *apart) recordEnds(ctx context.Context, c *cycle) error {
	var old, again []*Attempt
	for _, a := range c.ended {
		if a.refused.times > 0 {
			old = append(old, a)
		} else {
			again = append(again, a)
		}
	}
	var err error
	if len(again) > 0 {
		err = p.commitOne(ctx, &cycle{completer: p.completer, executor: p.executor, steps: p.steps, ended: again, due: p.next})
		switch {
		case err == nil:
			again = nil
		case p.store.RefusesRow(err) || lifecycle.IsLocked(p.store, err):
			again, err = p.completer.recordApart(again, ctx.Err() != nil)
		}
	}
	left, failed := p.recordOld(old, ctx.Err() != nil, len(again) == 0)
	again, err = append(again, left...), cmp.Or(err, failed)
	c.ended = again
	return err
}

// recordOld records ends that could not be recorded before. A run that stops waits for their locks when no other ends can come.
func (p *apart) recordOld(old []*Attempt, stopping, alone bool) (again []*Attempt, err error) {
	if len(old) == 0 || !stopping || !alone || !p.handlersEnded() {
		return p.completer.recordApart(old, stopping)
	}
	switch err := p.completer.recordTogether(p.writing, old); {
	case err == nil:
		return nil, nil
	case p.store.RefusesRow(err) || lifecycle.IsLocked(p.store, err):
		return p.completer.recordApart(old, stopping)
	default:
		return old, err
	}
}

// promote makes due jobs pending that are not set aside.
func (p *apart) promote(ctx context.Context) (promoted int, err error) {
	var ids []int64
	now := core.Micros(p.store.Now())
	err = p.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ids, err = q.ListDueJobIDs(ctx, db.ListDueJobIDsParams{Now: now, N: promoteMost})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("list due jobs: %w", err)
	}
	p.behind = len(ids) == promoteMost
	err = refusal.Apart(ids, p.store.RefusesRow, func(part []int64) error {
		var n int64
		err := p.store.Write(p.writing, func(ctx context.Context, q db.Querier) (err error) {
			n, err = q.PromoteListedJobs(ctx, db.PromoteListedJobsParams{Now: now, Ids: core.JSONIDs(part)})
			return err
		})
		promoted += int(n)
		return err
	}, p.asideFor(ctx, refusal.Promote))
	if err != nil {
		return promoted, fmt.Errorf("promote due jobs: %w", err)
	}
	if promoted > 0 {
		p.lookEverywhere()
	}
	return promoted, nil
}

// claim claims up to n jobs of a queue that are not set aside, and starts them.
func (p *apart) claim(ctx context.Context, queue string, n int64) (claimed int, err error) {
	var ids []int64
	err = p.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ids, err = q.ListClaimableJobIDs(ctx, db.ListClaimableJobIDsParams{
			Kinds: p.kinds, Queue: queue, Now: core.Micros(p.store.Now()), N: n,
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("list claimable jobs: %w", err)
	}
	err = refusal.Apart(ids, p.store.RefusesRow, func(part []int64) error {
		p.mu.Lock()
		free := p.queues[queue].free()
		p.mu.Unlock()
		c := &cycle{
			completer: p.completer, executor: p.executor, steps: p.steps, due: p.next, only: part,
			wants: map[string]int64{queue: int64(len(part))}, slots: map[string]int64{queue: int64(free)},
		}
		err := p.commitOne(ctx, c)
		claimed += len(c.claimed)
		return err
	}, p.asideFor(ctx, refusal.Claim))
	if err != nil {
		return claimed, err
	}
	p.claimable[queue] = int64(len(ids)) == n
	return claimed, nil
}

// asideFor returns a function that sets a job aside, whose promotion or claim was refused.
func (p *apart) asideFor(ctx context.Context, action refusal.Action) func(int64, error) error {
	return func(id int64, err error) error {
		action := action // the next job's may be another
		if p.store.KeyTaken(err) {
			action = refusal.Conflict
		}
		return p.notes.Aside(p.writing, p.store.Write, p.store.Now(), action, id, err)
	}
}

// finish decides when the producer looks again, and whether it still has to leave out jobs that are set aside.
func (p *apart) finish(ctx context.Context, moved bool) error {
	var rows []db.CountRefusalsRow
	var next int64
	err := p.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		if rows, err = q.CountRefusals(ctx); err == nil {
			next, err = p.steps.next(ctx, q)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("count jobs that are set aside: %w", err)
	}
	now, on, old := p.store.Now(), false, false
	p.conflict = false
	soonest := core.Time(next)
	if !soonest.After(now) {
		soonest = time.Time{} // it is set aside itself
	}
	for _, row := range rows {
		p.conflict = p.conflict || row.Action == string(refusal.Conflict)
		if slices.Contains(keptFromRunning(), refusal.Action(row.Action)) {
			again := core.Time(row.AgainAt)
			on, old = true, old || again.Before(now)
			if again.Before(now) {
				again = now.Add(lookLast) // another queue's, or it has gone on
			}
			soonest = core.Earlier(soonest, again)
		}
	}
	p.on, p.next = on, core.Time(next)
	if p.misses++; moved {
		p.misses = 0
	}
	p.alarm.Set(p.nextLook(soonest))
	if !old || now.Sub(p.cleaned) < cleanEvery {
		return nil
	}
	p.cleaned = now
	return p.store.Write(p.writing, func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteOldRefusals(ctx)
		return err
	})
}

// tryAll makes a drain that has nothing else left try all jobs that are set aside, once more after each claim. It returns false when
// it has done so.
func (p *apart) tryAll(ctx context.Context) bool {
	if !p.on || p.triedAll {
		return false
	}
	p.triedAll = true
	var n int64
	err := p.retry(ctx, func(ctx context.Context, q db.Querier, now int64) error {
		n = 0
		for _, action := range keptFromRunning() {
			some, err := q.RetryRefusals(ctx, db.RetryRefusalsParams{Action: string(action), Now: now})
			if n += some; err != nil {
				return err
			}
		}
		return nil
	})
	p.lookEverywhere()
	return err == nil && n > 0
}

// keptFromRunning returns the actions without which a job does not run.
func keptFromRunning() []refusal.Action {
	return []refusal.Action{refusal.Promote, refusal.Claim, refusal.Conflict}
}

// retry runs a function that makes jobs that are set aside be tried now.
func (p *apart) retry(ctx context.Context, fn func(ctx context.Context, q db.Querier, now int64) error) error {
	err := p.store.Write(p.writing, func(ctx context.Context, q db.Querier) error {
		return fn(ctx, q, core.Micros(p.store.Now()))
	})
	if err != nil {
		return fmt.Errorf("try jobs again that are set aside: %w", err)
	}
	return nil
}
