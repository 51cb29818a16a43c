package runner

import (
	"cmp"
	"context"
	"errors"
	"time"

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
		case a.end.Cause == jobtype.CauseExpired:
			c.log.Info("job expired before its handler was called", append(a.attrs(), "error", a.end.Message)...)
		case a.end.Cause != "":
			attrs := append(a.attrs(), "cause", a.end.Cause, "error", a.end.Message)
			if a.end.Fate == lifecycle.FateRetry {
				c.log.Warn("attempt failed", append(attrs, "retry_in", a.end.Delay.Round(time.Millisecond))...)
			} else {
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

// recordApart writes ends after the database refused them together: those of each half, and so on, so that one which it never takes
// (say, because of an application's own trigger) does not hold up the others. That one is set aside. It returns those to be tried
// again, with the last error.
func (c *completer) recordApart(ended []*Attempt) (again []*Attempt, last error) {
	if len(ended) == 0 {
		return nil, nil
	}
	if c.writing.Err() != nil {
		return ended, context.Cause(c.writing)
	}
	part := &cycle{completer: c, ended: ended}
	err := part.commit(c.writing)
	switch {
	case err == nil:
		c.recorded(part)
		c.store.Announce(part.signals())
		return nil, nil
	case len(ended) == 1 && c.store.RefusesRow(err) && ended[0].end.Drop:
		ended[0].refused.drop = true // perhaps only its row may not go, as for a foreign key of the application: it stays, for the pruner
		return c.recordApart(ended)
	case len(ended) == 1 && c.store.RefusesRow(err):
		return nil, c.setAside(ended[0], err)
	case len(ended) > 1 && (c.store.RefusesRow(err) || errors.Is(err, jobtype.ErrBusy)):
		half := len(ended) / 2
		again, last = c.recordApart(ended[:half])
		more, err := c.recordApart(ended[half:])
		return append(again, more...), cmp.Or(err, last)
	}
	if errors.Is(err, jobtype.ErrUnknownOutcome) {
		for _, a := range ended {
			a.end.Apart = true
		}
	}
	return ended, err
}

// setAside keeps an end that the database refuses, to be recorded later.
func (c *completer) setAside(a *Attempt, cause error) error {
	c.state.setAside(a)
	return c.notes.Aside(c.writing, c.store.Write, c.store.Now(), refusal.End, a.job.ID, cause)
}

// giveUpAside tries the ends that were set aside for the last time. The leases of those that are refused again run out.
func (c *completer) giveUpAside() {
	for _, a := range c.takeAside() {
		alone := &cycle{completer: c, ended: []*Attempt{a}}
		err := alone.commit(c.writing)
		if err == nil {
			c.recorded(alone)
			c.store.Announce(alone.signals())
			continue
		}
		c.log.Error("the database refuses the end of an attempt: its lease will run out", append(a.attrs(), "error", err)...)
		tellFinished(c.observer, a, lifecycle.FateLost)
	}
}
