package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/refusal"
)

const (
	// refusedMost is the number of refused ends from which the runner claims no more jobs: their ends could not be recorded either.
	refusedMost = 1000

	// cleanEvery is the shortest time between two removals of refusals of jobs that have changed since.
	cleanEvery = 10 * time.Second

	// conflictsMost is the largest number of jobs that are tried again when attempts have ended that may have had their keys.
	conflictsMost = 10
)

// refusals splits plans after the database has refused a job, for example by an application's index or trigger. Promotions and claims
// then use lists of jobs without the refused ones, and in smaller parts when a list is refused.
type refusals struct {
	env       *env
	ledger    *ledger
	slots     *slots
	committer *committer
	commitOne func(context.Context, plan) (*turn, error) // commits a plan in one transaction, and applies its results to the loop

	listing  bool      // promotions and claims use lists
	conflict bool      // some jobs wait for the keys of others
	triedAll bool      // a drain has tried the refused jobs, and claimed none since
	cleaned  time.Time // the time of the last removal of old notes
}

// afterSplit holds the results of a plan that was split.
type afterSplit struct {
	retried bool            // jobs of any queue may be claimable again
	listed  bool            // promotions and claims used lists; the fields below are set
	moved   bool            // jobs were promoted or claimed
	behind  bool            // more jobs are due than were promoted
	more    map[string]bool // the queues that were claimed from, and whether another claim may find something
	next    time.Time       // when the first scheduled job falls due
	read    engine.Next     // what the look for it has read
	again   time.Time       // when the next try of a scheduled or refused job is due
}

// refusedBefore reports whether the end of one of the attempts was refused before.
func refusedBefore(ended []*Attempt) bool {
	return slices.ContainsFunc(ended, func(a *Attempt) bool { return a.refused.times > 0 })
}

// commitInParts carries out a plan in several transactions: it records the ends, promotes due jobs and claims. refused is the error of the
// plan's one transaction, nil when it was not tried. It returns the ends that must be tried again after an error.
func (r *refusals) commitInParts(ctx context.Context, p plan, refused error) (did afterSplit, again []*Attempt, err error) {
	ended := len(p.ended)
	if again, err = r.recordEnds(ctx, p); err != nil {
		return did, again, err
	}
	if did.retried = ended > 0 && r.conflict; did.retried {
		if err := r.retry(ctx, func(ctx context.Context, q db.Querier, now int64) error {
			_, err := q.RetryConflicts(ctx, db.RetryConflictsParams{Now: now, N: int64(min(ended, conflictsMost))})
			return err
		}); err != nil {
			return did, nil, err
		}
	}
	claims := p.promotes(r.env.store.Now())
	if claims && refused != nil && !r.listing {
		r.env.notes.Report("cycle", "one of many", refused)
		r.listing = true
	}
	if !claims || !r.listing { // or only an end was refused before
		did.retried = true
		return did, nil, nil
	}
	did.more = map[string]bool{}
	moved, err := r.moveListed(ctx, p, &did)
	if err != nil {
		return did, nil, err
	}
	did.listed, did.moved = true, moved > 0
	return did, nil, r.planNextTry(ctx, &did)
}

