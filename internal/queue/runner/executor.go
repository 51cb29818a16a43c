package runner

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// executor runs attempts in slots.
type executor struct {
	*env
	*state
	next chan *Attempt // to a goroutine that is free
}

// start runs an attempt on a goroutine that has run others, if one is free: its stack has grown already to what handlers
// need, which is a fifth of the time of a job that does nothing.
func (x *executor) start(a *Attempt) {
	select {
	case x.next <- a:
	default:
		go x.run(a)
	}
}

// run runs attempts until the run is over. There are about as many of these goroutines as handlers that ran at once.
func (x *executor) run(a *Attempt) {
	for {
		for a != nil {
			e := execution{attempt: a}
			e.run()
			a = e.next
		}
		select {
		case a = <-x.next:
		case <-x.finished:
			return
		}
	}
}

// attempt returns that of a job which was claimed.
func (x *executor) attempt(job jobtype.Job) *Attempt {
	a := &Attempt{executor: x, job: job, handler: x.handlers[job.Kind]}
	x.settings.Settings(job.Kind, a.handler.Settings).Fill(&a.job)
	a.job.SetHolder(a)
	return a
}

// end gives the slot of an attempt to the next one that waits for it, if any, and its end to the producer.
func (x *executor) end(a *Attempt, end lifecycle.End, began time.Time, called bool) (next *Attempt) {
	now := time.Now()
	x.mu.Lock()
	q := x.queues[a.job.Queue]
	q.ended(a, now.Sub(began))
	next = q.next(now)
	lost := false
	if a.over {
		x.log.Warn("a handler returned after its attempt had been ended without it", a.attrs()...)
	} else {
		end.Result = a.result
		a.ran, a.waited, a.readied = called, a.waitedUntil(began), began.Sub(a.claimed)
		lost = x.settle(a, end, now.Sub(began))
	}
	wake := !x.gathering || !x.mayGather()
	x.mu.Unlock()
	if lost {
		tellFinished(x.observer, a, lifecycle.FateLost)
	}
	a.stop()
	a.cancel(nil)
	if wake {
		x.signal()
	}
	return next
}

// endWithout settles an attempt whose handler has not returned.
func (x *executor) endWithout(a *Attempt, why error, took time.Duration) {
	end := a.overrun(why, x.config.StuckAfter)
	x.mu.Lock()
	lost := x.settle(a, end, took)
	x.mu.Unlock()
	if lost {
		tellFinished(x.observer, a, lifecycle.FateLost)
	}
	x.signal()
}
