package limits

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/runner"
)

// Source is the [runner.Source] of jobs with limit keys. The zero value is ready. It may be used concurrently.
type Source struct{}

// MayHave implements [runner.Source].
func (Source) MayHave(next engine.Next) bool { return next.Lanes != 0 || next.Whole != 0 }

// Queues implements [runner.Source].
func (Source) Queues(ctx context.Context, q db.Querier, look engine.Look, queues []string) (found []string, next time.Time, err error) {
	now, all := core.Micros(look.Now), core.JSONNames(queues)
	w, err := readWholes(ctx, q, all, look.Kinds, now)
	if err != nil {
		return nil, next, err
	}
	open, next, err := w.withRoom(ScopeQueue, all, now)
	if err != nil {
		return nil, next, err
	}
	kinds, again, err := w.withRoom(ScopeTotal, look.Kinds, now)
	if err != nil {
		return nil, next, err
	}
	next = core.Earlier(next, again)
	rows, err := q.ListLaneTimes(ctx, db.ListLaneTimesParams{Queues: open, Kinds: kinds})
	if err != nil {
		return nil, next, fmt.Errorf("look for lanes: %w", err)
	}
	for _, row := range rows {
		if at := core.Time(row.ReadyAt); at.After(look.Now) {
			next = core.Earlier(next, at)
		} else {
			found = append(found, row.Queue)
		}
	}
	pending, err := q.ListAdoptableQueues(ctx, db.ListAdoptableQueuesParams{Queues: all, Kinds: look.Kinds, Now: now})
	return append(found, pending...), next, core.Wrap(err, "look for pending jobs that limits hold")
}

// Peek implements [runner.Source].
func (Source) Peek(ctx context.Context, q db.Querier, look engine.Look, queue string, n int64) ([]int64, error) {
	now := core.Micros(look.Now)
	rows, err := q.ListReadyLanes(ctx, db.ListReadyLanesParams{Kinds: look.Kinds, Queue: queue, Now: now, N: n})
	if err != nil || len(rows) == 0 {
		return nil, core.Wrap(err, "look for ready lanes")
	}
	w, err := readWholes(ctx, q, core.JSONNames([]string{queue}), look.Kinds, now)
	if err != nil {
		return nil, err
	}
	lanes := core.Map(rows, func(row db.ListReadyLanesRow) key { return key{row.Kind, row.LimitKey} })
	d, err := newDeal(ctx, q, dealing{lanes, queue, w}, now, n)
	if err != nil {
		return nil, err
	}
	var priorities []int64
	for i, lane := range lanes {
		if d.states[lane].room == 0 { // a claim must note that the lane is not ready
			priorities = append(priorities, rows[i].Priority)
		}
	}
	if d.most() > 0 {
		listed, err := q.ListLaneJobs(ctx, db.ListLaneJobsParams{Keys: keys(lanes), Queue: queue, Now: now, N: d.most()})
		if err != nil {
			return nil, fmt.Errorf("look at the jobs of lanes: %w", err)
		}
		for _, row := range listed {
			if d.take(key{row.Kind, row.LimitKey}) {
				priorities = append(priorities, row.Priority)
			}
		}
	}
	slices.SortFunc(priorities, func(a, b int64) int { return cmp.Compare(b, a) })
	return priorities[:min(int64(len(priorities)), n)], nil
}

// HasUnfinished implements [runner.Source].
func (Source) HasUnfinished(ctx context.Context, q db.Querier, look engine.Look, queues []string) (bool, error) {
	until := int64(math.MaxInt64)
	if !look.Until.IsZero() {
		until = core.Micros(look.Until)
	}
	n, err := q.HasWaitingJobs(ctx, db.HasWaitingJobsParams{Queues: core.JSONNames(queues), Kinds: look.Kinds, Until: until})
	return n > 0, core.Wrap(err, "look for waiting jobs")
}

// Claim implements [runner.Source].
func (Source) Claim(ctx context.Context, q db.Querier, by engine.Claimer, claim engine.QueueClaim, now time.Time) ([]runner.Claimed, error) {
	c := claimer{q: q, by: by, queue: claim.Queue, n: claim.N, now: core.Micros(now)}
	// Before the lanes: a claim that waits here holds none of them.
	w, err := lockWholes(ctx, q, core.JSONNames([]string{claim.Queue}), by.Kinds, c.now)
	if err != nil {
		return nil, err
	}
	lanes, err := c.lock(ctx)
	if err != nil || len(lanes) == 0 {
		return nil, err
	}
	// A statement after the locks: only its snapshot has all jobs that have started.
	d, err := newDeal(ctx, q, dealing{lanes, claim.Queue, w}, c.now, c.n)
	if err != nil {
		return nil, err
	}
	jobs, err := c.start(ctx, lanes, d)
	if err != nil {
		return nil, err
	}
	return jobs, c.leave(ctx, d)
}

// claimer is one claim from a queue.
type claimer struct {
	q      db.Querier
	by     engine.Claimer
	queue  string
	n, now int64
}

