package runner

import (
	"errors"

	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// recorded takes what was recorded off the list of running attempts.
func (c *completer) recorded(t *cycle) {
	c.mu.Lock()
	for _, o := range t.outcomes {
		c.forget(o.attempt)
	}
	c.mu.Unlock()
	for _, o := range t.lost {
		o.attempt.recorded, o.attempt.ran = fateLost, false // this process did not run it to its end
		c.log.Warn("the lease was lost: the attempt's end was refused", o.attempt.attrs()...)
	}
	c.noteDurations(t.outcomes)
	for _, o := range t.outcomes {
		if o.fate == fateRelease {
			c.log.Info("job given back unfinished", o.attempt.attrs()...)
		}
		if o.cause != "" {
			c.log.Warn("attempt failed", append(o.attempt.attrs(), "cause", o.cause, "error", o.message, "retry", o.fate == fateRetry)...)
		}
		tellFinished(c.observer, o, o.attempt.recorded)
	}
}

// noteDurations notes how long the jobs waited and ran whose ends were committed, and that there are notes to add up.
func (c *completer) noteDurations(outcomes []outcome) {
	if len(outcomes) == 0 {
		return
	}
	durations := stats.Durations{}
	for _, o := range outcomes {
		if a := o.attempt; a.ran {
			// From the claim on: a plain INSERT may have set a due time of long ago or of the year 9999.
			durations.Add(a.job.Queue, a.job.Kind, a.job.StartedAt.Add(a.readied+a.took), a.waited, a.took)
		}
	}
	c.rollup.Add(durations)
}

// noteOutcome adds to the changes of a transaction what the end of an attempt made of its job.
func noteOutcome(done stats.Changes, o outcome) {
	job := &o.attempt.job
	switch o.fate {
	case fateDone:
		done.Ended(job.Queue, job.Kind, jobtype.StatusDone, 1)
	case fateFail:
		done.Ended(job.Queue, job.Kind, jobtype.StatusFailed, 1)
	case fateCancel:
		done.Ended(job.Queue, job.Kind, jobtype.StatusCancelled, 1)
	case fateRetry:
		done.Add(job.Queue, job.Kind, stats.EventRetried, 1, 0)
	}
}

// recordApart writes outcomes one by one after the database refused them together, so that one which it never takes
// (say, because of an application's own trigger) does not hold up the others. Such an outcome is given up: its lease
// runs out and the job is rescued. It returns those to be tried again.
func (c *completer) recordApart(outcomes []outcome) []outcome {
	var again []outcome
	for _, o := range outcomes {
		t := &cycle{completer: c, outcomes: []outcome{o}}
		err := c.store.Write(c.values, t.write)
		switch {
		case err == nil:
			c.recorded(t)
			c.store.Announce(t.signals())
		case c.store.CanRetry(err):
			o.apart = o.apart || errors.Is(err, jobtype.ErrUnknownOutcome)
			again = append(again, o)
		default:
			c.log.Error("the database refuses the end of an attempt: its lease will run out", append(o.attempt.attrs(), "error", err)...)
			c.mu.Lock()
			c.forget(o.attempt)
			c.refused[o.attempt.fence()] = struct{}{}
			c.mu.Unlock()
			tellFinished(c.observer, o, fateLost)
		}
	}
	return again
}
