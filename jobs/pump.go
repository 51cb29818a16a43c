package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

const (
	// claimMost is how many jobs of one queue one statement claims.
	claimMost = 1000

	// The bounds of the pause after a write that failed.
	pauseFirst = 50 * time.Millisecond
	pauseLast  = 5 * time.Second

	// triesAtStop is how many failed writes in a row a stopping runner puts up with.
	triesAtStop = 5

	// The bounds of when the pump looks again after it found a job that it could not claim. Another worker may hold its
	// row locked for the time of a claim and then not take it; and it may be pending before its time.
	lookFirst = time.Millisecond
	lookLast  = time.Second

	// lockedPause is the time after which an outcome whose row is locked by another transaction is tried again.
	lockedPause = 10 * time.Second

	// The bounds of when a draining runner looks again whether others' jobs have ended: most of them soon have.
	drainFirst = time.Millisecond
	drainLast  = 100 * time.Millisecond

	// drainAhead is how soon a job must fall due for a draining runner to wait for it: more than the clocks of the runner and of
	// a program that has just inserted a job differ by.
	drainAhead = 50 * time.Millisecond
)

// pump is the loop of a session that records outcomes and claims jobs, both in one transaction. Its fields are its own: only the goroutine that runs it touches them.
type pump struct {
	*session
	queues   []string
	wake     <-chan struct{}
	alarm    *alarm
	hungry   map[string]bool // queues that may hold jobs to claim
	behind   bool            // more jobs are due than were promoted
	next     time.Time       // when the first scheduled job falls due, as far as is known; the zero time: none is scheduled
	trouble  *outage         // writes that failed, since the last that did not
	took     time.Duration   // the time of the last turn's write
	portion  portion         // how many jobs of a queue a turn claims
	misses   int             // turns that claimed nothing though there was something, since the last that did
	woken    bool            // by a notification of a job
	trusting bool            // the last notification led to a claim: the pump claims after the next one without a look first
	vain     int             // looks in a row that found nothing
	late     int             // how many times in a row others were faster
	stood    bool            // it has stood back since it found a job
	quiet    time.Time       // until when the pump ignores notifications
}

// pump runs until ctx has ended and nothing is left to record, a drain is complete, or the database is unusable.
func (s *session) pump(ctx context.Context) error {
	queues := slices.Sorted(maps.Keys(s.config.Queues))
	wake, stop := s.store.Listen(WorkReady, queues)
	defer stop()
	p := &pump{
		session: s, queues: queues, wake: wake, alarm: newAlarm(s.store.Now),
		hungry: map[string]bool{}, trouble: newOutage(s.log), portion: firstPortion(s.store.WritesAlone()),
	}
	defer p.alarm.stop()
	p.starve()
	for {
		if fatal := s.fatalError(); fatal != nil {
			return s.abort(fatal)
		}
		p.gather()
		stopping := ctx.Err() != nil
		if stopping {
			p.behind = false
		}
		outcomes, wants, slots := p.take(stopping)
		if len(outcomes) == 0 && !p.behind {
			if len(wants) == 0 {
				if stopping && s.idle() {
					return s.stuck()
				}
				p.rest()
				continue
			}
			if !p.woken || !p.trusting {
				if found, drained := p.look(ctx, wants); drained {
					return s.stuck()
				} else if !found || p.stands() {
					continue
				}
			}
		}
		t := &turn{session: s, outcomes: outcomes, wants: wants, slots: slots, worth: len(outcomes) > 0, behind: p.behind}
		t.lone = p.claimsAlone(t)
		if err := p.do(ctx, t, stopping); err != nil {
			return err
		}
		// A job that is pending before its time is found by each look, and claimed by no turn.
		if p.drain && p.misses > 0 && p.drained(ctx, p.queues) {
			return s.stuck()
		}
	}
}

// do commits a turn and does what follows from it.
func (p *pump) do(ctx context.Context, t *turn, stopping bool) error {
	p.mu.Lock()
	number := p.begin()
	p.mu.Unlock()
	err := t.commit(context.WithoutCancel(ctx))
	if err == nil {
		p.took = t.took
		p.follow(t)
	}
	p.mu.Lock()
	p.end(number)
	p.mu.Unlock()
	if err != nil {
		return p.failed(t, err, stopping)
	}
	p.trouble.over("the database works again")
	return nil
}

// starve makes the pump look at all its queues.
func (p *pump) starve() {
	for _, queue := range p.queues {
		p.hungry[queue] = true
	}
}

// rest waits until there may be something to do.
func (p *pump) rest() {
	wake := p.wake
	var over <-chan time.Time
	if wait := time.Until(p.quiet); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		wake, over = nil, timer.C
	}
	p.setResting(true)
	defer p.setResting(false)
	select {
	case <-p.settled:
		runtime.Gosched() // handlers that are about to end as well join the next turn
	case <-wake:
		p.starve()
		p.woken = true
	case <-p.alarm.ring:
		p.starve()
		tellWoken(p.observer, WakeTimer)
	case <-over:
	}
}

