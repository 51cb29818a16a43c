package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/refusal"
)

const (
	// refusedMost is the number of refused ends from which the runner claims no more jobs: their ends could not be recorded either.
	refusedMost = 1000

	// cleanEvery is the shortest time between two removals of notes on refused jobs that have gone on.
	cleanEvery = 10 * time.Second

	// conflictsMost is the largest number of jobs that are tried again when attempts have ended that may have had their keys.
	conflictsMost = 10
)

// refusals splits plans after the database has refused a job, for example by an application's index or trigger. Promotions and claims
// then use lists of jobs without the refused ones, and in smaller parts when a list is refused.
type refusals struct {
	loop *loop

	listing  bool      // promotions and claims use lists
	conflict bool      // some jobs wait for the keys of others
	triedAll bool      // a drain has tried the refused jobs, and claimed none since
	cleaned  time.Time // the time of the last removal of old notes
}

// refusedBefore reports whether the end of one of the attempts was refused before.
func refusedBefore(ended []*Attempt) bool {
	return slices.ContainsFunc(ended, func(a *Attempt) bool { return a.refused.times > 0 })
}

// commit carries out a plan in several transactions: it records the ends, promotes due jobs and claims. refused is the error of the
// plan's one transaction, nil when it was not tried. It returns the ends that must be tried again after an error.
func (r *refusals) commit(ctx context.Context, p plan, refused error) (again []*Attempt, err error) {
	l, ended := r.loop, len(p.ended)
	if again, err = r.recordEnds(ctx, p.ended); err != nil {
		return again, err
	}
	if ended > 0 && r.conflict {
		l.lookEverywhere()
		if err := r.retry(ctx, func(ctx context.Context, q db.Querier, now int64) error {
			_, err := q.RetryConflicts(ctx, db.RetryConflictsParams{Now: now, N: int64(min(ended, conflictsMost))})
			return err
		}); err != nil {
			return nil, err
		}
	}
	claims := p.promotes(l.env.store.Now())
	if claims && refused != nil && !r.listing {
		l.env.notes.Report("cycle", "one of many", refused)
		r.listing = true
	}
	if !claims || !r.listing { // or only an end was refused before
		l.lookEverywhere()
		return nil, nil
	}
	moved, err := r.promote(ctx)
	for queue, n := range p.wants {
		if err != nil {
			return nil, err
		}
		var claimed int
		claimed, err = r.claim(ctx, queue, n)
		moved += claimed
	}
	if err != nil {
		return nil, err
	}
	return nil, r.finish(ctx, moved > 0)
}

// recordEnds records ends and postpones refused ones. It returns the ends that must be tried again.
func (r *refusals) recordEnds(ctx context.Context, ended []*Attempt) (again []*Attempt, err error) {
	l, stopping := r.loop, ctx.Err() != nil
	var old []*Attempt
	for _, a := range ended {
		if a.refused.times > 0 {
			old = append(old, a)
		} else {
			again = append(again, a)
		}
	}
	if len(again) > 0 {
		_, err = l.commitOne(ctx, plan{ended: again, due: l.next})
		switch {
		case err == nil:
			again = nil
		case l.completer.mustSplit(err):
			again, err = l.completer.recordSplit(again, stopping)
		}
	}
	left, failed := r.recordOld(old, stopping, len(again) == 0)
	return append(again, left...), cmp.Or(err, failed)
}

// recordOld records ends that could not be recorded before. A stopping run waits for their locks when no other ends can come.
func (r *refusals) recordOld(old []*Attempt, stopping, alone bool) (again []*Attempt, err error) {
	l := r.loop
	if len(old) == 0 || !stopping || !alone || !l.ledger.handlersEnded() {
		return l.completer.recordSplit(old, stopping)
	}
	switch err := l.completer.recordTogether(l.env.writing, old); {
	case err == nil:
		return nil, nil
	case l.completer.mustSplit(err):
		return l.completer.recordSplit(old, stopping)
	default:
		return old, err
	}
}

// promote makes due jobs pending, except refused ones.
func (r *refusals) promote(ctx context.Context) (promoted int, err error) {
	l, store := r.loop, r.loop.env.store
	var ids []int64
	now := core.Micros(store.Now())
	err = store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ids, err = q.ListDueJobIDs(ctx, db.ListDueJobIDsParams{Now: now, N: promoteMost})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("list due jobs: %w", err)
	}
	l.behind = len(ids) == promoteMost
	err = refusal.Split(ids, store.RefusesRow, func(part []int64) error {
		var n int64
		err := store.Write(l.env.writing, func(ctx context.Context, q db.Querier) (err error) {
			n, err = q.PromoteListedJobs(ctx, db.PromoteListedJobsParams{Now: now, Ids: core.JSONIDs(part)})
			return err
		})
		promoted += int(n)
		return err
	}, r.note(refusal.Promote))
	if err != nil {
		return promoted, fmt.Errorf("promote due jobs: %w", err)
	}
	if promoted > 0 {
		l.lookEverywhere()
	}
	return promoted, nil
}

