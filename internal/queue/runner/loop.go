package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

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
	committer *committer
	refusals  refusals
	lookout   lookout

	behind  bool           // more jobs are due than were promoted
	trouble *outage.Outage // failed writes since the last that succeeded
	took    time.Duration  // the time of the last cycle's write
	batch   batchSize
}

// produce runs until ctx has ended and nothing is left to record, a drain is complete, or the database is unusable.
func (l *loop) produce(ctx context.Context) error {
	defer func() { l.lookout.served.unlisten() }()
	defer l.lookout.alarm.Stop()
	l.lookout.subscribe()
	for {
		if l.env.served.version.Load() != l.lookout.served.version {
			l.lookout.subscribe()
			l.slots.removeEmpty()
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
	l.lookout.takeWake()
	stopping := ctx.Err() != nil
	if stopping {
		l.behind = false
		l.ledger.resume((*Attempt).isLocked) // a stopping run waits for the lock, as long as it may
	}
	p := l.takeWork(stopping)
	working := len(p.ended) > 0 || p.behind
	if len(p.wants) == 0 && !working {
		if stopping && l.ledger.isIdle() {
			return true, l.finishRun()
		}
		l.rest()
		return false, nil
	}
	if found, drained := l.lookFirst(ctx, &p, working); drained {
		return true, l.finishRun()
	} else if !found {
		return false, nil
	}
	if err := l.commit(ctx, p, stopping); err != nil {
		return true, err
	}
	// A job that is pending before its time is found by each look, and claimed by no cycle.
	if l.env.config.Drain && l.lookout.misses > 0 && l.drained(ctx) {
		return true, l.finishRun()
	}
	return false, nil
}

// finishRun ends the run: refused ends are tried for the last time.
func (l *loop) finishRun() error {
	if err := l.committer.recordRefused(); err != nil {
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
	return errors.Join(fmt.Errorf("%d ends of attempts could not be recorded, and their jobs run again: %w", n, err), l.slots.stuck())
}

// takeWork returns a plan with the ended attempts and, unless the run is stopping, the jobs that the queues could take. It takes both
// while it holds the mutex: so the cycle that fills a free slot also records the job that freed it, and no second cycle is needed.
func (l *loop) takeWork(stopping bool) plan {
	p := plan{behind: l.behind}
	l.ledger.do(func() {
		p.ended = l.ledger.takeEnded()
		if !stopping {
			l.demand(&p)
		}
	})
	p.many = len(p.wants) > lookEach
	return p
}

// demand notes in a plan the number of jobs that each queue that may have jobs could take, and the number of these that begin at once.
// Callers hold the ledger's mutex.
func (l *loop) demand(p *plan) {
	n := len(l.lookout.claimable)
	p.wants, p.slots, p.quick = make(map[string]int64, n), make(map[string]int64, n), map[string]map[string]bool{}
	shared := l.lookout.sourcesMayHave(l.lookout.further.read)
	if l.committer.presence.workerID() == 0 || len(l.ledger.refused) >= refusedMost {
		return // declared dead and not registered anew yet, or the ends of jobs could not be recorded
	}
	for queue, may := range l.lookout.claimable {
		if !may {
			continue
		}
		q := l.slots.queues[queue]
		if q == nil { // the queue was removed since it became claimable
			delete(l.lookout.claimable, queue)
			continue
		}
		n := min(q.wants(l.took, len(p.ended) > 0), l.batch.of(q.total))
		if n = l.committer.steps.narrow(n, q.free(), l.slots.formerCrashes); n > 0 {
			p.wants[queue], p.slots[queue] = int64(n), int64(q.free())
			if shared {
				p.quick[queue] = q.prefetch.quickKinds(l.took)
			}
		}
	}
}

// claimsOnly reports whether a plan only claims from one queue, for free slots, after a notification, as for the first job after a
// rest. An engine for which each statement is a round trip then sends the claim and its commit in one, in place of three. The claim
// takes nothing when a scheduled job is due; another cycle then promotes and claims. While a suspect job runs claimsOnly returns
// false, because the claim could take a job that must wait for that one.
func (l *loop) claimsOnly(p plan) bool {
	next := l.lookout.next
	if len(p.ended) > 0 || p.behind || len(p.wants) != 1 || len(p.further) > 0 || !l.lookout.notice.notified ||
		!next.IsZero() && !next.After(l.env.store.Now()) || l.lookout.further.isDue(l.env.store.Now()) || p.whole {
		return false
	}
	formerCrashes := 0
	if l.ledger.do(func() { formerCrashes = l.slots.formerCrashes }); formerCrashes > 0 {
		return false
	}
	for queue, n := range p.wants {
		return n <= p.slots[queue]
	}
	return false
}

// lookFirst looks before a cycle that only claims, unless the last notification led to a claim. With many queues it keeps only those
// with jobs before every cycle, even one with other work. found is also false when the loop must look again.
func (l *loop) lookFirst(ctx context.Context, p *plan, working bool) (found, drained bool) {
	o := &l.lookout
	if working {
		if p.many {
			o.lookAlong(ctx, p)
		}
		return true, false
	}
	if o.notice.notified && o.notice.trusted && !p.many {
		return true, false
	}
	if !o.look(ctx, p.wants) {
		if ctx.Err() != nil {
			return false, false
		}
		if l.env.config.Drain && l.drained(ctx) {
			return false, true
		}
		l.trouble.Over("the database works again")
		o.foundNothing(p.wants)
		return false, false
	}
	if l.pauseBeforeClaim() {
		o.everywhere() // the look has left some queues out, and no timer is set
		return false, false
	}
	return true, false
}

// pauseBeforeClaim pauses where other workers were faster before, and returns true when the loop must look again.
func (l *loop) pauseBeforeClaim() bool {
	pause := l.lookout.backoff.PauseBeforeClaim()
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

// drained reports whether a drain is complete: no job runs here, and no other worker runs a job that could come back.
func (l *loop) drained(ctx context.Context) bool {
	if !l.ledger.isIdle() || l.lookout.hasUnfinished(ctx) {
		return false
	}
	if l.refusals.tryAll(ctx, l.lookout.sourcesMayHave(l.lookout.further.read)) {
		l.lookout.everywhere()
		return false
	}
	return true
}

// commit commits a plan and applies its results. Its error ends the run.
func (l *loop) commit(ctx context.Context, p plan, stopping bool) error {
	p.due = l.lookout.next
	if now := l.env.store.Now(); p.promotes(now) {
		p.limited, p.whole = l.lookout.further.isDue(now), l.lookout.further.read.Whole != 0
	}
	unshared := l.lookout.share(ctx, &p)
	if unshared != nil {
		clear(p.wants) // the plan still records the ends
	}
	p.simple = l.claimsOnly(p)
	again, err := p.ended, error(nil)
	old := refusedBefore(p.ended)
	if !l.refusals.listing && !old {
		_, err = l.commitOne(ctx, p)
	}
	if l.refusals.listing || old || err != nil && l.env.store.RefusesRow(err) {
		var did afterSplit
		did, again, err = l.refusals.commitInParts(ctx, p, err)
		l.afterSplit(did)
	}
	if err != nil {
		return l.afterFailure(again, err, stopping)
	}
	if unshared != nil && ctx.Err() == nil { // the end of the run interrupts the look: no failure
		return l.afterFailure(nil, unshared, stopping)
	}
	l.trouble.Over("the database works again")
	if len(p.ended) > 0 && len(l.env.sources) > 0 {
		l.lookout.everywhere() // the ends may let further jobs of a source run
	}
	return nil
}

// afterSplit applies the results of a plan that was split.
func (l *loop) afterSplit(did afterSplit) {
	o := &l.lookout
	if did.retried {
		o.everywhere()
	}
	if !did.listed {
		return
	}
	for queue, more := range did.more {
		o.claimable[queue] = more
	}
	l.behind, o.next, o.further.read = did.behind, did.next, did.read
	if o.misses++; did.moved {
		o.misses = 0
	}
	o.setAlarm(did.again)
}

// commitOne commits a plan in one transaction. While the run is stopping it does not wait for locked rows: it first records the
// ends without a lock, and the locked ones while there is time.
func (l *loop) commitOne(ctx context.Context, p plan) (*turn, error) {
	writing := l.env.writing
	if ctx.Err() != nil && len(p.ended) > 0 {
		writing = engine.Briefly(writing)
	}
	var number uint64
	l.ledger.do(func() { number = l.ledger.cycles.openCycle() })
	c, err := l.committer.runCycle(writing, p)
	if err == nil {
		l.took = c.turn.took
		l.apply(&c.turn)
	}
	l.ledger.do(func() { l.ledger.cycles.closeCycle(number) })
	return &c.turn, err
}

// stoppingPause is the longest pause before a stopping run tries an end again that had to wait for a lock.
const stoppingPause = 200 * time.Millisecond

// afterFailure keeps the ends of a plan that was not committed and waits; its error ends the run.
func (l *loop) afterFailure(ended []*Attempt, err error, stopping bool) error {
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
		if ended, err = l.committer.recordSplit(ended, stopping); err == nil {
			l.lookout.everywhere() // a look before the cycle has left some queues out
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
	l.lookout.everywhere() // a look before the cycle has left some queues out
	outage.Sleep(l.env.writing, pause)
	return nil
}

// rest waits until there may be work.
func (l *loop) rest() {
	o := &l.lookout
	wake := o.served.wake
	var over <-chan time.Time
	if wait := time.Until(o.backoff.QuietUntil()); wait > 0 {
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
		o.everywhere()
		o.notice.notified = true
	case <-o.alarm.Ring():
		o.everywhere()
		tellWoken(l.env.observer, jobtype.WakeTimer)
	case <-over:
	}
}

// apply updates the loop's state after a turn is committed, and starts the jobs that it claimed.
func (l *loop) apply(t *turn) {
	p, o := &t.plan, &l.lookout
	tellCycle(l.env.observer, len(p.ended), len(t.claimed), int(t.promoted), t.took)
	l.batch = l.batch.adjust(len(p.ended)+len(t.claimed), t.held)
	l.committer.completer.recorded(t)
	if !p.isListed() && p.promotes(l.env.store.Now()) {
		l.behind = t.promoted > t.waiting && t.promoted-t.waiting == t.promote || t.waiting >= promoteMost
		if t.looked {
			o.next, o.further.read = core.Time(t.next.RunAfter), t.next
		}
	}
	if len(t.claimed) > 0 {
		o.emptyLooks = 0
		l.refusals.triedAll = false
		o.backoff.Claimed()
	}
	if len(p.wants) > 0 || p.many {
		o.learnFrom(t, l.behind)
	}
	if t.looked && !p.shared && o.sourcesMayHave(t.next) {
		o.everywhere() // a source has got jobs since the last look
	}
	if t.promoted > 0 {
		o.everywhere() // promoted jobs may be in any queue, also in one that was not claimed from just now
	}
	l.slots.pausePrefetch(t.returned)
	l.executor.dispatch(t.claimed)
	if signals := t.made.Signals(); signals != 0 {
		l.env.store.Announce(signals)
	}
}
