package runner

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// lockedPause is the longest time between two tries to record an end that had to wait for a lock of another transaction.
const lockedPause = 10 * time.Second

// state is what the parts of a run share and change. mu guards it, but for the channels: one mutex, because an attempt that
// frees a slot and waits to be recorded at one moment, and the producer takes both at one moment.
type state struct {
	changed  chan struct{} // a signal to the producer: an attempt has ended
	finished chan struct{} // closed when the producer has returned

	toldDelays sync.Map // kinds of which the log says that their RetryDelay is negative

	mu          sync.Mutex
	worker      worker
	running     map[fence]*Attempt // claimed: those whose handlers have not returned, and those whose ends are not recorded
	ended       []*Attempt         // to be recorded
	aside       map[fence]*Attempt // those whose end the database refuses; it is tried again later
	queues      map[string]*slots  // also removed ones, while jobs of theirs are here
	suspects    int                // of the jobs of all queues: those that were running when a process died before
	returnTimer *time.Timer        // returns prefetched jobs that wait too long; nil when none waits
	cycles      cycles
	resting     bool  // the producer waits for a notification
	gathering   bool  // the producer waits for more ends
	handingOver bool  // a job is being handed over
	closing     bool  // nothing is prefetched any more
	ending      error // why the contexts of all handlers ended
	fatal       error // what the heartbeat found that must end the run
	schema      error // what it found that must stop it
}

func newState() *state {
	return &state{
		changed: make(chan struct{}, 1), finished: make(chan struct{}), running: map[fence]*Attempt{}, aside: map[fence]*Attempt{},
		queues: map[string]*slots{},
	}
}

// resultsMost is about how many bytes of results one transaction writes.
const resultsMost = 4 << 20

// fence names an attempt: no two have the same.
type fence struct {
	job     int64
	attempt int64
}

// cycles are the transactions that may have claimed jobs whose handlers have not begun.
type cycles struct {
	begun uint64   // how many have begun
	open  []uint64 // the numbers of those that have not ended, in their order
}

// begin returns the number of a new cycle.
func (c *cycles) begin() uint64 {
	c.begun++
	c.open = append(c.open, c.begun)
	return c.begun
}

// end says that the cycle's handlers have begun, or that there are none.
func (c *cycles) end(number uint64) {
	c.open = slices.DeleteFunc(c.open, func(n uint64) bool { return n == number })
}

// signal makes the producer look at what has changed.
func (s *state) signal() {
	select {
	case s.changed <- struct{}{}:
	default: // it will look anyway
	}
}

// workerID returns the id of the worker's row; 0 while it has none.
func (s *state) workerID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker.id
}

// attempts returns those whose handlers run, and those whose ends could not be recorded yet: both hold their leases.
func (s *state) attempts() []*Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Values(s.running)), maps.Values(s.aside))
}

// settle notes an attempt's end and how long it took, the first time only. It returns true when the lease was lost: the
// attempt is then forgotten, and the caller tells the observer. Callers hold mu.
func (s *state) settle(a *Attempt, end lifecycle.End, took time.Duration) (lost bool) {
	if a.over {
		return false
	}
	a.over, a.took, a.end = true, took, end
	if end.Fate == lifecycle.FateLost {
		s.forget(a)
		return true
	}
	a.end.Apart = a.completed
	s.ended = append(s.ended, a)
	return false
}

// forget takes an attempt off the list of those that run. Its place may be another's: see dispatch. Callers hold mu.
func (s *state) forget(a *Attempt) {
	if s.running[a.fence()] == a {
		delete(s.running, a.fence())
	}
}

// takeEnded takes no more results than one transaction should write. Callers hold mu.
func (s *state) takeEnded() []*Attempt {
	size := 0
	for i, a := range s.ended {
		if a.end.Result != nil {
			size += len(*a.end.Result)
		}
		if size > resultsMost && i > 0 {
			taken := s.ended[:i:i]
			s.ended = s.ended[i:]
			return taken
		}
	}
	taken := s.ended
	s.ended = make([]*Attempt, 0, len(taken)) // about as many will come again
	return taken
}

// putBack keeps attempts whose ends could not be recorded for the next cycle.
func (s *state) putBack(ended []*Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(ended, s.ended...)
}

// setAside keeps an attempt whose end the database refuses, until it is tried again.
func (s *state) setAside(a *Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(a)
	s.aside[a.fence()] = a
	a.refused.times++
	pause := refusal.Again(a.refused.times)
	if a.isLocked() {
		pause = min(pause, lockedPause)
	}
	a.refused.again = time.AfterFunc(pause, func() {
		if s.takeBack(func(other *Attempt) bool { return other == a }) {
			s.signal()
		}
	})
}

// takeBack makes the ends of attempts that were set aside wait to be recorded again: those that which reports. It returns false when there was
// none.
func (s *state) takeBack(which func(*Attempt) bool) (some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range slices.Collect(maps.Values(s.aside)) {
		if !which(a) {
			continue
		}
		a.refused.again.Stop()
		delete(s.aside, a.fence())
		if s.running[a.fence()] == nil {
			s.running[a.fence()] = a
		}
		s.ended = append(s.ended, a)
		some = true
	}
	return some
}

// takeAside takes all attempts whose end was set aside.
func (s *state) takeAside() []*Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Collect(maps.Values(s.aside))
	for _, a := range all {
		a.refused.again.Stop()
	}
	clear(s.aside)
	return all
}

// idle reports whether nothing is left to record, but for what was set aside because it was refused, no handler is waited for, and no job is
// being handed over.
func (s *state) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.aside {
		if a.isLocked() {
			return false
		}
	}
	return len(s.running) == 0 && len(s.ended) == 0 && len(s.cycles.open) == 0
}

// handlersEnded reports whether nothing is left of a run but to record ends.
func (s *state) handlersEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.running {
		if !a.over {
			return false
		}
	}
	return true
}

// holdsSuspects reports whether jobs are here that were running when a process died before. Callers hold mu.
func (s *state) holdsSuspects() bool { return s.suspects > 0 }

func (s *state) setResting(resting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting = resting
}

// endHandlers ends the contexts of all handlers, now and later. A parent of these contexts would do the same, but would keep
// a list of them, which is a tenth of what a job that does nothing costs this process.
func (s *state) endHandlers(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != nil {
		return
	}
	s.ending = cause
	for _, a := range s.running {
		a.cancel(cause)
	}
}

// endRun makes the producer end the run with an error. With a SchemaError it returns true, and the run ends as if it was
// stopped: what runs may end, and is recorded or given back. Each version of the schema can take that from the program of
// the one before.
func (s *state) endRun(err error) (stops bool) {
	var schema *jobtype.SchemaError
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.As(err, &schema) {
		s.schema = err
		return true
	}
	s.fatal = err
	return false
}

func (s *state) schemaFault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.schema
}

func (s *state) fatalError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fatal
}

// stuck is the error for handlers that had not returned when the run stopped.
func (s *state) stuck() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, q := range s.queues {
		n += q.active
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("handlers that did not return after their context was cancelled: %d", n)
}

// abort cancels the handlers, whose work cannot be recorded any more, and waits a while for them to return.
func (s *state) abort(cause error, within time.Duration) error {
	s.endHandlers(jobtype.ErrStopping)
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		stuck := s.stuck()
		if stuck == nil {
			return cause
		}
		select {
		case <-s.changed:
		case <-timer.C:
			return errors.Join(cause, stuck)
		}
	}
}

// goesOnFor reports whether the run still goes on after d.
func (s *state) goesOnFor(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.finished:
		return false
	}
}
