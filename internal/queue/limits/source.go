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

// Source is the [runner.Source] of jobs with limit keys. The zero value is ready. One goroutine uses it.
type Source struct {
	queues map[string]*memory
}

// memory holds what a claim from a queue learns for the next one.
type memory struct {
	yield
	full    bool  // there was a full limit of the whole queue or of a whole kind
	tookAll bool  // all lanes had the jobs that were dealt to them
	last    []key // its first ready lanes, in their order, if they were few
	lanes   []key // the same, if the claim before had these lanes too: mostly the next one has them
}

// fewLanes is the largest number of lanes whose limits a claim reads before it knows whether they are its lanes.
const fewLanes = 16

// remember keeps the first ready lanes of a claim for the next one.
func (m *memory) remember(lanes []key) {
	before := m.last
	m.last, m.lanes = nil, nil
	if len(lanes) > fewLanes {
		return
	}
	m.last = slices.SortedFunc(slices.Values(lanes), func(a, b key) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key)) })
	if slices.Equal(m.last, before) {
		m.lanes = m.last
	}
}

// yield holds the results of the last quick claims from a queue.
type yield struct {
	perLane int64 // the number of jobs for each lane, rounded up; 0: not known
	filled  int   // the number of claims in a row that filled their slots
}

// of returns the memory of a queue.
func (s *Source) of(queue string) *memory {
	if s.queues == nil {
		s.queues = map[string]*memory{}
	}
	if s.queues[queue] == nil {
		s.queues[queue] = new(memory)
	}
	return s.queues[queue]
}

// MayHave implements [runner.Source].
func (*Source) MayHave(next engine.Next) bool { return next.Lanes != 0 || next.Whole != 0 }

