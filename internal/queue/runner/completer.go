package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// completer records the ends of attempts. lifecycle.Finish writes them, inside the producer's transaction.
type completer struct {
	*env
	*state
	rollup *maintenance.Rollup
}

// ends returns the ends of attempts for one transaction.
func (c *completer) ends(ended []*Attempt) []*lifecycle.End {
	list := make([]*lifecycle.End, len(ended))
	for i, a := range ended {
		a.end.Drop = a.handler.Drop && !a.refused.drop
		if !a.unfit {
			a.end.Cipher = c.cipher
		}
		if list[i] = &a.end; a.end.Apart {
			c.mu.Lock()
			a.end.Completed = a.completed
			c.mu.Unlock()
		}
	}
	return list
}

// recorded takes what a committed cycle recorded off the list of running attempts, and tells of it.
func (c *completer) recorded(committed *cycle) {
	c.mu.Lock()
	for _, a := range committed.ended {
		c.forget(a)
	}
	c.mu.Unlock()
	for _, end := range committed.lost {
		a := end.Job.Holder().(*Attempt)
		end.Recorded, a.ran = lifecycle.FateLost, false // this process did not run it to its end
		c.log.Warn("the lease was lost: the attempt's end was refused", a.attrs()...)
	}
	c.noteDurations(committed.ended)
	for _, a := range committed.ended {
		if a.end.Fate == lifecycle.FateRelease {
			c.log.Info("job given back unfinished", a.attrs()...)
		}
		switch {
		case a.end.Recorded == lifecycle.FateUnable:
			c.log.Warn("this worker cannot run the job, which is put off for others", append(a.attrs(), "error", a.end.Told(), "again_in", a.end.Delay.Round(time.Millisecond))...)
		case a.end.Cause == jobtype.CauseExpired:
			c.log.Info("job expired before its handler was called", append(a.attrs(), "error", a.end.Told())...)
		case a.end.Cause != "":
			attrs := append(a.attrs(), "cause", a.end.Cause, "error", a.end.Told())
			switch a.end.Recorded {
			case lifecycle.FateRetry:
				c.log.Warn("attempt failed", append(attrs, "retry_in", a.end.Delay.Round(time.Millisecond))...)
			case lifecycle.FateLost: // another worker has the job, and decides
				c.log.Warn("attempt failed", append(a.attrs(), "cause", a.end.Cause, "error", a.end.Told())...)
			case lifecycle.FateDone:
				c.log.Warn("the handler returned an error after CompleteTx had ended its job", append(a.attrs(), "error", a.end.Told())...)
			default:
				c.log.Warn("attempt failed", append(attrs, "retry", false)...)
			}
		}
		tellFinished(c.observer, a, a.end.Recorded)
	}
}

// noteDurations notes how long the jobs waited and ran whose ends were committed, and that there are notes to add up.
func (c *completer) noteDurations(ended []*Attempt) {
	if len(ended) == 0 {
		return
	}
	durations := stats.Durations{}
	for _, a := range ended {
		if a.ran {
			// From the claim on: a plain INSERT may have set a due time of long ago or of the year 9999.
			durations.Add(a.job.Queue, a.job.Kind, a.job.StartedAt.Add(a.readied+a.took), a.waited, a.took)
		}
	}
	c.rollup.Add(durations)
}

// recordTogether writes ends in one transaction, and tells of them.
func (c *completer) recordTogether(ctx context.Context, ended []*Attempt) error {
	part := &cycle{completer: c, ended: ended}
	if err := part.commit(ctx); err != nil {
		return err
	}
	c.recorded(part)
	c.store.Announce(part.signals())
	return nil
}

// apartMost is how long ends are tried in ever smaller parts because of locks that are not those of their jobs.
const apartMost = time.Second

// recordApart writes ends after the database refused them together: those of each half, and so on, so that one which it never takes
// (say, because of an application's own trigger) does not hold up the others. That one is set aside, as is one that would have to wait for
// a row which another transaction has locked: perhaps for long. It returns those to be tried again, with the last error. While the run is
// stopping those are among them that have to wait.
func (c *completer) recordApart(ended []*Attempt, stopping bool) (again []*Attempt, last error) {
	if c.writing.Err() != nil {
		return ended, context.Cause(c.writing)
	}
	ids := make([]int64, len(ended))
	for i, a := range ended {
		ids[i] = a.job.ID
	}
	locked, err := lifecycle.Locked(c.writing, c.store, ids)
	if err != nil {
		return ended, err
	}
	r := recorder{completer: c, stopping: stopping, until: time.Now().Add(apartMost)}
	var held []*Attempt
	free := slices.DeleteFunc(slices.Clone(ended), func(a *Attempt) bool {
		if !slices.Contains(locked, a.job.ID) {
			return false
		}
		held = append(held, a)
		return true
	})
	again, last = r.record(free)
	for _, a := range held {
		more, err := r.recordLater(a, jobtype.ErrBusy, true)
		again, last = append(again, more...), cmp.Or(err, last)
	}
	return append(r.untried, again...), last
}

