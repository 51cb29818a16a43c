package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
)

const (
	// claimMost is how many jobs of one queue one statement claims.
	claimMost = 1000

	// The bounds of the pause after a write that failed.
	pauseFirst = 50 * time.Millisecond
	pauseLast  = 5 * time.Second

	// lookAgain is when the pump looks again after it found a job that it could not claim.
	lookAgain = time.Second

	// drainLook is how often a draining runner looks whether others' jobs have ended.
	drainLook = 100 * time.Millisecond
)

// pump is the loop that records outcomes and claims jobs, both in one transaction when there are both. It returns
// when ctx has ended and nothing is left to record, when a drain is complete, or when the database is unusable.
func (s *session) pump(ctx context.Context) error {
	signals := WorkReady
	if s.drain {
		signals |= JobEnded
	}
	wake, stop := s.store.Listen(signals)
	defer stop()
	alarm := newAlarm()
	defer alarm.stop()
	queues := slices.Sorted(maps.Keys(s.config.Queues))
	hungry := map[string]bool{} // queues that may hold jobs to claim
	starve := func() {
		for _, queue := range queues {
			hungry[queue] = true
		}
	}
	starve()
	behind := false // more jobs are due than were promoted
	failures := 0
	for {
		if fatal := s.fatalError(); fatal != nil {
			return s.abort(fatal)
		}
		stopping := ctx.Err() != nil
		outcomes := s.takeOutcomes()
		var wants map[string]int64
		if !stopping {
			wants = s.free(hungry)
		}
		behind = behind && !stopping
		if len(outcomes) == 0 && len(wants) == 0 && !behind {
			if stopping && s.idle() {
				return s.stuck()
			}
			select {
			case <-s.settled:
			case <-wake:
				starve()
			case <-alarm.ring:
				starve()
			}
			// Handlers that are about to end as well join this turn.
			runtime.Gosched()
			continue
		}
		if len(outcomes) == 0 && !behind {
			found, next, err := s.look(ctx, wants)
			if err == nil && !found {
				if s.drain && s.drained(ctx, queues) {
					return s.stuck()
				}
				for queue := range wants { // and no other: one without a free slot was not looked at
					delete(hungry, queue)
				}
				alarm.set(s.sleep(next))
				continue
			}
			if err != nil && ctx.Err() != nil {
				continue
			}
		}
		turn := &turn{session: s, outcomes: outcomes, wants: wants, behind: behind}
		if err := s.store.Write(context.WithoutCancel(ctx), turn.write); err != nil {
			if fatal := unusable(err); fatal != nil {
				return s.abort(fatal)
			}
			if len(outcomes) > 0 && !s.store.CanRetry(err) {
				outcomes = s.recordApart(outcomes)
			}
			s.putBack(outcomes)
			failures++
			s.log.Error("cannot write to the database; trying again", "error", err, "outcomes", len(outcomes), "failures", failures)
			if stopping && failures > 5 {
				return fmt.Errorf("%d outcomes could not be recorded; their leases will run out: %w", len(outcomes), err)
			}
			s.pause(failures)
			continue
		}
		failures = 0
		s.recorded(turn)
		if turn.promotes() {
			behind = turn.promoted > 0 && turn.promoted == turn.promote
		}
		if len(wants) > 0 {
			for queue := range wants {
				hungry[queue] = turn.more[queue]
			}
			if len(outcomes) == 0 && len(turn.claimed) == 0 && !behind {
				// Somebody was faster, or a job is pending before its time: by SQL, or because the clock was set back.
				turn.next = earlier(turn.next, s.store.Now().Add(lookAgain))
			}
			alarm.set(s.sleep(turn.next))
		}
		s.dispatch(turn.claimed)
		if signals := turn.signals(); signals != 0 {
			s.store.Announce(signals)
		}
	}
}

// takeOutcomes takes what waits to be recorded, but not more results than one transaction should write.
func (s *session) takeOutcomes() []outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	s.outcomes = nil
	return taken
}

// putBack keeps outcomes that could not be recorded for the next turn.
func (s *session) putBack(outcomes []outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = append(outcomes, s.outcomes...)
}

// free is how many jobs each hungry queue could take.
func (s *session) free(hungry map[string]bool) map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	wants := map[string]int64{}
	if s.worker.id == 0 {
		return wants // declared dead and not registered anew yet
	}
	for queue := range hungry {
		if n := s.config.Queues[queue] - s.active[queue]; n > 0 && hungry[queue] {
			wants[queue] = int64(min(n, claimMost))
		}
	}
	return wants
}

// idle reports whether nothing is left to record and no handler is waited for.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) == 0 && len(s.outcomes) == 0
}

// look finds out without the write lock whether a turn would claim anything.
func (s *session) look(ctx context.Context, wants map[string]int64) (found bool, next time.Time, err error) {
	err = s.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		us, err := q.GetNextRunAfter(ctx)
		if err != nil {
			return err
		}
		next = fromMicros(us)
		found = us != 0 && us <= toMicros(s.store.Now())
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
	err := s.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		unfinished = 0
		for _, queue := range queues {
			n, err := q.HasUnfinishedJobs(ctx, db.HasUnfinishedJobsParams{Queue: queue, Kinds: s.kinds})
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
func (s *session) sleep(next time.Time) time.Time {
	if s.drain {
		return earlier(next, s.store.Now().Add(drainLook))
	}
	return next
}

// earlier is the earlier of two times, of which a may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// recorded takes what was recorded off the list of running attempts.
func (s *session) recorded(t *turn) {
	s.mu.Lock()
	for _, o := range t.outcomes {
		delete(s.running, o.attempt.fence())
	}
	s.mu.Unlock()
	for _, o := range t.lost {
		s.log.Warn("the lease was lost: the attempt's end was refused", o.attempt.attrs()...)
	}
	for _, o := range t.outcomes {
		if o.fate == fateRelease {
			s.log.Info("job given back unfinished", o.attempt.attrs()...)
		}
		if o.cause != "" {
			s.log.Warn("attempt failed", append(o.attempt.attrs(), "cause", o.cause, "error", o.message, "retry", o.fate == fateRetry)...)
		}
	}
}

// dispatch starts the handlers of claimed jobs, best first.
func (s *session) dispatch(claimed []*attempt) {
	if len(claimed) == 0 {
		return
	}
	slices.SortFunc(claimed, func(a, b *attempt) int {
		return cmp.Or(
			cmp.Compare(b.job.Priority, a.job.Priority),
			a.job.RunAfter.Compare(b.job.RunAfter),
			cmp.Compare(a.job.ID, b.job.ID),
		)
	})
	s.mu.Lock()
	for _, a := range claimed {
		if old := s.running[a.fence()]; old != nil {
			// Somebody lowered the attempt number by SQL and made the fence void: the older handler is the lost one.
			old.cancel(ErrLeaseLost)
			s.settle(old, outcome{attempt: old, fate: fateLost})
		}
		a.begin()
		s.running[a.fence()] = a
		s.active[a.job.Queue]++
	}
	s.mu.Unlock()
	for _, a := range claimed {
		go a.execute()
	}
}

// abort cancels the handlers, whose work cannot be recorded any more, and waits a while for them to return.
func (s *session) abort(cause error) error {
	s.endLife(ErrStopping)
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

// unusable returns the error that ends the run, or nil when the write is to be tried again.
func unusable(err error) error {
	var schema *SchemaError
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrReplaced) || errors.As(err, &schema) {
		return err
	}
	return nil
}

// pause waits after a failed write, longer each time.
func (s *session) pause(failures int) {
	time.Sleep(min(pauseFirst<<min(failures-1, 10), pauseLast))
}