// moveListed promotes due jobs and claims, by lists where a refused job would stop the others. It returns the number of these jobs.
func (r *refusals) moveListed(ctx context.Context, p plan, did *afterSplit) (moved int, err error) {
	if moved, err = r.promoteListed(ctx, did); err != nil {
		return moved, err
	}
	limited, err := r.promoteLimited(ctx, p, did)
	if moved += limited; err != nil {
		return moved, err
	}
	for queue := range p.wants {
		n := p.pendingShare(queue)
		if n == 0 {
			continue
		}
		claimed, err := r.claimListed(ctx, p, did, queue, n)
		if moved += claimed; err != nil {
			return moved, err
		}
	}
	for _, f := range p.further {
		claimed, err := r.claimFurther(ctx, p, did, f)
		if moved += claimed; err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// recordEnds records ends and postpones refused ones. It returns the ends that must be tried again.
func (r *refusals) recordEnds(ctx context.Context, p plan) (again []*Attempt, err error) {
	stopping := ctx.Err() != nil
	var old []*Attempt
	for _, a := range p.ended {
		if a.refused.times > 0 {
			old = append(old, a)
		} else {
			again = append(again, a)
		}
	}
	if len(again) > 0 {
		_, err = r.commitOne(ctx, plan{ended: again, due: p.due})
		switch {
		case err == nil:
			again = nil
		case r.committer.mustSplit(err):
			again, err = r.committer.recordSplit(again, stopping)
		}
	}
	left, failed := r.recordOld(old, stopping, len(again) == 0)
	return append(again, left...), cmp.Or(err, failed)
}

// recordOld records ends that could not be recorded before. A stopping run waits for their locks when no other ends can come.
func (r *refusals) recordOld(old []*Attempt, stopping, alone bool) (again []*Attempt, err error) {
	if len(old) == 0 || !stopping || !alone || !r.ledger.handlersEnded() {
		return r.committer.recordSplit(old, stopping)
	}
	switch err := r.committer.recordTogether(r.env.writing, old); {
	case err == nil:
		return nil, nil
	case r.committer.mustSplit(err):
		return r.committer.recordSplit(old, stopping)
	default:
		return old, err
	}
}

// promoteListed makes due jobs pending, except refused ones.
func (r *refusals) promoteListed(ctx context.Context, did *afterSplit) (promoted int, err error) {
	store := r.env.store
	ids, err := core.Value(ctx, store.Read, func(ctx context.Context, q db.Querier) ([]int64, error) {
		return q.ListDueJobIDs(ctx, db.ListDueJobIDsParams{Now: core.Micros(store.Now()), N: promoteMost})
	})
	if err != nil {
		return 0, fmt.Errorf("list due jobs: %w", err)
	}
	did.behind = len(ids) == promoteMost
	return r.inParts(ctx, ids, refusal.Promote, func(part []int64) plan { return plan{promoteIDs: part} })
}

// promoteLimited makes due jobs with limit keys waiting, except refused ones, and the pending ones of limited kinds and queues.
func (r *refusals) promoteLimited(ctx context.Context, p plan, did *afterSplit) (promoted int, err error) {
	store := r.env.store
	if p.limited {
		ids, err := core.Value(ctx, store.Read, func(ctx context.Context, q db.Querier) ([]int64, error) {
			return q.ListDueLimitedJobIDs(ctx, db.ListDueLimitedJobIDsParams{Now: core.Micros(store.Now()), N: promoteMost})
		})
		if err != nil {
			return 0, fmt.Errorf("list due jobs with limit keys: %w", err)
		}
		did.behind = did.behind || len(ids) == promoteMost
		promoted, err = r.inParts(ctx, ids, refusal.Promote, func(part []int64) plan { return plan{limitedIDs: part} })
		if err != nil {
			return promoted, err
		}
	}
	if p.whole {
		queues := maps.Clone(p.wants)
		for queue := range queues {
			queues[queue] = 0
		}
		t, err := r.commitOne(ctx, plan{whole: true, wants: queues, claimIDs: []int64{}})
		switch {
		case err == nil:
			promoted += int(t.promoted)
		case r.env.store.RefusesRow(err):
			r.env.notes.Report("limit", "one of many", err) // the jobs stay pending, and no claim takes them
		default:
			return promoted, err
		}
	}
	return promoted, nil
}

// claimListed claims up to n jobs of a queue, except refused ones, and starts them.
func (r *refusals) claimListed(ctx context.Context, p plan, did *afterSplit, queue string, n int64) (claimed int, err error) {
	store := r.env.store
	rows, err := core.Value(ctx, store.Read, func(ctx context.Context, q db.Querier) ([]db.PeekJobsRow, error) {
		return q.PeekJobs(ctx, db.PeekJobsParams{Kinds: r.env.kinds, Queue: queue, Now: core.Micros(store.Now()), N: n})
	})
	if err != nil {
		return 0, fmt.Errorf("list claimable jobs: %w", err)
	}
	ids := core.Map(rows, func(row db.PeekJobsRow) int64 { return row.ID })
	claimed, err = r.inParts(ctx, ids, refusal.Claim, func(part []int64) plan {
		return plan{
			claimIDs: part, due: p.due,
			wants: map[string]int64{queue: int64(len(part))}, slots: map[string]int64{queue: int64(r.slots.freeOf(queue))},
		}
	})
	did.more[queue] = int64(len(ids)) == n
	return claimed, err
}

// claimFurther claims from a further source, and starts the jobs. When one of them is refused it claims one by one, and postpones the
// refused ones. The source leaves out these.
func (r *refusals) claimFurther(ctx context.Context, p plan, did *afterSplit, f sourceClaim) (claimed int, err error) {
	claimed, err = r.claimSome(ctx, p, did, f)
	if err == nil || !r.env.store.RefusesRow(err) {
		return claimed, err
	}
	most := f.N
	for f.N = 1; most > 0; most-- {
		n, err := r.claimSome(ctx, p, did, f)
		refused := (*ClaimError)(nil)
		switch {
		case err == nil && n == 0:
			return claimed, nil
		case err == nil:
			claimed += n
		case errors.As(err, &refused) && r.env.store.RefusesRow(err):
			did.more[f.Queue] = true
			if err := r.postpone(refusal.Claim, refused.JobID, refused.Err); err != nil {
				return claimed, err
			}
		default:
			return claimed, err
		}
	}
	return claimed, nil
}

// claimSome claims from a further source, and starts the jobs.
func (r *refusals) claimSome(ctx context.Context, p plan, did *afterSplit, f sourceClaim) (claimed int, err error) {
	t, err := r.commitOne(ctx, plan{
		further: []sourceClaim{f}, pending: map[string]int64{f.Queue: 0}, claimIDs: []int64{}, due: p.due,
		wants: map[string]int64{f.Queue: f.N}, slots: map[string]int64{f.Queue: int64(r.slots.freeOf(f.Queue))},
	})
	if err != nil {
		return 0, err
	}
	did.more[f.Queue] = did.more[f.Queue] || len(t.claimed) > 0
	return len(t.claimed), nil
}

// postpone sets a job aside that the database refuses.
func (r *refusals) postpone(action refusal.Action, id int64, err error) error {
	if r.env.store.KeyTaken(err) {
		action = refusal.Conflict
	}
	return r.env.notes.Postpone(r.env.writing, r.env.store.Write, r.env.store.Now(), action, id, err)
}

// inParts commits the plans of ever smaller parts of a list of jobs, and postpones the refused ones. It returns the number of jobs
// that were promoted or claimed.
func (r *refusals) inParts(ctx context.Context, ids []int64, action refusal.Action, of func([]int64) plan) (moved int, err error) {
	err = refusal.Split(ids, r.env.store.RefusesRow, func(part []int64) error {
		t, err := r.commitOne(ctx, of(part))
		if err == nil {
			moved += len(t.claimed) + int(t.promoted)
		}
		return err
	}, func(id int64, err error) error { return r.postpone(action, id, err) })
	return moved, err
}

// planNextTry decides when the loop looks again, and whether it must still leave out refused jobs.
func (r *refusals) planNextTry(ctx context.Context, did *afterSplit) error {
	store := r.env.store
	var rows []db.CountRefusalsRow
	err := store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		if rows, err = q.CountRefusals(ctx); err == nil {
			did.read, err = q.GetNextRunAfter(ctx)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("count refused jobs: %w", err)
	}
	now, old := store.Now(), false
	r.conflict, r.listing, did.next = false, false, core.Time(did.read.RunAfter)
	if did.again = did.next; !did.again.After(now) {
		did.again = time.Time{} // the next scheduled job itself was refused
	}
	if limited := core.Time(did.read.Limited); limited.After(now) {
		did.again = core.Earlier(did.again, limited)
	}
	for _, row := range rows {
		r.conflict = r.conflict || row.Action == string(refusal.Conflict)
		if slices.Contains(keptFromRunning(), refusal.Action(row.Action)) {
			again := core.Time(row.AgainAt)
			r.listing = true
			if again.Before(now) {
				old, again = true, now.Add(lookLast) // the job belongs to another queue, or has changed since
			}
			did.again = core.Earlier(did.again, again)
		}
	}
	if !old || now.Sub(r.cleaned) < cleanEvery {
		return nil
	}
	r.cleaned = now
	return store.Write(r.env.writing, func(ctx context.Context, q db.Querier) error {
		_, err := q.DeleteOldRefusals(ctx)
		return err
	})
}

// tryAll makes a drain without other work try all refused jobs, once after each claim. It returns false when it has done so already. further
// is set when a further source may have jobs: it leaves out refused ones before any claim of this run was refused.
func (r *refusals) tryAll(ctx context.Context, further bool) bool {
	if !r.listing && !further || r.triedAll {
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
	return err == nil && n > 0
}

// keptFromRunning returns the actions whose refusal keeps a job from running.
func keptFromRunning() []refusal.Action {
	return []refusal.Action{refusal.Promote, refusal.Claim, refusal.Conflict}
}

// retry runs a function after which refused jobs are tried at once.
func (r *refusals) retry(ctx context.Context, fn func(ctx context.Context, q db.Querier, now int64) error) error {
	env := r.env
	err := env.store.Write(env.writing, func(ctx context.Context, q db.Querier) error {
		return fn(ctx, q, core.Micros(env.store.Now()))
	})
	if err != nil {
		return fmt.Errorf("try refused jobs again: %w", err)
	}
	return nil
}
