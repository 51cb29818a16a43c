package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/clock"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// producer is the loop of a run that records ends and claims jobs, both in one transaction. Only the goroutine that runs
// it touches its fields.
type producer struct {
	*run
	steps      steps
	version    uint64   // of the queues
	names      []string // theirs
	wake       <-chan struct{}
	unlisten   func()
	alarm      *clock.Alarm
	claimable  map[string]bool // queues that may hold jobs to claim
	behind     bool            // more jobs are due than were promoted
	next       time.Time       // when the first scheduled job falls due, as far as is known; the zero time: none is scheduled
	trouble    *outage.Outage  // writes that failed, since the last that did not
	took       time.Duration   // the time of the last cycle's write
	batch      batchSize       // how many jobs of a queue a cycle claims
	misses     int             // cycles that claimed nothing though there was something, since the last that did
	notified   bool            // by a notification of a job, since the last cycle
	trusting   bool            // the last notification led to a claim: the producer claims after the next one without a look first
	emptyLooks int             // looks in a row that found nothing
	backoff    engine.Backoff
	apart      apart
}

// produce runs until ctx has ended and nothing is left to record, a drain is complete, or the database is unusable.
func (r *run) produce(ctx context.Context) error {
	p := &producer{
		run: r, steps: allSteps(), unlisten: func() {}, alarm: clock.NewAlarm(r.store.Now),
		claimable: map[string]bool{}, trouble: outage.New(r.log), batch: batchSlots,
		backoff: r.store.Backoff(r.rescuer.Workers),
	}
	defer func() { p.unlisten() }()
	defer p.alarm.Stop()
	p.apart.producer = p
	serve(p)
	for {
		if r.served.version.Load() != p.version {
			serve(p)
		}
		done, err := p.step(ctx)
		if done {
			return err
		}
	}
}

// serve takes in which queues there are: it listens for their jobs before it looks at them.
func serve(p *producer) {
	queues, version := p.served.Slots()
	p.version, p.names = version, slices.Sorted(maps.Keys(queues))
	wake, unlisten := p.store.Listen(core.WorkReady, p.names)
	p.unlisten()
	p.wake, p.unlisten = wake, unlisten
	p.mu.Lock()
	maps.DeleteFunc(p.queues, func(_ string, q *slots) bool { return q.isRemoved() })
	p.mu.Unlock()
	clear(p.claimable)
	p.lookEverywhere()
}

// step rests, looks, or makes one cycle. done means that the run is over.
func (p *producer) step(ctx context.Context) (done bool, err error) {
	if fatal := p.fatalError(); fatal != nil {
		return true, p.abort(fatal, p.config.StuckAfter)
	}
	if p.writing.Err() != nil {
		return true, p.unrecorded(context.Cause(p.writing))
	}
	p.gather()
	p.takeWake()
	stopping := ctx.Err() != nil
	if stopping {
		p.behind = false
		p.takeBack((*Attempt).isLocked) // a run that stops waits for the lock, as long as it may
	}
	ended, wants, free := p.take(stopping)
	many, working := len(wants) > lookEach, len(ended) > 0 || p.behind
	if len(wants) == 0 && !working {
		if stopping && p.idle() {
			return true, p.end()
		}
		p.rest()
		return false, nil
	}
	if found, drained := p.lookFirst(ctx, wants, ended, working); drained {
		return true, p.end()
	} else if !found {
		return false, nil
	}
	c := &cycle{
		completer: p.completer, executor: p.executor, steps: p.steps,
		ended: ended, wants: wants, slots: free, behind: p.behind, due: p.next, many: many,
	}
	c.simple = p.claimsOnly(c)
	if err := p.commit(ctx, c, stopping); err != nil {
		return true, err
	}
	// A job that is pending before its time is found by each look, and claimed by no cycle.
	if p.config.Drain && p.misses > 0 && p.drained(ctx) {
		return true, p.end()
	}
	return false, nil
}

// end ends the run: what was set aside is given up.
func (p *producer) end() error {
	if err := p.completer.giveUpAside(); err != nil {
		return p.unrecorded(err)
	}
	return p.stuck()
}

// lookFirst looks before a cycle that only claims, unless the last notification led to a claim. Of many queues it leaves those that
// have jobs before every cycle, also one that is working: that has other work anyway. found is also false when the producer must
// look again.
func (p *producer) lookFirst(ctx context.Context, wants map[string]int64, ended []*Attempt, working bool) (found, drained bool) {
	if working {
		if len(wants) > lookEach {
			p.lookAlong(ctx, wants, ended)
		}
		return true, false
	}
	if p.notified && p.trusting && len(wants) <= lookEach {
		return true, false
	}
	if found, drained = p.look(ctx, wants); !found || drained {
		return found, drained
	}
	if p.pauseBeforeClaim() {
		p.lookEverywhere() // the look has left some out, and no timer is set
		return false, false
	}
	return true, false
}