// lock locks ready lanes and the rows of their keys. It passes over what is locked: another claim looks at it. A key without a row gets one
// for the next claim.
func (c *claimer) lock(ctx context.Context) ([]key, error) {
	rows, err := c.q.LockReadyLanes(ctx, db.LockReadyLanesParams{
		Kinds: c.by.Kinds, Queue: c.queue, Now: c.now, WorkerID: c.by.WorkerID, N: c.n,
	})
	if err != nil || len(rows) == 0 {
		return nil, core.Wrap(err, "lock ready lanes")
	}
	lanes := core.Map(rows, func(row db.LockReadyLanesRow) key { return key{row.Kind, row.LimitKey} })
	if err := c.q.AddLimitKeys(ctx, keys(lanes)); err != nil {
		return nil, fmt.Errorf("add limit keys: %w", err)
	}
	locked, err := c.q.LockLimitKeys(ctx, keys(lanes))
	if err != nil {
		return nil, fmt.Errorf("lock limit keys: %w", err)
	}
	has := make(map[key]bool, len(locked))
	for _, row := range locked {
		has[key{row.Kind, row.LimitKey}] = true
	}
	return slices.DeleteFunc(lanes, func(l key) bool { return !has[l] }), nil
}

// start starts the dealt number of jobs of each lane, and notes the starts.
func (c *claimer) start(ctx context.Context, lanes []key, d *deal) ([]runner.Claimed, error) {
	if d.most() == 0 {
		return nil, nil
	}
	listed, err := c.q.LockLaneJobs(ctx, db.LockLaneJobsParams{Keys: keys(lanes), Queue: c.queue, Now: c.now, N: d.most()})
	if err != nil {
		return nil, fmt.Errorf("lock the jobs of lanes: %w", err)
	}
	of := make(map[int64]key, len(listed))
	var ids []int64
	for _, row := range listed {
		if lane := (key{row.Kind, row.LimitKey}); d.take(lane) {
			of[row.ID], ids = lane, append(ids, row.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := c.q.StartWaitingJobs(ctx, db.StartWaitingJobsParams{
		Now: c.now, WorkerID: c.by.WorkerID, LeaseUntil: c.now + c.by.Lease.Microseconds(), Ids: core.JSONIDs(ids),
	})
	switch {
	case err != nil && len(ids) == 1:
		return nil, fmt.Errorf("start a waiting job: %w", &runner.ClaimError{JobID: ids[0], Err: err})
	case err != nil:
		return nil, fmt.Errorf("start waiting jobs: %w", err)
	}
	started := make(map[key]int64, len(lanes))
	jobs := make([]runner.Claimed, len(rows))
	for i, row := range rows {
		lane := of[row.ID]
		started[lane]++
		jobs[i] = runner.Claimed{Row: db.ClaimJobsRow(row), LimitKey: &lane.key}
	}
	return jobs, c.spend(ctx, started, d)
}

// spend notes the starts of keys, and of whole kinds and queues, and writes those of limits with a rate.
func (c *claimer) spend(ctx context.Context, started map[key]int64, d *deal) error {
	var items [][4]any
	whole := map[*state]int64{}
	for lane, n := range started {
		if until := d.states[lane].spend(c.now, n); until > 0 {
			items = append(items, [4]any{ScopeKind, lane.kind, lane.key, until})
		}
		for _, s := range d.wholes.of(lane.kind, c.queue) {
			whole[s] += n
		}
	}
	for of, s := range d.wholes {
		if until := s.spend(c.now, whole[s]); whole[s] > 0 && until > 0 {
			items = append(items, [4]any{of.scope, of.name, "", until})
		}
	}
	if len(items) == 0 {
		return nil
	}
	return core.Wrap(c.q.SpendStarts(ctx, core.JSONList(items)), "note the starts of limit keys")
}

// leave notes when the lanes are ready again, and removes the empty ones. A lane that only the limit of its whole kind or queue has held
// stays as it is, and keeps its place among the ready ones.
func (c *claimer) leave(ctx context.Context, d *deal) error {
	var items [][3]any
	for _, l := range d.lanes {
		if s := d.states[l]; s.started > 0 || s.room == 0 {
			items = append(items, [3]any{l.kind, l.key, s.readyAt(c.now)})
		}
	}
	if len(items) > 0 {
		if err := c.q.SetLanes(ctx, db.SetLanesParams{Queue: c.queue, Items: core.JSONList(items)}); err != nil {
			return fmt.Errorf("note when lanes are ready: %w", err)
		}
	}
	_, err := c.q.DeleteEmptyLanes(ctx, db.DeleteEmptyLanesParams{Queue: c.queue, Keys: keys(d.lanes)})
	return core.Wrap(err, "remove empty lanes")
}

// keys returns the keys as the statements take them.
func keys(lanes []key) string {
	return core.JSONList(core.Map(lanes, func(l key) [2]string { return [2]string{l.kind, l.key} }))
}
