package limits

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	open, kinds, next, err := w.open(all, look.Kinds, now)
	if err != nil {
		return nil, next, err
	}
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
	w, err := readWholes(ctx, q, core.JSONNames([]string{queue}), look.Kinds, now)
	if err != nil {
		return nil, err
	}
	kinds, _, err := w.withRoom(ScopeTotal, look.Kinds, now)
	if err != nil {
		return nil, err
	}
	rows, err := q.ListReadyLanes(ctx, db.ListReadyLanesParams{Kinds: kinds, Queue: queue, Now: now, N: n})
	if err != nil || len(rows) == 0 {
		return nil, core.Wrap(err, "look for ready lanes")
	}
	lanes := core.Map(rows, func(row db.ListReadyLanesRow) key { return key{row.Kind, row.LimitKey} })
	d, err := newDeal(ctx, q, dealing{lanes, queue, w}, now, n)
	if err != nil {
		return nil, err
	}
	var priorities []int64
	dealt := maps.Clone(d.shares)
	if free, _ := d.firsts(); d.most() > 0 && len(free) > 0 { // the first job of a sequence counts with the best priority of those behind it
		listed, err := q.ListLaneJobs(ctx, db.ListLaneJobsParams{Keys: keys(free), Queue: queue, Now: now, N: d.most()})
		if err != nil {
			return nil, fmt.Errorf("look at the jobs of lanes: %w", err)
		}
		for _, row := range listed {
			if d.take(key{row.Kind, row.LimitKey}) {
				priorities = append(priorities, row.Priority)
			}
		}
	}
	for i, lane := range lanes { // a claim must note that a lane without room, or without a job that can start, is not ready
		if d.states[lane].room == 0 || dealt[lane] > 0 && d.shares[lane] == dealt[lane] {
			priorities = append(priorities, rows[i].Priority)
		}
	}
	slices.SortFunc(priorities, func(a, b int64) int { return cmp.Compare(b, a) })
	return priorities[:min(int64(len(priorities)), n)], nil
}

// HasUnfinished implements [runner.Source].
func (Source) HasUnfinished(ctx context.Context, q db.Querier, look engine.Look, queues []string) (bool, error) {
	p := db.HasWaitingJobsParams{Queues: core.JSONNames(queues), Kinds: look.Kinds, Now: core.Micros(look.Now), Until: math.MaxInt64}
	if !look.Until.IsZero() { // the clock stands: no limit gets room by time
		p.Until = core.Micros(look.Until)
		w, err := readWholes(ctx, q, p.Queues, p.Kinds, p.Now)
		if err == nil {
			p.Queues, p.Kinds, _, err = w.open(p.Queues, p.Kinds, p.Now)
		}
		if err != nil {
			return false, err
		}
	}
	n, err := q.HasWaitingJobs(ctx, p)
	return n > 0, core.Wrap(err, "look for waiting jobs")
}

// Claim implements [runner.Source]. While lanes have no job that can start it goes on to the next ones, more in each round.
func (Source) Claim(ctx context.Context, q db.Querier, by engine.Claimer, claim engine.QueueClaim, now time.Time) ([]runner.Claimed, error) {
	c := claimer{q: q, by: by, queue: claim.Queue, now: core.Micros(now)}
	// Before the lanes: a claim that waits here holds none of them.
	w, err := lockWholes(ctx, q, core.JSONNames([]string{claim.Queue}), by.Kinds, c.now)
	if err != nil {
		return nil, err
	}
	for lanes := claim.N; ; lanes *= 2 {
		jobs, more, err := c.round(ctx, w, lanes, claim.N)
		if err != nil || !more || len(jobs) > 0 || 2*lanes > mostLanes {
			return jobs, err
		}
	}
}

// mostLanes bounds the lanes of a further round of a claim.
const mostLanes = 1000

// round claims up to n jobs from up to a number of lanes. It reports whether there were lanes.
func (c *claimer) round(ctx context.Context, w wholes, lanes, n int64) (jobs []runner.Claimed, more bool, err error) {
	if s := w[Name{Scope: ScopeQueue, Name: c.queue}]; s != nil && !s.has() {
		return nil, false, nil
	}
	if c.kinds, _, err = w.withRoom(ScopeTotal, c.by.Kinds, c.now); err != nil {
		return nil, false, err
	}
	locked, err := c.lock(ctx, lanes)
	if err != nil || len(locked) == 0 {
		return nil, false, err
	}
	// A statement after the locks: only its snapshot has all jobs that have started.
	d, err := newDeal(ctx, c.q, dealing{locked, c.queue, w}, c.now, n)
	if err != nil {
		return nil, false, err
	}
	jobs, err = c.start(ctx, d)
	if err != nil {
		return nil, false, err
	}
	return jobs, true, c.leave(ctx, d)
}

