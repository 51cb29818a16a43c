package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/clock"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

const (
	// lookEach is the largest number of queues that the loop looks at one by one. For more, one statement finds the queues with jobs, and
	// no cycle claims from more queues without that statement: otherwise a wake-up would cost a statement for each queue.
	lookEach = 4

	// The bounds of the time after which the loop looks again when it found a job that it could not claim. Another worker may hold its
	// row locked for the time of a claim and then not take it; or the job may be pending before its time.
	lookSoonest = time.Millisecond
	lookLast    = time.Second

	// The bounds of the time after which a draining runner looks again whether others' jobs have ended: most of them end soon.
	drainFirst = time.Millisecond
	drainLast  = 100 * time.Millisecond

	// drainAhead is the time within which a job must fall due for a draining runner to wait for it: more than the difference
	// between the clocks of the runner and of a program that has just inserted a job.
	drainAhead = 50 * time.Millisecond

	// pendingLookAfter is the time for which pending jobs are not looked for in a queue without any, while further sources fill manySlots slots
	// or more in each cycle: such cycles follow each other in some milliseconds, and the look and its round trips would take a tenth of them.
	pendingLookAfter = 50 * time.Millisecond
	manySlots        = 16
)

// lookout knows which queues may have jobs to claim, and when to look again. Only the loop's goroutine uses it.
type lookout struct {
	env     *env
	backoff engine.Backoff
	alarm   *clock.Alarm
	served  subscription

	claimable  map[string]bool // queues that may hold jobs to claim
	next       time.Time       // the earliest known time at which a scheduled job falls due; the zero time: none is scheduled
	further    further
	misses     int // cycles in a row that claimed nothing although a look found jobs
	emptyLooks int // looks in a row that found nothing
	notice     notice
}

// further holds what the last looks and cycles have read of the jobs of further sources.
type further struct {
	read engine.Next // read with the time of the next scheduled job
	next time.Time   // when a source has jobs again by itself; the zero time: not

	noPending map[string]time.Time // until when the pending jobs of a queue, of which there were none, are not looked for
}

// limited returns when the next job with a limit key falls due; the zero time: none is scheduled.
func (f *further) limited() time.Time { return core.Time(f.read.Limited) }

// isDue reports whether a job with a limit key is due at a time.
func (f *further) isDue(now time.Time) bool { return engine.IsDue(f.read.Limited, now) }

// notice records whether notifications of jobs lead to claims.
type notice struct {
	notified bool // a notification has come since the last cycle
	trusted  bool // the last notification led to a claim, so the loop claims at once after the next one
}

// learn records whether the notification that woke the loop led to a claim. Where many workers wait for the same jobs, most
// of them find none left, and a look costs less than a claim that returns nothing.
func (n *notice) learn(claimed bool) {
	if n.notified {
		n.notified, n.trusted = false, claimed
	}
}

// subscription is the loop's copy of the queues that it serves, with the notifications of their jobs.
type subscription struct {
	version  uint64   // the version of the queues
	names    []string // sorted
	wake     <-chan struct{}
	unlisten func()
}

// subscribe applies the queues of the run: it listens for their jobs before it looks at them.
func (o *lookout) subscribe() {
	queues, version := o.env.served.Slots()
	names := slices.Sorted(maps.Keys(queues))
	wake, unlisten := o.env.store.Listen(core.WorkReady, names)
	o.served.unlisten()
	o.served = subscription{version, names, wake, unlisten}
	clear(o.claimable)
	o.everywhere()
}

// everywhere makes the loop look at all its queues.
func (o *lookout) everywhere() {
	for _, queue := range o.served.names {
		o.claimable[queue] = true
	}
}

// takeWake takes a notification between two cycles: while one of many queues has a backlog, the loop does not rest, and the others,
// which were looked at, must not wait for that.
func (o *lookout) takeWake() {
	if len(o.served.names) <= lookEach || time.Until(o.backoff.QuietUntil()) > 0 {
		return
	}
	select {
	case <-o.served.wake:
		o.everywhere()
	default:
	}
}

// look reports without the write lock whether a cycle would claim anything. With many queues it keeps only those in wants that have
// jobs. A fault counts as found: the cycle meets it again and handles it.
func (o *lookout) look(ctx context.Context, wants map[string]int64) bool {
	found, err := o.peek(ctx, wants)
	if err != nil {
		return ctx.Err() == nil
	}
	return found
}

// foundNothing records a look that found nothing to claim from these queues.
func (o *lookout) foundNothing(wants map[string]int64) {
	o.misses = 0
	o.notice.learn(false)
	o.emptyLooks++
	o.backoff.FoundNothing()
	for queue := range wants { // only these: a queue without a free slot was not looked at
		delete(o.claimable, queue)
	}
	o.setAlarm(core.Earlier(core.Earlier(o.next, o.further.limited()), o.further.next))
}

