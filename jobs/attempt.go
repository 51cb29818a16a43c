package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// attempt is one run of a job by this process. Its mutable fields are guarded by the session's mu.
type attempt struct {
	session *session
	job     Job
	handler handler
	ctx     context.Context
	cancel  context.CancelCauseFunc
	stop    context.CancelFunc // of the timeout
	claimed time.Time
	kept    bool // a slot is kept for it
	begun   bool // it has a slot

	over      bool      // its outcome is settled: the session no longer waits for the handler
	completed bool      // CompleteTx ran: whether it was committed is known when the handler returns
	result    *string   // set by SetResult
	endedAt   time.Time // when the housekeeper first saw its context ended
	reported  bool      // its handler was reported as stuck

	ran      bool          // its handler was called and has returned, after it had
	waited   time.Duration // from when the job was due until its handler was called
	readied  time.Duration // from the claim until its handler was called
	took     time.Duration // by the handler
	recorded fate          // what the completer recorded: another process may have cancelled the job or claimed it
}

func (a *attempt) fence() fence { return fence{a.job.ID, int64(a.job.Attempt)} }

func (a *attempt) attrs() []any {
	return []any{"job", a.job.ID, "kind", a.job.Kind, "queue", a.job.Queue, "attempt", a.job.Attempt}
}

// waitedUntil returns how long the job had been due at a time: up to the claim by the clock of due times, and by this
// process's clock from then on. It is at most the longest duration, which a job has that was due at the time 0.
func (a *attempt) waitedUntil(t time.Time) time.Duration {
	before, after := max(0, a.job.StartedAt.Sub(a.job.due())), max(0, t.Sub(a.claimed))
	return before + min(after, math.MaxInt64-before)
}

// claim makes the attempt's context. Callers hold the session's mu.
func (a *attempt) claim(now time.Time) {
	a.claimed = now
	a.ctx, a.cancel = context.WithCancelCause(a.session.values)
	a.stop = func() {}
	if a.session.ending != nil {
		a.cancel(a.session.ending)
	}
}

// clock has the time for the handler run from now on.
func (a *attempt) clock() {
	timeout := cmp.Or(a.job.Timeout, a.handler.timeout, a.session.config.Timeout)
	if timeout <= 0 {
		return
	}
	a.session.mu.Lock()
	defer a.session.mu.Unlock()
	a.ctx, a.stop = context.WithTimeoutCause(a.ctx, timeout, ErrTimeout)
}

// execution is one call of an attempt's handler. It is kept small: a slot whose handler waits should need a stack of 4 KB.
type execution struct {
	attempt  *attempt
	next     *attempt // the attempt to run next in the same slot; nil when none waits
	began    time.Time
	err      error // the handler's
	called   bool  // the handler was called
	returned bool  // and returned
	settled  bool  // the attempt has its outcome
	exiting  bool  // runtime.Goexit ends this goroutine
}

// run runs the handler to its end, however it ends, and settles the outcome. All that is the application's code runs on
// this goroutine: the middleware and the handler, then the methods of its error or panic value and the kind's RetryDelay.
func (e *execution) run() {
	a := e.attempt
	tellStarted(a.session.observer, a)
	e.began = time.Now()
	defer e.settle()
	// It may have been cancelled, or lost, before it began.
	if e.err = context.Cause(a.ctx); e.err == nil {
		a.clock()
		e.called = true
		e.err = a.handler.run(a.ctx, &a.job)
	}
	e.returned = true
}

// settle judges how the handler ended and ends the attempt. run defers it, so that it recovers panics.
func (e *execution) settle() {
	defer e.finish()
	var stack string
	if p := recover(); p != nil {
		stack = string(debug.Stack())
		e.err = fmt.Errorf("panic: %v", p)
	} else if !e.returned {
		e.err, stack, e.exiting = errors.New("the handler called runtime.Goexit"), string(debug.Stack()), true
	}
	o := e.attempt.judge(e.err, stack)
	e.settled = true
	e.next = e.attempt.end(o, e.began, e.called)
}

// finish ends the attempt when the application's code that settle calls ended by runtime.Goexit. When this goroutine ends,
// another one runs the next attempt.
func (e *execution) finish() {
	if !e.settled {
		e.exiting = true
		e.next = e.attempt.end(e.attempt.unjudged(), e.began, e.called)
	}
	if e.exiting && e.next != nil {
		e.attempt.session.start(e.next)
	}
}

// end gives the slot to the next attempt that waits for it, if any, and the outcome to the pump.
func (a *attempt) end(o outcome, began time.Time, called bool) (next *attempt) {
	now := time.Now()
	s := a.session
	s.mu.Lock()
	l := s.lanes[a.job.Queue]
	l.ended(a, now.Sub(began))
	next = l.take(now)
	lost := false
	if a.over {
		s.log.Warn("a handler returned after its attempt had been ended without it", a.attrs()...)
	} else {
		o.result = a.result
		a.ran, a.waited, a.readied = called, a.waitedUntil(began), began.Sub(a.claimed)
		lost = s.settle(a, o, now.Sub(began))
	}
	wake := !s.patience || !s.mayGather()
	s.mu.Unlock()
	if lost {
		tellFinished(s.observer, o, fateLost)
	}
	a.stop()
	a.cancel(nil)
	if wake {
		s.signal()
	}
	return next
}

// SetResult sets the result that the job will have when its handler returns nil: any value that encodes to JSON of
// at most [MaxPayload] bytes. The last call counts. It is an error outside a handler.
func (j Job) SetResult(v any) error {
	if j.held == nil {
		return errNotHeld("set the result of", j.ID)
	}
	data, err := core.Encode("result", v)
	if err != nil {
		return fmt.Errorf("job %d: %w", j.ID, err)
	}
	j.held.session.mu.Lock()
	defer j.held.session.mu.Unlock()
	j.held.result = &data
	return nil
}

func errNotHeld(verb string, id int64) error {
	return fmt.Errorf("%s job %d: only the Job that a handler was called with can do this", verb, id)
}