// claim claims up to n jobs of a queue, except refused ones, and starts them.
func (r *refusals) claim(ctx context.Context, queue string, n int64) (claimed int, err error) {
	l, store := r.loop, r.loop.env.store
	var ids []int64
	err = store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ids, err = q.ListClaimableJobIDs(ctx, db.ListClaimableJobIDsParams{
			Kinds: l.env.kinds, Queue: queue, Now: core.Micros(store.Now()), N: n,
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("list claimable jobs: %w", err)
	}
	err = refusal.Split(ids, store.RefusesRow, func(part []int64) error {
		did, err := l.commitOne(ctx, plan{
			due: l.next, listed: part,
			wants: map[string]int64{queue: int64(len(part))}, slots: map[string]int64{queue: int64(l.slots.free(queue))},
		})
		claimed += len(did.claimed)
		return err
	}, r.note(refusal.Claim))
	if err != nil {
		return claimed, err
	}
	l.claimable[queue] = int64(len(ids)) == n
	return claimed, nil
}

// note returns a function that records a refusal of a job's promotion or claim.
func (r *refusals) note(action refusal.Action) func(int64, error) error {
	env := r.loop.env
	return func(id int64, err error) error {
		action := action // each job may have a different action
		if env.store.KeyTaken(err) {
			action = refusal.Conflict
		}
		return env.notes.Postpone(env.writing, env.store.Write, env.store.Now(), action, id, err)
	}
}

// finish decides when the loop looks again, and whether it must still leave out refused jobs.
func (r *refusals) finish(ctx context.Context, moved bool) error {
	l, store := r.loop, r.loop.env.store
	var rows []db.CountRefusalsRow
	var next int64
	err := store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		if rows, err = q.CountRefusals(ctx); err == nil {
			next, err = l.completer.steps.next(ctx, q)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("count refused jobs: %w", err)
	}
	now, old := store.Now(), false
	r.conflict, r.listing, l.next = false, false, core.Time(next)
	soonest := l.next
	if !soonest.After(now) {
		soonest = time.Time{} // the next scheduled job itself was refused
	}
	for _, row := range rows {
		r.conflict = r.conflict || row.Action == string(refusal.Conflict)
		if slices.Contains(keptFromRunning(), refusal.Action(row.Action)) {
			again := core.Time(row.AgainAt)
			r.listing = true
			if again.Before(now) {
				old, again = true, now.Add(lookLast) // it belongs to another queue, or has gone on
			}
			soonest = core.Earlier(soonest, again)
		}
	}
	if l.misses++; moved {
		l.misses = 0
	}
	l.alarm.Set(l.nextLook(soonest))
	if !old || now.Sub(r.cleaned) < cleanEvery {
		return nil
	}
	r.cleaned = now
	return store.Write(l.env.writing, func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteOldRefusals(ctx)
		return err
	})
}

// tryAll makes a drain without other work try all refused jobs, once after each claim. It returns false when it has done so already.
func (r *refusals) tryAll(ctx context.Context) bool {
	if !r.listing || r.triedAll {
		return false
	}
	r.triedAll = true
	var n int64
	err := r.retry(ctx, func(ctx context.Context, q db.Querier, now int64) error {
		n = 0
		for _, action := range keptFromRunning() {
			some, err := q.RetryRefusals(ctx, db.RetryRefusalsParams{Action: string(action), Now: now})
			if n += some; err != nil {
				return err
			}
		}
		return nil
	})
	r.loop.lookEverywhere()
	return err == nil && n > 0
}

// keptFromRunning returns the actions whose refusal keeps a job from running.
func keptFromRunning() []refusal.Action {
	return []refusal.Action{refusal.Promote, refusal.Claim, refusal.Conflict}
}

// retry runs a function after which refused jobs are tried at once.
func (r *refusals) retry(ctx context.Context, fn func(ctx context.Context, q db.Querier, now int64) error) error {
	env := r.loop.env
	err := env.store.Write(env.writing, func(ctx context.Context, q db.Querier) error {
		return fn(ctx, q, core.Micros(env.store.Now()))
	})
	if err != nil {
		return fmt.Errorf("try refused jobs again: %w", err)
	}
	return nil
}
