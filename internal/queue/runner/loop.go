package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/sqluice/sqluice/internal/queue/clock"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// loop is the producer of a run: it rests, looks, makes a plan and commits it. A plan's one transaction records ends and claims jobs. Only
// the goroutine that runs it touches its fields.
type loop struct {
	env       *env
	ledger    *ledger
	slots     *slots
	executor  *executor
	completer *completer
	refusals  refusals

	served     subscription
	alarm      *clock.Alarm
	claimable  map[string]bool // queues that may hold jobs to claim
	behind     bool            // more jobs are due than were promoted
	next       time.Time       // when the first scheduled job falls due, as far as is known; the zero time: none is scheduled
	trouble    *outage.Outage  // failed writes since the last that succeeded
	took       time.Duration   // the time of the last cycle's write
	batch      batchSize
	misses     int // cycles in a row that claimed nothing although a look found jobs
	emptyLooks int // looks in a row that found nothing
	notice     notice
	backoff    engine.Backoff
}

// notice records whether notifications of jobs lead to claims.
type notice struct {
	notified bool // a notification has come since the last cycle
	trusted  bool // the last notification led to a claim: the loop claims after the next one without a look first
}

// judge sets whether the notification that woke the loop led to a claim. Where many workers wait for the same jobs, most
// of them come too late, and a look costs less than a claim in vain.
func (n *notice) judge(claimed bool) {
	if n.notified {
		n.notified, n.trusted = false, claimed
	}
}

// run runs until ctx has ended and nothing is left to record, a drain is complete, or the database is unusable.
func (l *loop) run(ctx context.Context) error {
	defer func() { l.served.unlisten() }()
	defer l.alarm.Stop()
	l.serve()
	for {
		if l.env.served.version.Load() != l.served.version {
			l.serve()
		}
		done, err := l.step(ctx)
		if done {
			return err
		}
	}
}

// step rests, looks, or makes one cycle. done means that the run is over.
func (l *loop) step(ctx context.Context) (done bool, err error) {
	if fatal, _ := l.ledger.faults(); fatal != nil {
		return true, l.abort(fatal)
	}
	if l.env.writing.Err() != nil {
		return true, l.unrecorded(context.Cause(l.env.writing))
	}
	l.ledger.gather(l.took)
	l.takeWake()
	stopping := ctx.Err() != nil
	if stopping {
		l.behind = false
		l.ledger.resume((*Attempt).isLocked) // a stopping run waits for the lock, as long as it may
	}
	p := l.takeWork(stopping)
	working := len(p.ended) > 0 || p.behind
	if len(p.wants) == 0 && !working {
		if stopping && l.ledger.isIdle() {
			return true, l.end()
		}
		l.rest()
		return false, nil
	}
	if found, drained := l.lookFirst(ctx, p, working); drained {
		return true, l.end()
	} else if !found {
		return false, nil
	}
	p.due = l.next
	p.simple = l.claimsOnly(p)
	if err := l.commit(ctx, p, stopping); err != nil {
		return true, err
	}
	// A job that is pending before its time is found by each look, and claimed by no cycle.
	if l.env.config.Drain && l.misses > 0 && l.drained(ctx) {
		return true, l.end()
	}
	return false, nil
}

// end ends the run: refused ends are tried for the last time.
func (l *loop) end() error {
	if err := l.completer.recordRefused(); err != nil {
		return l.unrecorded(err)
	}
	return l.slots.stuck()
}

// abort cancels the handlers, whose work can no longer be recorded, and waits a while for them to return.
func (l *loop) abort(cause error) error {
	l.ledger.cancelHandlers(jobtype.ErrStopping)
	timer := time.NewTimer(l.env.config.StuckAfter)
	defer timer.Stop()
	for {
		stuck := l.slots.stuck()
		if stuck == nil {
			return cause
		}
		select {
		case <-l.ledger.changed:
		case <-timer.C:
			return errors.Join(cause, stuck)
		}
	}
}

// unrecorded returns the error of a run that could not record ends because of err.
func (l *loop) unrecorded(err error) error {
	if cause := context.Cause(l.env.writing); cause != nil {
		err = cause // not the end of the context, as in a stop that recorded everything
	}
	n := len(l.ledger.attempts())
	if n == 0 {
		return l.slots.stuck()
	}
	return errors.Join(fmt.Errorf("ends of attempts that could not be recorded, whose jobs run again: %d: %w", n, err), l.slots.stuck())
}

