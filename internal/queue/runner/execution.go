package runner

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
)

// execution is one call of an attempt's handler. It is kept small: a slot whose handler waits should need a stack of 4 KB.
type execution struct {
	attempt  *Attempt
	next     *Attempt // the attempt to run next in the same slot; nil when none waits
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
	tellStarted(a.executor.observer, a)
	e.began = time.Now()
	defer e.settle()
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
	end := e.attempt.judge(e.err, stack)
	end.Unstarted = !e.called && end.Fate == lifecycle.FateUnable
	e.settled = true
	e.next = e.attempt.executor.end(e.attempt, end, e.began, e.called)
}

// finish ends the attempt when the application's code that settle calls ended by runtime.Goexit. When this goroutine ends,
// another one runs the next attempt.
func (e *execution) finish() {
	if !e.settled {
		e.exiting = true
		e.next = e.attempt.executor.end(e.attempt, e.attempt.unjudged(), e.began, e.called)
	}
	if e.exiting && e.next != nil {
		e.attempt.executor.start(e.next)
	}
}