// commit commits a cycle and does what follows from it.
func (p *producer) commit(ctx context.Context, c *cycle, stopping bool) error {
	var err error
	if !p.apart.on && !refusedBefore(c.ended) {
		err = p.commitOne(ctx, c)
	}
	if p.apart.on || refusedBefore(c.ended) || err != nil && p.store.RefusesRow(err) {
		c, err = p.apart.commit(ctx, c, err)
	}
	if err != nil {
		return p.failed(c, err, stopping)
	}
	p.trouble.Over("the database works again")
	return nil
}

// commitOne commits a cycle in one transaction. While the run is stopping it does not wait for locked rows: the ends beside them are
// recorded first, and theirs while there is time.
func (p *producer) commitOne(ctx context.Context, c *cycle) error {
	writing := p.writing
	if ctx.Err() != nil && len(c.ended) > 0 {
		writing = engine.Briefly(writing)
	}
	p.mu.Lock()
	number := p.cycles.begin()
	p.mu.Unlock()
	err := c.commit(writing)
	if err == nil {
		p.took = c.took
		p.follow(c)
	}
	p.mu.Lock()
	p.cycles.end(number)
	p.mu.Unlock()
	return err
}

// lookEverywhere makes the producer look at all its queues.
func (p *producer) lookEverywhere() {
	for _, queue := range p.names {
		p.claimable[queue] = true
	}
}

// takeWake takes a notification between two cycles: while one of many queues has a backlog, the producer does not rest, and the others,
// which were looked at, must not wait for that.
func (p *producer) takeWake() {
	if len(p.names) <= lookEach || time.Until(p.backoff.QuietUntil()) > 0 {
		return
	}
	select {
	case <-p.wake:
		p.lookEverywhere()
	default:
	}
}

// rest waits until there may be something to do.
func (p *producer) rest() {
	wake := p.wake
	var over <-chan time.Time
	if wait := time.Until(p.backoff.QuietUntil()); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		wake, over = nil, timer.C
	}
	p.setResting(true)
	defer p.setResting(false)
	select {
	case <-p.changed:
		runtime.Gosched() // handlers that are about to end as well join the next cycle
	case <-wake:
		p.lookEverywhere()
		p.notified = true
	case <-p.alarm.Ring():
		p.lookEverywhere()
		tellWoken(p.observer, jobtype.WakeTimer)
	case <-over:
	}
}

// pauseBeforeClaim pauses where other workers were faster before, and returns true when the producer must look again.
func (p *producer) pauseBeforeClaim() bool {
	pause := p.backoff.PauseBeforeClaim()
	if pause == 0 {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.changed: // the cycle that records it claims as well
	}
	return true
}

// trust notes whether the notification that woke the producer led to a claim. Where many workers wait for the same jobs, most
// of them come too late, and a look costs less than a claim in vain.
func (p *producer) trust(worth bool) {
	if p.notified {
		p.notified, p.trusting = false, worth
	}
}

// follow updates the producer's state after a cycle is committed, and starts what it claimed.
func (p *producer) follow(c *cycle) {
	tellCycle(p.observer, len(c.ended), len(c.claimed), int(c.promoted), c.took)
	p.batch = p.batch.learn(len(c.ended)+len(c.claimed), c.held)
	p.completer.recorded(c)
	if c.promotes() && c.only == nil {
		p.behind = c.promoted > 0 && c.promoted == c.promote
		if c.looked {
			p.next = c.next
		}
	}
	if len(c.claimed) > 0 {
		p.emptyLooks = 0
		p.apart.triedAll = false
		p.backoff.Claimed()
	}
	if len(c.wants) > 0 || c.many {
		p.followClaim(c)
	}
	if c.promoted > 0 {
		p.lookEverywhere() // they may be for any queue, also for one that was not claimed from just now
	}
	p.executor.pausePrefetch(c.returned)
	p.executor.dispatch(c.claimed)
	if signals := c.signals(); signals != 0 {
		p.store.Announce(signals)
	}
}