// takeWork returns a plan with the ended attempts and, unless the run is stopping, the jobs that the queues could take. It takes both at
// one moment: the job of each free slot that it finds is recorded in the same cycle, which spares another one.
func (l *loop) takeWork(stopping bool) plan {
	p := plan{behind: l.behind}
	l.ledger.do(func() {
		p.ended = l.ledger.takeEnded()
		if !stopping {
			p.wants, p.slots = l.demand(len(p.ended) > 0)
		}
	})
	p.many = len(p.wants) > lookEach
	return p
}

// demand returns the number of jobs that each queue that may have jobs could take, and the number of these that begin at once. worth says
// that there is a cycle anyway. Callers hold the ledger's mutex.
func (l *loop) demand(worth bool) (wants, free map[string]int64) {
	wants, free = make(map[string]int64, len(l.claimable)), make(map[string]int64, len(l.claimable))
	if l.completer.presence.workerID() == 0 || len(l.ledger.refused) >= refusedMost {
		return wants, free // declared dead and not registered anew yet, or the ends of jobs could not be recorded
	}
	for queue, may := range l.claimable {
		if !may {
			continue
		}
		q := l.slots.queues[queue]
		if q == nil { // the queue was removed since it became claimable
			delete(l.claimable, queue)
			continue
		}
		if n := l.completer.steps.narrowed(l, queue, q.wants(l.took, worth)); n > 0 {
			wants[queue], free[queue] = int64(n), int64(q.free())
		}
	}
	return wants, free
}

// claimsOnly reports whether a plan only claims from one queue, for free slots, after a notification, as for the first job after a
// rest. An engine for which each statement is a round trip then sends the claim and its commit in one, in place of three. The claim
// takes nothing when a scheduled job is due; another cycle then promotes and claims. While a suspect job runs claimsOnly returns
// false, because the claim could take a job that must wait for that one.
func (l *loop) claimsOnly(p plan) bool {
	if len(p.ended) > 0 || p.behind || len(p.wants) != 1 || !l.notice.notified || !l.next.IsZero() && !l.next.After(l.env.store.Now()) {
		return false
	}
	suspects := 0
	if l.ledger.do(func() { suspects = l.slots.suspects }); suspects > 0 {
		return false
	}
	for queue, n := range p.wants {
		return n <= p.slots[queue]
	}
	return false
}

// commit commits a plan and applies its results. Its error ends the run.
func (l *loop) commit(ctx context.Context, p plan, stopping bool) error {
	again, err := p.ended, error(nil)
	old := refusedBefore(p.ended)
	if !l.refusals.listing && !old {
		_, err = l.commitOne(ctx, p)
	}
	if l.refusals.listing || old || err != nil && l.env.store.RefusesRow(err) {
		again, err = l.refusals.commit(ctx, p, err)
	}
	if err != nil {
		return l.failed(again, err, stopping)
	}
	l.trouble.Over("the database works again")
	return nil
}

// commitOne commits a plan in one transaction. While the run is stopping it does not wait for locked rows: it first records the
// ends without a lock, and the locked ones while there is time.
func (l *loop) commitOne(ctx context.Context, p plan) (outcome, error) {
	writing := l.env.writing
	if ctx.Err() != nil && len(p.ended) > 0 {
		writing = engine.Briefly(writing)
	}
	var number uint64
	l.ledger.do(func() { number = l.ledger.cycles.begin() })
	c := l.completer.cycle(p)
	err := c.commit(writing)
	if err == nil {
		l.took = c.did.took
		l.follow(c)
	}
	l.ledger.do(func() { l.ledger.cycles.end(number) })
	return c.did, err
}

// stoppingPause is the longest pause before a stopping run tries an end again that had to wait for a lock.
const stoppingPause = 200 * time.Millisecond