func (s *session) setResting(resting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting = resting
}

// look finds out without the write lock whether a turn would claim anything; drained means that the run is over. A
// fault counts as found: the turn meets it again and deals with it.
func (p *pump) look(ctx context.Context, wants map[string]int64) (found, drained bool) {
	found, next, err := p.peek(ctx, wants)
	if err != nil {
		return ctx.Err() == nil, false
	}
	p.next = next
	if found {
		return true, false
	}
	if p.drain && p.drained(ctx, p.queues) {
		return false, true
	}
	p.trouble.over("the database works again")
	p.misses = 0
	p.heard(false)
	p.vain++
	if p.stood {
		p.stood = false
		p.late++
	}
	p.quiet = time.Now().Add(p.calm(p.vain))
	for queue := range wants { // and no other: one without a free slot was not looked at
		delete(p.hungry, queue)
	}
	p.alarm.set(p.sleep(next))
	return false, false
}

// heard notes whether the notification that woke the pump led to a claim. Where many workers wait for the same jobs, most of
// them come too late, and a look costs less than a claim in vain.
func (p *pump) heard(worth bool) {
	if p.woken {
		p.woken, p.trusting = false, worth
	}
}

// follow updates the pump's state after a turn is committed.
func (p *pump) follow(t *turn) {
	tellTurned(p.observer, t)
	if p.store.WritesAlone() {
		p.portion = p.portion.learn(len(t.outcomes)+len(t.claimed), t.held)
	}
	p.recorded(t)
	if t.promotes() {
		p.behind = t.promoted > 0 && t.promoted == t.promote
		if !t.lone {
			p.next = t.next
		}
	}
	if len(t.claimed) > 0 {
		p.vain, p.late, p.stood = 0, 0, false
	}
	if len(t.wants) > 0 {
		p.heard(len(t.claimed) > 0)
		next := p.next
		for queue := range t.wants {
			// A claim that came short may have missed rows that another worker had locked and then did not take: a look, which
			// takes no locks, tells.
			p.hungry[queue] = t.more[queue] || t.short[queue] || t.lone
		}
		if !t.worth && len(t.claimed) == 0 && !p.behind {
			// Another worker claimed the job first, or a job is pending before its time: by SQL, or because the clock was set
			// back. An overdue locked job must not set the timer.
			again := p.store.Now().Add(min(lookFirst<<min(p.misses, 10), lookLast))
			if next.IsZero() || next.After(again) || t.promoted == 0 && t.promote > 0 {
				next = again
			}
			p.misses++
			p.late++
		} else {
			p.misses = 0
		}
		p.alarm.set(p.sleep(next))
	}
	if t.promoted > 0 {
		p.starve() // they may be for any queue, also for one that was not claimed from just now
	}
	p.keepFrom(t.returned)
	p.dispatch(t.claimed)
	if signals := t.signals(); signals != 0 {
		p.store.Announce(signals)
	}
}

// failed keeps the outcomes of a turn that was not committed and waits; its error ends the run.
func (p *pump) failed(t *turn, err error, stopping bool) error {
	if fatal := unusable(err); fatal != nil {
		return p.abort(fatal)
	}
	outcomes := t.outcomes
	if errors.Is(err, ErrUnknownOutcome) {
		for i := range outcomes {
			outcomes[i].apart = true
		}
	}
	if busy := errors.Is(err, ErrBusy); len(outcomes) > 0 && (busy || !p.store.CanRetry(err)) {
		outcomes = p.recordApart(outcomes)
		if busy && len(outcomes) > 0 && !stopping {
			// Another transaction has locked these rows, perhaps for long: the other outcomes are recorded without them.
			p.putBackLater(outcomes)
			outcomes = nil
		}
	}
	p.putBack(outcomes)
	p.trouble.failed(slog.LevelError, "cannot write to the database; trying again", "error", err, "outcomes", len(outcomes))
	if stopping && p.trouble.failures > triesAtStop {
		return fmt.Errorf("outcomes that could not be recorded, and whose leases will run out: %d: %w", len(outcomes), err)
	}
	time.Sleep(backoff(p.trouble.failures))
	return nil
}

// backoff is the pause after the nth failure in a row.
func backoff(n int) time.Duration { return min(pauseFirst<<min(n-1, 10), pauseLast) }

// take takes what waits to be recorded and, unless the run is stopping, looks what the queues could take. It does both at one
// moment: the job of each slot that it finds free is recorded in the same turn, which is spared another one for it.
func (p *pump) take(stopping bool) (outcomes []outcome, wants, slots map[string]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	outcomes = p.takeOutcomes()
	if !stopping {
		wants, slots = p.free(len(outcomes) > 0)
	}
	return outcomes, wants, slots
}

