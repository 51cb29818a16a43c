package runner

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
)

// executor runs attempts in slots. Any goroutine may call its methods.
type executor struct {
	env    *env
	ledger *ledger
	slots  *slots
	next   chan *Attempt // hands an attempt to a free goroutine
}

// start runs an attempt on a goroutine that has run others, if one is free: its stack has already grown to the size that
// handlers need, and growing takes a fifth of the time of a job that does nothing.
func (x *executor) start(a *Attempt) {
	select {
	case x.next <- a:
	default:
		go x.runSlot(a)
	}
}

// runSlot runs attempts until the run is over. There are about as many of these goroutines as handlers that ran at once.
func (x *executor) runSlot(a *Attempt) {
	for {
		for a != nil {
			e := execution{executor: x, attempt: a}
			e.callHandler()
			a = e.next
		}
		select {
		case a = <-x.next:
		case <-x.env.finished:
			return
		}
	}
}

// setSlots sets the number of slots of a queue, and starts the attempts that get one.
func (x *executor) setSlots(queue string, total int) {
	for _, a := range x.slots.set(queue, total) {
		x.start(a)
	}
}

// dispatch starts the handlers of claimed jobs, best first, as far as there are free slots.
func (x *executor) dispatch(claimed []*Attempt) {
	if len(claimed) == 0 {
		return
	}
	slices.SortFunc(claimed, better)
	starting, lost := x.slots.admit(claimed)
	for _, a := range starting {
		x.start(a)
	}
	for _, a := range lost {
		tellFinished(x.env.observer, a, lifecycle.FateLost)
	}
}

// endAttempt hands the end of an attempt to the loop, and returns the next attempt for its slot; nil when none waits.
func (x *executor) endAttempt(a *Attempt, end lifecycle.End, began time.Time, called bool) (next *Attempt) {
	now := time.Now()
	lost, late, wake := false, false, false
	x.ledger.do(func() {
		q := x.slots.queues[a.job.Queue]
		q.vacate(a, now.Sub(began))
		next = q.nextWaiting(now)
		if late = a.over; !late {
			end.Result = a.result
			a.ran, a.timing = called, timing{waited: a.waitedUntil(began), readied: began.Sub(a.claimed)}
			lost = x.ledger.addEnd(a, end, now.Sub(began))
		}
		wake = x.ledger.activity != gathering || !x.ledger.mayGather()
	})
	if late {
		x.env.log.Warn("a handler returned after its attempt had been ended without it", a.attrs()...)
	}
	if lost {
		tellFinished(x.env.observer, a, lifecycle.FateLost)
	}
	a.stop()
	a.cancel(nil)
	if wake {
		x.ledger.signal()
	}
	return next
}

// finishWithout ends an attempt whose handler has not returned.
func (x *executor) finishWithout(a *Attempt, why error, took time.Duration) {
	end := a.overrun(why, x.env.config.StuckAfter)
	lost := false
	x.ledger.do(func() { lost = x.ledger.addEnd(a, end, took) })
	if lost {
		tellFinished(x.env.observer, a, lifecycle.FateLost)
	}
	x.ledger.signal()
}

// execution is one call of an attempt's handler. It is kept small: a slot with a waiting handler should need a stack of 4 KB.
type execution struct {
	executor *executor
	attempt  *Attempt
	next     *Attempt // the attempt to run next in the same slot; nil when none waits
	began    time.Time
	err      error // the error of the handler
	called   bool  // the handler was called
	returned bool  // the handler returned
	settled  bool  // the attempt has its outcome
	exiting  bool  // runtime.Goexit ends this goroutine
}

// callHandler runs the handler to its end, however it ends, and settles the outcome. All code of the application runs on this
// goroutine: the middleware and the handler, then the methods of its error or panic value and the kind's RetryDelay.
func (e *execution) callHandler() {
	a := e.attempt
	tellStarted(a.env.observer, a)
	e.began = time.Now()
	defer e.conclude()
	if e.err = a.prevented(); e.err == nil {
		e.err = a.ready()
	}
	if e.err == nil {
		a.clock()
		e.called = true
		e.err = a.handler.Run(a.ctx, &a.job)
	}
	e.returned = true
}

// conclude judges the end of the handler and ends the attempt. run defers it, so that it recovers panics.
func (e *execution) conclude() {
	defer e.endAfterExit()
	var stack string
	if p := recover(); p != nil {
		stack = string(debug.Stack())
		e.err = fmt.Errorf("panic: %v", p)
	} else if !e.returned {
		e.err, stack, e.exiting = errors.New("the handler called runtime.Goexit"), string(debug.Stack()), true
	}
	end := e.attempt.decide(e.err, stack)
	end.Unstarted = !e.called && end.Fate == lifecycle.FateUnable
	e.settled = true
	e.next = e.executor.endAttempt(e.attempt, end, e.began, e.called)
}

// endAfterExit ends the attempt when the application's code that settle calls ended by runtime.Goexit. When this goroutine ends,
// another one runs the next attempt.
func (e *execution) endAfterExit() {
	if !e.settled {
		e.exiting = true
		e.next = e.executor.endAttempt(e.attempt, e.attempt.undecided(), e.began, e.called)
	}
	if e.exiting && e.next != nil {
		e.executor.start(e.next)
	}
}