// followClaim decides which queues to look at again, and when.
func (p *producer) followClaim(c *cycle) {
	p.trust(len(c.claimed) > 0)
	next := p.next
	for queue := range c.wants {
		// A claim that came short may have missed rows that another worker had locked and then did not take: a look, which
		// takes no locks, tells.
		p.claimable[queue] = c.more[queue] || c.short[queue] || !c.looked
	}
	if len(c.ended) == 0 && len(c.claimed) == 0 && !p.behind && (len(c.wants) > 0 || c.promoted == 0) {
		// Another worker claimed the job first, or a job is pending before its time: by SQL, or because the clock was set
		// back. An overdue locked job must not set the timer.
		again := p.store.Now().Add(min(lookSoonest<<min(p.misses, 10), lookLast))
		if next.IsZero() || next.After(again) || c.promoted == 0 && c.promote > 0 {
			next = again
		}
		p.misses++
		p.backoff.ClaimedNothing()
	} else {
		p.misses = 0
	}
	p.alarm.Set(p.nextLook(next))
}

// stoppingPause is the longest pause before a run that stops tries an end again that had to wait for a lock.
const stoppingPause = 200 * time.Millisecond

// failed keeps the ends of a cycle that was not committed and waits; its error ends the run.
func (p *producer) failed(c *cycle, err error, stopping bool) error {
	if fatal := outage.Unusable(err); fatal != nil {
		return p.abort(fatal, p.config.StuckAfter)
	}
	ended := c.ended
	if errors.Is(err, jobtype.ErrUnknownOutcome) {
		for _, a := range ended {
			a.end.Apart = true
		}
	}
	if lifecycle.IsLocked(p.store, err) && len(ended) > 0 {
		if ended, err = p.completer.recordApart(ended, stopping); err == nil {
			p.lookEverywhere() // a look before the cycle has left some out
			return nil
		}
	}
	p.putBack(ended)
	attrs := []any{"error", err}
	if len(ended) > 0 {
		attrs = append(attrs, "outcomes", len(ended))
	}
	p.trouble.Failed(slog.LevelError, "cannot write to the database; trying again", attrs...)
	pause := outage.Backoff(p.trouble.Failures())
	switch {
	case stopping && lifecycle.IsLocked(p.store, err):
		pause = min(pause, stoppingPause)
	case stopping && p.handlersEnded() && p.trouble.Lasts() >= p.config.Stop:
		return p.unrecorded(err)
	}
	p.lookEverywhere() // a look before the cycle has left some out
	outage.Sleep(p.writing, pause)
	return nil
}

// unrecorded is the error of a run that could not record ends because of err.
func (p *producer) unrecorded(err error) error {
	if cause := context.Cause(p.writing); cause != nil {
		err = cause // and not that the context has ended, as for a stop in which all was recorded
	}
	n := len(p.attempts())
	if n == 0 {
		return p.stuck()
	}
	return errors.Join(fmt.Errorf("ends of attempts that could not be recorded, whose jobs run again: %d: %w", n, err), p.stuck())
}

// take takes what waits to be recorded and, unless the run is stopping, how many jobs the queues could take. It does both at
// one moment: the job of each slot that it finds free is recorded in the same cycle, which is spared another one for it.
func (p *producer) take(stopping bool) (ended []*Attempt, wants, free map[string]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended = p.takeEnded()
	if !stopping {
		wants, free = p.demand(len(ended) > 0)
	}
	return ended, wants, free
}

// demand returns how many jobs each queue that may hold some could take, and for how many of them it has slots; worth says that there is
// a cycle anyway. Callers hold mu.
func (p *producer) demand(worth bool) (wants, free map[string]int64) {
	wants, free = make(map[string]int64, len(p.claimable)), make(map[string]int64, len(p.claimable))
	if p.worker.id == 0 || len(p.aside) >= asideMost {
		return wants, free // declared dead and not registered anew yet; or whatever it runs cannot be recorded
	}
	for queue, may := range p.claimable {
		if !may {
			continue
		}
		q := p.queues[queue]
		if q == nil { // removed since it became claimable
			delete(p.claimable, queue)
			continue
		}
		if n := p.narrowed(queue, q.wants(p.took, worth)); n > 0 {
			wants[queue], free[queue] = int64(n), int64(q.free())
		}
	}
	return wants, free
}

// nextLook returns when the producer looks again by itself; the zero time means never. next is when a job falls due.
func (p *producer) nextLook(next time.Time) time.Time {
	if p.config.Drain {
		return core.Earlier(next, p.store.Now().Add(min(drainFirst<<min(max(p.emptyLooks, p.misses), 10), drainLast)))
	}
	return next
}