// claimer is one claim from a queue.
type claimer struct {
	q     db.Querier
	by    engine.Claimer
	queue string
	kinds string // a JSON list of the kinds with room as a whole
	now   int64
}

// lock locks ready lanes and the rows of their keys. It passes over what is locked: another claim looks at it. Where transactions lock no
// rows, as only one writes at a time, a key needs none.
func (c *claimer) lock(ctx context.Context, n int64) ([]key, error) {
	rows, err := c.q.LockReadyLanes(ctx, db.LockReadyLanesParams{
		Kinds: c.kinds, Queue: c.queue, Now: c.now, WorkerID: c.by.WorkerID, N: n,
	})
	if err != nil || len(rows) == 0 {
		return nil, core.Wrap(err, "lock ready lanes")
	}
	lanes := core.Map(rows, func(row db.LockReadyLanesRow) key { return key{row.Kind, row.LimitKey} })
	if !c.by.Locks {
		return lanes, nil
	}
	has, err := c.lockKeys(ctx, lanes)
	if err != nil || len(has) == len(lanes) {
		return lanes, err
	}
	if err := c.q.AddLimitKeys(ctx, keys(lanes)); err != nil {
		return nil, fmt.Errorf("add limit keys: %w", err)
	}
	if has, err = c.lockKeys(ctx, lanes); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(lanes, func(l key) bool { return !has[l] }), nil
}

// lockKeys locks the rows of keys that no other transaction has locked, and returns these keys.
func (c *claimer) lockKeys(ctx context.Context, lanes []key) (map[key]bool, error) {
	locked, err := c.q.LockLimitKeys(ctx, keys(lanes))
	if err != nil {
		return nil, fmt.Errorf("lock limit keys: %w", err)
	}
	has := make(map[key]bool, len(locked))
	for _, row := range locked {
		has[key{row.Kind, row.LimitKey}] = true
	}
	return has, nil
}

// start starts the dealt number of jobs of each lane, and notes the starts.
func (c *claimer) start(ctx context.Context, d *deal) ([]runner.Claimed, error) {
	if d.most() == 0 {
		return nil, nil
	}
	listed, err := c.lockJobs(ctx, d)
	if err != nil {
		return nil, err
	}
	of := make(map[int64]key, len(listed))
	var ids []int64
	for _, row := range listed {
		lane := key{row.Kind, row.LimitKey}
		if d.take(lane) {
			of[row.ID], ids = lane, append(ids, row.ID)
		} else {
			d.more[lane] = true
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
	started := make(map[key]int64, len(d.lanes))
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
			items = append(items, [4]any{of.Scope, of.Name, "", until})
		}
	}
	if len(items) == 0 {
		return nil
	}
	return core.Wrap(c.q.SpendStarts(ctx, core.JSONList(items)), "note the starts of limit keys")
}

// startsAgain is the time after which a claim looks again at a lane that had room and no job that could start.
const startsAgain = int64(100 * time.Millisecond / time.Microsecond)

// leave notes when the lanes are ready again, and removes the empty ones. A lane that only the limit of its whole kind or queue has held
// stays as it is, and keeps its place among the ready ones.
func (c *claimer) leave(ctx context.Context, d *deal) error {
	var items [][4]any
	var perhapsEmpty []key
	for _, l := range d.lanes {
		s := d.states[l]
		at, held := s.readyAt(c.now), 0
		if s.held {
			at, held = nil, 1
		}
		if !d.more[l] {
			perhapsEmpty = append(perhapsEmpty, l)
		}
		switch left := d.shares[l]; {
		case left > 0 && left == s.started && at != nil: // its jobs are locked or set aside
			*at = max(*at, c.now+startsAgain)
			if s.first != 0 {
				held = 1
			}
		case s.started == 0 && s.room > 0:
			continue
		}
		items = append(items, [4]any{l.kind, l.key, at, held})
	}
	if len(items) > 0 {
		if err := c.q.SetLanes(ctx, db.SetLanesParams{Queue: c.queue, Items: core.JSONList(items)}); err != nil {
			return fmt.Errorf("note when lanes are ready: %w", err)
		}
	}
	if len(perhapsEmpty) == 0 {
		return nil
	}
	_, err := c.q.DeleteEmptyLanes(ctx, db.DeleteEmptyLanesParams{Queue: c.queue, Keys: keys(perhapsEmpty)})
	return core.Wrap(err, "remove empty lanes")
}

// keys returns the keys as the statements take them.
func keys(lanes []key) string {
	return core.JSONList(core.Map(lanes, func(l key) [2]string { return [2]string{l.kind, l.key} }))
}