// takeOutcomes takes not more results than one transaction should write. Callers hold mu.
func (s *session) takeOutcomes() []outcome {
	size := 0
	for i, o := range s.outcomes {
		if o.result != nil {
			size += len(*o.result)
		}
		if size > bulkBytes && i > 0 {
			taken := s.outcomes[:i:i]
			s.outcomes = s.outcomes[i:]
			return taken
		}
	}
	taken := s.outcomes
	s.outcomes = make([]outcome, 0, len(taken)) // about as many will come again
	return taken
}

// putBack keeps outcomes that could not be recorded for the next turn.
func (s *session) putBack(outcomes []outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = append(outcomes, s.outcomes...)
}

// putBackLater keeps outcomes whose rows are locked, for a turn some seconds later.
func (s *session) putBackLater(outcomes []outcome) {
	time.AfterFunc(lockedPause, func() {
		s.putBack(outcomes)
		s.signal()
	})
}

// free is how many jobs each hungry queue could take, and for how many of them it has slots; worth says that there is a
// turn anyway. Callers hold mu.
func (p *pump) free(worth bool) (wants, slots map[string]int64) {
	wants, slots = map[string]int64{}, map[string]int64{}
	if p.worker.id == 0 {
		return wants, slots // declared dead and not registered anew yet
	}
	suspects := p.config.OnBoot == OnBootFailed // then a crash costs more than an attempt
	for _, l := range p.lanes {
		suspects = suspects || l.suspects > 0
	}
	for queue, hungry := range p.hungry {
		if !hungry {
			continue
		}
		l := p.lanes[queue]
		if n := min(l.wants(p.took, worth, suspects), p.portion.of(l.slots)); n > 0 {
			wants[queue], slots[queue] = int64(n), int64(l.free())
		}
	}
	return wants, slots
}

// idle reports whether nothing is left to record, no handler is waited for, and no job is being handed over.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) == 0 && len(s.outcomes) == 0 && len(s.open) == 0
}

// peek reads whether there is anything to claim or promote, and when the next job falls due.
func (s *session) peek(ctx context.Context, wants map[string]int64) (found bool, next time.Time, err error) {
	err = s.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		us, err := q.GetNextRunAfter(ctx)
		if err != nil {
			return err
		}
		next = core.Time(us)
		found = us != 0 && us <= core.Micros(s.store.Now())
		for queue := range wants {
			if found {
				break
			}
			kinds, err := q.HasClaimableJobs(ctx, db.HasClaimableJobsParams{Kinds: s.kinds, Queue: queue})
			if err != nil {
				return err
			}
			found = kinds > 0
		}
		return nil
	})
	return found, next, err
}

// drained reports whether a drain is complete: nothing runs here, and no other worker runs what could come back.
func (s *session) drained(ctx context.Context, queues []string) bool {
	if !s.idle() {
		return false
	}
	var unfinished int64
	soon := core.Micros(s.store.Now().Add(drainAhead))
	err := s.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		unfinished = 0
		for _, queue := range queues {
			n, err := q.HasUnfinishedJobs(ctx, db.HasUnfinishedJobsParams{Queue: queue, Kinds: s.kinds, Now: soon})
			if err != nil {
				return err
			}
			unfinished += n
		}
		return nil
	})
	return err == nil && unfinished == 0
}

// sleep is when the pump has to look again by itself; the zero time means never.
func (p *pump) sleep(next time.Time) time.Time {
	if p.drain {
		return core.Earlier(next, p.store.Now().Add(min(drainFirst<<min(max(p.vain, p.misses), 10), drainLast)))
	}
	return next
}

// recorded takes what was recorded off the list of running attempts.
func (s *session) recorded(t *turn) {
	s.mu.Lock()
	for _, o := range t.outcomes {
		s.forget(o.attempt)
	}
	s.noteRecorded(t)
	s.mu.Unlock()
	for _, o := range t.lost {
		o.attempt.recorded = fateLost
		s.log.Warn("the lease was lost: the attempt's end was refused", o.attempt.attrs()...)
	}
	for _, o := range t.outcomes {
		if o.fate == fateRelease {
			s.log.Info("job given back unfinished", o.attempt.attrs()...)
		}
		if o.cause != "" {
			s.log.Warn("attempt failed", append(o.attempt.attrs(), "cause", o.cause, "error", o.message, "retry", o.fate == fateRetry)...)
		}
		tellFinished(s.observer, o, o.attempt.recorded)
	}
}

// abort cancels the handlers, whose work cannot be recorded any more, and waits a while for them to return.
func (s *session) abort(cause error) error {
	s.endHandlers(ErrStopping)
	timer := time.NewTimer(s.config.StuckAfter)
	defer timer.Stop()
	for {
		stuck := s.stuck()
		if stuck == nil {
			return cause
		}
		select {
		case <-s.settled:
		case <-timer.C:
			return errors.Join(cause, stuck)
		}
	}
}

// unusable returns the error that ends the run, or nil when the pump must retry the write.
func unusable(err error) error {
	var schema *SchemaError
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrReplaced) || errors.As(err, &schema) {
		return err
	}
	return nil
}