// lookAlong keeps only the queues with jobs in the plan, before a cycle that has other work anyway, and the queues that get jobs back
// from the ended attempts. After a fault it keeps all.
func (o *lookout) lookAlong(ctx context.Context, p *plan) {
	before := maps.Clone(p.wants)
	_, _ = o.peek(ctx, p.wants)
	for _, a := range p.ended {
		if n, wanted := before[a.job.Queue]; wanted && a.end.Fate.Returns() {
			p.wants[a.job.Queue], o.claimable[a.job.Queue] = n, true
		}
	}
}

// peek reads whether there is anything to claim or promote, and when the next job falls due. With many queues it keeps only
// those in wants that have jobs; the others are no longer claimable.
func (o *lookout) peek(ctx context.Context, wants map[string]int64) (found bool, err error) {
	var due bool
	var read engine.Next
	var further time.Time
	var claimable []string
	store, kinds := o.env.store, o.env.kinds
	queues, many := slices.Collect(maps.Keys(wants)), len(wants) > lookEach
	err = store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		if read, err = q.GetNextRunAfter(ctx); err != nil {
			return err
		}
		due = engine.IsDue(read.RunAfter, store.Now()) || engine.IsDue(read.Limited, store.Now())
		if claimable, further, err = o.sourceQueues(ctx, q, read, queues); err != nil {
			return err
		}
		if found = due || len(claimable) > 0; many {
			pending, err := store.Claims().ClaimableQueues(ctx, q, kinds, queues)
			claimable = append(claimable, pending...)
			return err
		}
		for _, queue := range queues {
			if found {
				break
			}
			if found, err = store.Claims().HasClaimableJobs(ctx, q, db.HasClaimableJobsParams{Kinds: kinds, Queue: queue}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	o.next, o.further.read, o.further.next = core.Time(read.RunAfter), read, further
	if !many {
		return found, nil
	}
	o.keepOnly(wants, claimable)
	return due || len(wants) > 0, nil
}

// share moves that part of a plan's claims to further sources whose jobs come first by priority. Without further sources it runs no
// statement, and looks at the pending jobs only where a further source has jobs. From these queues the plan claims for free slots alone.
func (o *lookout) share(ctx context.Context, p *plan) error {
	if !o.sourcesMayHave(o.further.read) || len(p.wants) == 0 {
		return nil
	}
	p.shared = true
	p.further, p.pending, p.direct = nil, map[string]int64{}, map[string]bool{}
	if o.skipsPending(p) {
		for _, queue := range slices.Sorted(maps.Keys(p.wants)) {
			o.shareAll(p, queue, min(p.wants[queue], p.slots[queue]))
		}
		p.whole = false
		return nil
	}
	return o.env.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		p.further, p.pending, p.direct = nil, map[string]int64{}, map[string]bool{}
		for _, queue := range slices.Sorted(maps.Keys(p.wants)) { // all workers lock the limits of queues in one order
			if err := o.shareQueue(ctx, q, p, queue); err != nil {
				return err
			}
		}
		return nil
	})
}

// shareQueue shares the claims of one queue.
func (o *lookout) shareQueue(ctx context.Context, q db.Querier, p *plan, queue string) error {
	e := o.env
	n := min(p.wants[queue], p.slots[queue])
	if len(e.sources) == 1 && n > 0 {
		pending, err := e.store.Claims().HasClaimableJobs(ctx, q, db.HasClaimableJobsParams{Kinds: e.kinds, Queue: queue})
		if err != nil {
			return err
		}
		if !pending { // there is nothing to compare
			o.shareAll(p, queue, n)
			o.further.noPending[queue] = time.Now().Add(pendingLookAfter)
			return nil
		}
	}
	offers := make([][]int64, len(e.sources)+1)
	offered := false
	for i, s := range e.sources {
		list, err := s.Peek(ctx, q, o.view(), queue, max(n, 1))
		if err != nil {
			return err
		}
		offers[i+1], offered = list, offered || len(list) > 0
	}
	if !offered {
		return nil
	}
	p.wants[queue], p.direct[queue] = n, true
	if n == 0 {
		p.pending[queue] = 0
		return nil
	}
	pending, err := q.PeekJobs(ctx, db.PeekJobsParams{Kinds: e.kinds, Queue: queue, Now: core.Micros(e.store.Now()), N: n})
	if err != nil {
		return err
	}
	for _, row := range pending {
		offers[0] = append(offers[0], row.Priority)
	}
	p.split(queue, e.sources, shares(offers, n))
	return nil
}

// shareAll gives all claims of a queue for free slots to the only source.
func (o *lookout) shareAll(p *plan, queue string, n int64) {
	p.wants[queue], p.direct[queue] = n, true
	p.split(queue, o.env.sources, []int64{0, n})
}

// skipsPending reports whether no pending jobs are looked for in the queues of a plan.
func (o *lookout) skipsPending(p *plan) bool {
	now := time.Now()
	for queue, n := range p.wants {
		if min(n, p.slots[queue]) < manySlots || !now.Before(o.further.noPending[queue]) {
			return false
		}
	}
	return !engine.ClockStands(o.env.store)
}