// Queues implements [runner.Source].
func (*Source) Queues(ctx context.Context, q db.Querier, look engine.Look, queues []string) (found []string, next time.Time, err error) {
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
func (*Source) Peek(ctx context.Context, q db.Querier, look engine.Look, queue string, n int64) ([]int64, error) {
	now := core.Micros(look.Now)
	w, err := readWholes(ctx, q, core.JSONNames([]string{queue}), look.Kinds, now)
	if err != nil {
		return nil, err
	}
	kinds, _, err := w.withRoom(core.ScopeTotal, look.Kinds, now)
	if err != nil {
		return nil, err
	}
	rows, err := q.ListReadyLanes(ctx, db.ListReadyLanesParams{Kinds: kinds, Queue: queue, Now: now, N: n})
	if err != nil || len(rows) == 0 {
		return nil, core.Wrap(err, "look for ready lanes")
	}
	lanes := core.Map(rows, func(row db.ListReadyLanesRow) key { return key{row.Kind, row.LimitKey} })
	limits, err := q.ReadLimits(ctx, keys(lanes))
	if err != nil {
		return nil, fmt.Errorf("read limits: %w", err)
	}
	d, err := newDeal(ctx, q, dealing{lanes: lanes, queue: queue, wholes: w}, limits, now, n)
	if err != nil {
		return nil, err
	}
	priorities, err := d.peek(ctx, q, now)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(priorities, func(a, b int64) int { return cmp.Compare(b, a) })
	return priorities[:min(int64(len(priorities)), n)], nil
}

// peek returns the priorities of the jobs that would start.
func (d *deal) peek(ctx context.Context, q db.Querier, now int64) (priorities []int64, err error) {
	dealt := maps.Clone(d.shares)
	if free, _ := d.firsts(); d.most() > 0 && len(free) > 0 { // the first job of a sequence counts with the best priority of those behind it
		listed, err := q.ListLaneJobs(ctx, db.ListLaneJobsParams{Keys: keys(free), Queue: d.queue, Now: now, N: d.most()})
		if err != nil {
			return nil, fmt.Errorf("look at the jobs of lanes: %w", err)
		}
		for _, row := range listed {
			if d.take(key{row.Kind, row.LimitKey}) {
				priorities = append(priorities, row.Priority)
			}
		}
	}
	// A claim must note that a lane without room, or without a job that can start, is not ready. Such a lane takes no other job's slot.
	for _, lane := range d.lanes {
		if d.states[lane].room == 0 || dealt[lane] > 0 && d.shares[lane] == dealt[lane] {
			priorities = append(priorities, math.MinInt64)
		}
	}
	return priorities, nil
}

// HasUnfinished implements [runner.Source].
func (*Source) HasUnfinished(ctx context.Context, q db.Querier, look engine.Look, queues []string) (bool, error) {
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
func (s *Source) Claim(ctx context.Context, q db.Querier, by engine.Claimer, claim engine.QueueClaim, now time.Time) ([]runner.Claimed, error) {
	if claim.N < quickSlots {
		claim.Quick = nil
	}
	c := claimer{q: q, by: by, queue: claim.Queue, now: core.Micros(now), quick: claim.Quick, memory: s.of(claim.Queue)}
	lanes := c.memory.lanesFor(claim)
	queues := claim.Queues
	if len(queues) == 0 {
		queues = []string{claim.Queue}
	}
	ready, err := c.lockFirst(ctx, queues, lanes)
	var claimed []runner.Claimed
	for rounds := 1; err == nil && len(ready) > 0; rounds++ {
		left := claim.N - int64(len(claimed))
		jobs, d, err := c.round(ctx, ready, lanes, left)
		claimed = append(claimed, jobs...)
		if err != nil || d == nil {
			return claimed, err
		}
		if len(jobs) == 0 && 2*lanes <= mostLanes {
			lanes *= 2
		} else {
			c.memory.note(d, len(jobs), left)
			rest := left - int64(len(jobs))
			if rest == 0 || len(jobs) == 0 || lanes >= left || rounds == mostRounds {
				return claimed, nil
			}
			lanes = rest // there were fewer lanes than slots: others have jobs for the rest
		}
		if ready, err = c.lockReady(ctx, lanes); err != nil {
			return claimed, err
		}
	}
	return claimed, err
}

const (
	// quickRounds is the number of rounds in which a claim deals starts to a part of the ready lanes, where attempts take less time than a cycle:
	// the other lanes then wait for a cycle longer at most, and half of the cost of a claim is that of its lanes. A claim for fewer than
	// quickSlots deals to all lanes in one round.
	quickRounds = 4
	quickSlots  = 4 * quickRounds

	// growAfter is the number of claims that filled their slots after which the next one tries fewer lanes.
	growAfter = 16

	// mostLanes bounds the lanes of a further round of a claim, and mostRounds the rounds after one that has started jobs.
	mostLanes  = 1000
	mostRounds = 12
)

// lanesFor returns the number of lanes that a claim begins with: enough to fill the slots, as far as the claim before tells.
func (y *yield) lanesFor(claim engine.QueueClaim) int64 {
	if len(claim.Quick) == 0 {
		return claim.N
	}
	each := max(1, y.perLane)
	return (claim.N + each - 1) / each
}

// note notes the number of jobs that a deal for n slots has started, for the number of lanes of the next claim.
func (y *yield) note(d *deal, jobs int, n int64) {
	switch lanes := max(1, len(d.shares)); {
	case d.rounds == 0:
		*y = yield{}
	case int64(jobs) < n:
		*y = yield{perLane: int64((jobs + lanes - 1) / lanes)}
	default:
		if y.filled++; y.filled == growAfter {
			*y = yield{perLane: min(max(1, y.perLane)+1, quickRounds)}
		}
	}
}

// lockFirst locks the limits of whole queues, a list with that of the claim, and of whole kinds, and reads those of the claim. With them it
// locks up to n ready lanes, of kinds with room: in a further round trip where the claim before found one without, whose lanes would be locked
// in vain.
func (c *claimer) lockFirst(ctx context.Context, queues []string, n int64) (ready []db.LockReadyLanesRow, err error) {
	wasFull := c.memory.full
	var locked []db.LockWholeLimitsRow
	var limits []db.ReadWholeLimitsRow
	calls := []db.Call{ // in this order: a claim that waits for a limit holds no lanes, and only a statement after the lock reads all that run
		db.LockWholeLimitsCall{Arg: db.LockWholeLimitsParams{Queues: core.JSONNames(queues), Kinds: c.by.Kinds}, Into: &locked},
		db.ReadWholeLimitsCall{Arg: db.ReadWholeLimitsParams{Queues: core.JSONNames([]string{c.queue}), Kinds: c.by.Kinds}, Into: &limits},
	}
	if !wasFull {
		calls = append(calls, db.LockReadyLanesCall{Arg: c.readyLanes(c.by.Kinds, n), Into: &ready})
		if len(c.memory.lanes) > 0 {
			calls = append(calls, db.ReadLimitsCall{Arg: keys(c.memory.lanes), Into: &c.read})
		}
	}
	if err := db.Together(ctx, c.q, calls...); err != nil {
		return nil, fmt.Errorf("lock limits and ready lanes: %w", err)
	}
	if !areLocked(limits, locked) {
		return nil, nil // others may start jobs under a limit that came after the lock: the next claim locks it
	}
	c.wholes = newWholes(limits, c.now)
	kinds, _, err := c.wholes.withRoom(core.ScopeTotal, c.by.Kinds, c.now)
	if s := c.wholes[Name{Scope: core.ScopeQueue, Name: c.queue}]; s != nil && !s.has() {
		c.memory.full = true
		return nil, err
	}
	c.memory.full = kinds != c.by.Kinds
	if err != nil || !wasFull && !c.memory.full {
		return ready, err
	}
	return c.lockReady(ctx, n)
}

// areLocked reports whether all limits that were read have been locked before.
func areLocked(limits []db.ReadWholeLimitsRow, locked []db.LockWholeLimitsRow) bool {
	return !slices.ContainsFunc(limits, func(r db.ReadWholeLimitsRow) bool {
		return !slices.Contains(locked, db.LockWholeLimitsRow{Scope: r.Scope, Name: r.Name})
	})
}

// lockReady locks up to n ready lanes, of kinds with room. Limits of keys that were read before are forgotten: other claims may have had these keys.
func (c *claimer) lockReady(ctx context.Context, n int64) ([]db.LockReadyLanesRow, error) {
	c.read = nil
	kinds, _, err := c.wholes.withRoom(core.ScopeTotal, c.by.Kinds, c.now)
	if err != nil {
		return nil, err
	}
	ready, err := c.q.LockReadyLanes(ctx, c.readyLanes(kinds, n))
	return ready, core.Wrap(err, "lock ready lanes")
}

// readyLanes returns the parameters of LockReadyLanes.
func (c *claimer) readyLanes(kinds string, n int64) db.LockReadyLanesParams {
	return db.LockReadyLanesParams{Kinds: kinds, Queue: c.queue, Now: c.now, WorkerID: c.by.WorkerID, N: n}
}

// round claims up to n jobs from locked lanes. It returns the deal; nil: there was no room.
func (c *claimer) round(ctx context.Context, ready []db.LockReadyLanesRow, lanes, n int64) (jobs []runner.Claimed, d *deal, err error) {
	if s := c.wholes[Name{Scope: core.ScopeQueue, Name: c.queue}]; s != nil && !s.has() {
		return nil, nil, nil
	}
	of, err := c.dealing(ctx, ready, lanes)
	if err != nil || len(of.lanes) == 0 {
		return nil, nil, err
	}
	limits, err := c.readLimits(ctx, ready, of.lanes)
	if err != nil {
		return nil, nil, err
	}
	if d, err = newDeal(ctx, c.q, of, limits, c.now, n); err != nil {
		return nil, nil, err
	}
	jobs, err = c.start(ctx, d, n)
	return jobs, d, err
}

// readLimits reads the limits of locked lanes, unless they were read after the locks already. It is a statement of its own: only a snapshot
// after the locks has all jobs that have started.
func (c *claimer) readLimits(ctx context.Context, ready []db.LockReadyLanesRow, lanes []key) ([]db.ReadLimitsRow, error) {
	before := c.read
	c.read = nil
	isOf := func(lane db.LockReadyLanesRow) func(db.ReadLimitsRow) bool {
		return func(r db.ReadLimitsRow) bool {
			return lane.KeyLocked > 0 && r.Kind == lane.Kind && r.LimitKey == lane.LimitKey
		}
	}
	var found []db.ReadLimitsRow
	for _, lane := range ready {
		if i := slices.IndexFunc(before, isOf(lane)); i >= 0 {
			found = append(found, before[i])
		}
	}
	if len(found) == len(ready) {
		return found, nil
	}
	c.memory.remember(lanes)
	rows, err := c.q.ReadLimits(ctx, keys(lanes))
	return rows, core.Wrap(err, "read limits")
}

// claimer is one claim from a queue.
type claimer struct {
	q     db.Querier
	by    engine.Claimer
	queue string
	now   int64
	quick map[string]bool // the kinds whose attempts take less time than a cycle

	wholes wholes
	memory *memory
	read   []db.ReadLimitsRow // the limits of keys that were read after the first locks
}

// dealing returns the locked lanes among which starts are dealt. It locks the rows of their keys, and leaves out a lane whose row another
// transaction has locked: another claim looks at it. Where there may be further ready lanes, as there are n, and these are of one priority and
// their kinds are quick, several rounds are dealt, to jobs of this priority alone.
func (c *claimer) dealing(ctx context.Context, rows []db.LockReadyLanesRow, n int64) (of dealing, err error) {
	of.queue, of.wholes = c.queue, c.wholes
	differs := func(row db.LockReadyLanesRow) bool { return row.Priority != rows[0].Priority || !c.quick[row.Kind] }
	if int64(len(rows)) == n && !slices.ContainsFunc(rows, differs) {
		of.rounds, of.least = quickRounds, rows[0].Priority
	}
	lanes := make([]key, len(rows))
	var without []key
	for i, row := range rows {
		if lanes[i] = (key{row.Kind, row.LimitKey}); row.KeyLocked == 0 {
			without = append(without, lanes[i])
		}
	}
	of.lanes = lanes
	if len(without) == 0 {
		return of, nil
	}
	if err := c.q.AddLimitKeys(ctx, keys(without)); err != nil {
		return of, fmt.Errorf("add limit keys: %w", err)
	}
	has, err := c.lockKeys(ctx, without)
	if err != nil {
		return of, err
	}
	of.lanes = slices.DeleteFunc(lanes, func(l key) bool { return slices.Contains(without, l) && !has[l] })
	return of, nil
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

// keys returns the keys as the statements take them.
func keys(lanes []key) string {
	return core.JSONKeys(core.Map(lanes, func(l key) [2]string { return [2]string{l.kind, l.key} }))
}