// recorder records ends apart.
type recorder struct {
	*completer
	stopping bool
	until    time.Time
	locked   error      // the last for a lock
	untried  []*Attempt // the time was over before, while the run is stopping
}

func (c *recorder) record(ended []*Attempt) (again []*Attempt, last error) {
	if len(ended) == 0 {
		return nil, nil
	}
	if c.writing.Err() != nil {
		return ended, context.Cause(c.writing)
	}
	if c.locked != nil && time.Now().After(c.until) {
		return c.leave(ended)
	}
	err := c.recordTogether(engine.Briefly(c.writing), ended)
	if err == nil {
		return nil, nil
	}
	locked := lifecycle.IsLocked(c.store, err)
	if locked {
		c.locked = err
	}
	switch {
	case !locked && !c.store.RefusesRow(err):
		if errors.Is(err, jobtype.ErrUnknownOutcome) {
			for _, a := range ended {
				a.end.Apart = true
			}
		}
		return ended, err
	case len(ended) > 1:
		half := len(ended) / 2
		again, last = c.record(ended[:half])
		more, err := c.record(ended[half:])
		return append(again, more...), cmp.Or(err, last)
	default:
		return c.recordLater(ended[0], err, locked)
	}
}

// leave leaves ends for later that there was no time to try apart.
func (c *recorder) leave(ended []*Attempt) (again []*Attempt, last error) {
	if c.stopping {
		c.untried = append(c.untried, ended...)
		return nil, c.locked
	}
	for _, a := range ended {
		more, err := c.recordLater(a, c.locked, true)
		again, last = append(again, more...), cmp.Or(err, last)
	}
	return again, last
}

// recordLater deals with an end that was not recorded though it was the only one.
func (c *recorder) recordLater(a *Attempt, err error, locked bool) (again []*Attempt, last error) {
	if a.refused.locked != locked {
		a.refused.locked, a.refused.times = locked, 0
	}
	switch {
	case locked && c.stopping:
		a.refused.times++ // no further cycle waits for it
		return []*Attempt{a}, err
	case locked:
		return nil, c.setAside(a, fmt.Errorf("another transaction has locked the job, or a row that goes with the end of its attempt: %w", err))
	case a.end.Drop && !a.refused.drop:
		a.refused.drop = true // perhaps only its row may not go, as for a foreign key of the application: it stays, for the pruner
		return c.record([]*Attempt{a})
	default:
		return nil, c.setAside(a, err)
	}
}

// setAside keeps an end that the database refuses, to be recorded later.
func (c *completer) setAside(a *Attempt, cause error) error {
	c.state.setAside(a)
	return c.notes.Aside(c.writing, c.store.Write, c.store.Now(), refusal.End, a.job.ID, cause)
}

// giveUpAside tries the ends that were set aside for the last time, and releases the jobs of those that are refused again. Its error is the last
// of an end that could not be recorded in either way: unless the database refused to release the job, which its lease then frees, the worker
// leaves a goodbye.
func (c *completer) giveUpAside() (last error) {
	for _, a := range c.takeAside() {
		err := c.recordTogether(c.writing, []*Attempt{a})
		if err != nil && c.store.RefusesRow(err) {
			c.log.Error("the database refuses the end of an attempt: its job is released", append(a.attrs(), "error", err)...)
			a.end = lifecycle.End{Job: &a.job, Fate: lifecycle.FateRelease}
			err = c.recordTogether(c.writing, []*Attempt{a})
		}
		if err == nil {
			continue
		}
		last = err
		c.log.Error("the end of an attempt could not be recorded, nor its job released", append(a.attrs(), "error", err)...)
		tellFinished(c.observer, a, lifecycle.FateLost)
		if !c.store.RefusesRow(err) {
			c.mu.Lock()
			c.aside[a.fence()] = a
			c.mu.Unlock()
		}
	}
	return last
}