// failed keeps the ends of a plan that was not committed and waits; its error ends the run.
func (l *loop) failed(ended []*Attempt, err error, stopping bool) error {
	store := l.env.store
	if fatal := outage.Unusable(err); fatal != nil {
		return l.abort(fatal)
	}
	if errors.Is(err, jobtype.ErrUnknownOutcome) {
		for _, a := range ended {
			a.end.Apart = true
		}
	}
	if lifecycle.IsLocked(store, err) && len(ended) > 0 {
		if ended, err = l.completer.recordSplit(ended, stopping); err == nil {
			l.lookEverywhere() // a look before the cycle has left some queues out
			return nil
		}
	}
	l.ledger.putBack(ended)
	attrs := []any{"error", err}
	if len(ended) > 0 {
		attrs = append(attrs, "outcomes", len(ended))
	}
	l.trouble.Failed(slog.LevelError, "cannot write to the database; trying again", attrs...)
	pause := outage.Backoff(l.trouble.Failures())
	switch {
	case stopping && lifecycle.IsLocked(store, err):
		pause = min(pause, stoppingPause)
	case stopping && l.ledger.handlersEnded() && l.trouble.Lasts() >= l.env.config.Stop:
		return l.unrecorded(err)
	}
	l.lookEverywhere() // a look before the cycle has left some queues out
	outage.Sleep(l.env.writing, pause)
	return nil
}

// rest waits until there may be work.
func (l *loop) rest() {
	wake := l.served.wake
	var over <-chan time.Time
	if wait := time.Until(l.backoff.QuietUntil()); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		wake, over = nil, timer.C
	}
	l.ledger.setActivity(resting)
	defer l.ledger.setActivity(working)
	select {
	case <-l.ledger.changed:
		runtime.Gosched() // handlers that are about to end join the next cycle
	case <-wake:
		l.lookEverywhere()
		l.notice.notified = true
	case <-l.alarm.Ring():
		l.lookEverywhere()
		tellWoken(l.env.observer, jobtype.WakeTimer)
	case <-over:
	}
}

// follow updates the loop's state after a cycle is committed, and starts the jobs that it claimed.
func (l *loop) follow(c *cycle) {
	p, did := &c.plan, &c.did
	tellCycle(l.env.observer, len(p.ended), len(did.claimed), int(did.promoted), did.took)
	l.batch = l.batch.learn(len(p.ended)+len(did.claimed), did.held)
	l.completer.recorded(c)
	if p.listed == nil && p.promotes(l.env.store.Now()) {
		l.behind = did.promoted > 0 && did.promoted == did.promote
		if did.looked {
			l.next = did.next
		}
	}
	if len(did.claimed) > 0 {
		l.emptyLooks = 0
		l.refusals.triedAll = false
		l.backoff.Claimed()
	}
	if len(p.wants) > 0 || p.many {
		l.followClaim(p, did)
	}
	if did.promoted > 0 {
		l.lookEverywhere() // promoted jobs may be in any queue, also in one that was not claimed from just now
	}
	l.slots.pausePrefetch(did.returned)
	l.executor.dispatch(did.claimed)
	if signals := c.signals(); signals != 0 {
		l.env.store.Announce(signals)
	}
}

// followClaim decides which queues to look at again, and when.
func (l *loop) followClaim(p *plan, did *outcome) {
	l.notice.judge(len(did.claimed) > 0)
	next := l.next
	for queue := range p.wants {
		// A short claim may have missed rows that another worker had locked and then did not take: a look, which takes no
		// locks, shows them.
		l.claimable[queue] = did.more[queue] || did.short[queue] || !did.looked
	}
	if len(p.ended) == 0 && len(did.claimed) == 0 && !l.behind && (len(p.wants) > 0 || did.promoted == 0) {
		// Another worker claimed the job first, or a job is pending before its time: by SQL, or because the clock was set
		// back. An overdue locked job must not set the timer.
		again := l.env.store.Now().Add(min(lookSoonest<<min(l.misses, 10), lookLast))
		if next.IsZero() || next.After(again) || did.promoted == 0 && did.promote > 0 {
			next = again
		}
		l.misses++
		l.backoff.ClaimedNothing()
	} else {
		l.misses = 0
	}
	l.alarm.Set(l.nextLook(next))
}

// nextLook returns when the loop looks again by itself; the zero time means never. next is when a job falls due.
func (l *loop) nextLook(next time.Time) time.Time {
	if l.env.config.Drain {
		return core.Earlier(next, l.env.store.Now().Add(min(drainFirst<<min(max(l.emptyLooks, l.misses), 10), drainLast)))
	}
	return next
}
