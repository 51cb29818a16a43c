package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
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
)

// lookFirst looks before a cycle that only claims, unless the last notification led to a claim. With many queues it keeps only those
// with jobs before every cycle, even one with other work. found is also false when the loop must look again.
func (l *loop) lookFirst(ctx context.Context, p plan, working bool) (found, drained bool) {
	if working {
		if p.many {
			l.lookAlong(ctx, p)
		}
		return true, false
	}
	if l.notice.notified && l.notice.trusted && !p.many {
		return true, false
	}
	if found, drained = l.look(ctx, p.wants); !found || drained {
		return found, drained
	}
	if l.pauseBeforeClaim() {
		l.lookEverywhere() // the look has left some queues out, and no timer is set
		return false, false
	}
	return true, false
}

// pauseBeforeClaim pauses where other workers were faster before, and returns true when the loop must look again.
func (l *loop) pauseBeforeClaim() bool {
	pause := l.backoff.PauseBeforeClaim()
	if pause == 0 {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ledger.changed: // the cycle that records the end claims as well
	}
	return true
}

// look reports without the write lock whether a cycle would claim anything; drained means that the run is over. With many
// queues it keeps only those in wants that have jobs. A fault counts as found: the cycle meets it again and handles it.
func (l *loop) look(ctx context.Context, wants map[string]int64) (found, drained bool) {
	found, next, err := l.peek(ctx, wants)
	if err != nil {
		return ctx.Err() == nil, false
	}
	l.next = next
	if found {
		return true, false
	}
	if l.env.config.Drain && l.drained(ctx) {
		return false, true
	}
	l.trouble.Over("the database works again")
	l.misses = 0
	l.notice.judge(false)
	l.emptyLooks++
	l.backoff.FoundNothing()
	for queue := range wants { // only these: a queue without a free slot was not looked at
		delete(l.claimable, queue)
	}
	l.alarm.Set(l.nextLook(next))
	return false, false
}

// lookAlong keeps only the queues with jobs in the plan, before a cycle that has other work anyway, and the queues that get jobs back
// from the ended attempts. After a fault it keeps all.
func (l *loop) lookAlong(ctx context.Context, p plan) {
	before := maps.Clone(p.wants)
	if _, next, err := l.peek(ctx, p.wants); err == nil {
		l.next = next
	}
	for _, a := range p.ended {
		if n, wanted := before[a.job.Queue]; wanted && a.end.Fate.Returns() {
			p.wants[a.job.Queue], l.claimable[a.job.Queue] = n, true
		}
	}
}

// peek reads whether there is anything to claim or promote, and when the next job falls due. With many queues it keeps only
// those in wants that have jobs; the others are no longer claimable.
func (l *loop) peek(ctx context.Context, wants map[string]int64) (found bool, next time.Time, err error) {
	var due bool
	var claimable []string
	store, kinds := l.env.store, l.env.kinds
	queues, many := slices.Collect(maps.Keys(wants)), len(wants) > lookEach
	err = store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		us, err := l.completer.steps.next(ctx, q)
		if err != nil {
			return err
		}
		next = core.Time(us)
		due = us != 0 && us <= core.Micros(store.Now())
		if found = due; many {
			claimable, err = store.Claims().ClaimableQueues(ctx, q, kinds, queues)
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
	if err != nil || !many {
		return found, next, err
	}
	l.keepOnly(wants, claimable)
	return due || len(wants) > 0, next, nil
}

// keepOnly removes from wants, and from the claimable queues, every queue of wants without claimable jobs.
func (l *loop) keepOnly(wants map[string]int64, claimable []string) {
	has := make(map[string]bool, len(claimable))
	for _, queue := range claimable {
		has[queue] = true
	}
	for queue := range wants {
		if !has[queue] {
			delete(wants, queue)
			delete(l.claimable, queue)
		}
	}
}

// drained reports whether a drain is complete: no job runs here, and no other worker runs a job that could come back.
func (l *loop) drained(ctx context.Context) bool {
	if !l.ledger.isIdle() {
		return false
	}
	var unfinished int64
	ahead, store := drainAhead, l.env.store
	if engine.ClockStands(store) {
		ahead = 0 // the drain would wait for ever
	}
	soon := core.Micros(store.Now().Add(ahead))
	err := store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		unfinished, err = q.HasUnfinishedJobs(ctx, db.HasUnfinishedJobsParams{Queues: core.JSONNames(l.served.names), Kinds: l.env.kinds, Now: soon})
		return err
	})
	return err == nil && unfinished == 0 && !l.refusals.tryAll(ctx)
}

// subscription is the loop's copy of the queues that it serves, with the notifications of their jobs.
type subscription struct {
	version  uint64   // the version of the queues
	names    []string // sorted
	wake     <-chan struct{}
	unlisten func()
}

// serve applies the queues of the run: it listens for their jobs before it looks at them.
func (l *loop) serve() {
	queues, version := l.env.served.Slots()
	names := slices.Sorted(maps.Keys(queues))
	wake, unlisten := l.env.store.Listen(core.WorkReady, names)
	l.served.unlisten()
	l.served = subscription{version, names, wake, unlisten}
	l.slots.removeEmpty()
	clear(l.claimable)
	l.lookEverywhere()
}

// lookEverywhere makes the loop look at all its queues.
func (l *loop) lookEverywhere() {
	for _, queue := range l.served.names {
		l.claimable[queue] = true
	}
}

// takeWake takes a notification between two cycles: while one of many queues has a backlog, the loop does not rest, and the others,
// which were looked at, must not wait for that.
func (l *loop) takeWake() {
	if len(l.served.names) <= lookEach || time.Until(l.backoff.QuietUntil()) > 0 {
		return
	}
	select {
	case <-l.served.wake:
		l.lookEverywhere()
	default:
	}
}