// expectPending has the next cycle look for pending jobs again in queues whose slots the sources did not fill, or where jobs became pending or
// ceased to be.
func (o *lookout) expectPending(t *turn) {
	for queue := range t.plan.wants {
		if !t.more[queue] || t.promoted > t.due {
			delete(o.further.noPending, queue)
		}
	}
}

// view returns what this worker looks for.
func (o *lookout) view() engine.Look { return engine.Look{Kinds: o.env.kinds, Now: o.env.store.Now()} }

// sourcesMayHave reports whether a further source may have jobs.
func (o *lookout) sourcesMayHave(read engine.Next) bool {
	return slices.ContainsFunc(o.env.sources, func(s Source) bool { return s.MayHave(read) })
}

// sourceQueues returns the queues of a list in which a further source may have jobs to claim, and when a source has jobs again.
func (o *lookout) sourceQueues(ctx context.Context, q db.Querier, read engine.Next, queues []string) (found []string, next time.Time, err error) {
	for _, s := range o.env.sources {
		if !s.MayHave(read) {
			continue
		}
		list, again, err := s.Queues(ctx, q, o.view(), queues)
		if err != nil {
			return nil, next, err
		}
		found, next = append(found, list...), core.Earlier(next, again)
	}
	slices.Sort(found)
	return slices.Compact(found), next, nil
}

// sourcesUnfinished reports whether a further source has jobs for which a drain waits.
func (o *lookout) sourcesUnfinished(ctx context.Context, q db.Querier, read engine.Next, queues []string) (bool, error) {
	look := o.view()
	if engine.ClockStands(o.env.store) {
		look.Until = look.Now // the drain would wait for ever
	}
	for _, s := range o.env.sources {
		if !s.MayHave(read) {
			continue
		}
		if has, err := s.HasUnfinished(ctx, q, look, queues); has || err != nil {
			return has, err
		}
	}
	return false, nil
}

// keepOnly removes from wants, and from the claimable queues, every queue of wants without claimable jobs.
func (o *lookout) keepOnly(wants map[string]int64, claimable []string) {
	has := make(map[string]bool, len(claimable))
	for _, queue := range claimable {
		has[queue] = true
	}
	for queue := range wants {
		if !has[queue] {
			delete(wants, queue)
			delete(o.claimable, queue)
		}
	}
}

// hasUnfinished reports whether a drain must wait: for a job that another worker runs and that could come back, or for a job that is due
// now or in a moment. A fault counts as such a job.
func (o *lookout) hasUnfinished(ctx context.Context) bool {
	var unfinished bool
	ahead, store := drainAhead, o.env.store
	if engine.ClockStands(store) {
		ahead = 0 // the drain would wait for ever
	}
	soon := core.Micros(store.Now().Add(ahead))
	err := store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		n, err := q.HasUnfinishedJobs(ctx, db.HasUnfinishedJobsParams{Queues: core.JSONNames(o.served.names), Kinds: o.env.kinds, Now: soon})
		if unfinished = n > 0; err != nil || unfinished {
			return err
		}
		read, err := q.GetNextRunAfter(ctx)
		if err == nil {
			unfinished, err = o.sourcesUnfinished(ctx, q, read, o.served.names)
		}
		return err
	})
	return err != nil || unfinished
}

// learnFrom updates what is known after a turn that claimed, or may have.
func (o *lookout) learnFrom(t *turn, behind bool) {
	p := &t.plan
	o.notice.learn(len(t.claimed) > 0)
	o.expectPending(t)
	next := core.Earlier(o.next, o.further.limited())
	for queue := range p.wants {
		o.claimable[queue] = t.mayHaveMore(queue)
	}
	if len(p.ended) == 0 && len(t.claimed) == 0 && !behind && (len(p.wants) > 0 || t.promoted == 0) {
		// Another worker claimed the job first, or a job is pending before its time: by SQL, or because the clock was set
		// back. An overdue locked job must not set the timer.
		again := o.env.store.Now().Add(min(lookSoonest<<min(o.misses, 10), lookLast))
		if next.IsZero() || next.After(again) || t.promoted == 0 && (t.promote > 0 || p.limited) {
			next = again
		}
		o.misses++
		o.backoff.ClaimedNothing()
	} else {
		o.misses = 0
	}
	o.setAlarm(next)
}

// setAlarm sets when the loop looks again by itself. next is when a job falls due; the zero time: never.
func (o *lookout) setAlarm(next time.Time) { o.alarm.Set(o.nextLook(next)) }

// nextLook returns the time of the loop's next look without a signal; the zero time means never. next is the due time of a job.
func (o *lookout) nextLook(next time.Time) time.Time {
	if o.env.config.Drain {
		return core.Earlier(next, o.env.store.Now().Add(min(drainFirst<<min(max(o.emptyLooks, o.misses), 10), drainLast)))
	}
	return next
}
