package runner

import (
	"context"
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// completer records the ends of attempts. lifecycle.Finish writes them, inside the loop's transaction. Only the loop's goroutine calls it.
type completer struct {
	env      *env
	ledger   *ledger
	executor *executor
	presence *presence
	rollup   *maintenance.Rollup
	steps    steps
}

// cycle returns a cycle that carries out a plan.
func (c *completer) cycle(p plan) *cycle { return &cycle{env: c.env, completer: c, plan: p} }

// ends returns the ends of attempts for one transaction.
func (c *completer) ends(ended []*Attempt) []*lifecycle.End {
	list := make([]*lifecycle.End, len(ended))
	for i, a := range ended {
		a.end.Drop = a.handler.Drop && !a.refused.drop
		if !a.unfit {
			a.end.Cipher = c.env.cipher
		}
		if list[i] = &a.end; a.end.Apart {
			c.ledger.do(func() { a.end.Completed = a.completed })
		}
	}
	return list
}

// recordTogether writes ends in one transaction, and reports them.
func (c *completer) recordTogether(ctx context.Context, ended []*Attempt) error {
	part := c.cycle(plan{ended: ended})
	if err := part.commit(ctx); err != nil {
		return err
	}
	c.recorded(part)
	c.env.store.Announce(part.signals())
	return nil
}

// recorded removes the attempts whose ends a committed cycle recorded, and reports them.
func (c *completer) recorded(committed *cycle) {
	ended := committed.plan.ended
	c.ledger.do(func() {
		for _, a := range ended {
			c.ledger.remove(a)
		}
	})
	for _, end := range committed.did.lost {
		a := end.Job.Holder().(*Attempt)
		end.Recorded, a.course.ran = lifecycle.FateLost, false // this process did not run the job to its end
		c.env.log.Warn("the lease was lost: the attempt's end was refused", a.attrs()...)
	}
	c.addDurations(ended)
	for _, a := range ended {
		logEnd(c.env.log, a)
		tellFinished(c.env.observer, a, a.end.Recorded)
	}
}

// logEnd logs a recorded end other than a plain success.
func logEnd(log *slog.Logger, a *Attempt) {
	if a.end.Fate == lifecycle.FateRelease {
		log.Info("job given back unfinished", a.attrs()...)
	}
	switch {
	case a.end.Recorded == lifecycle.FateUnable:
		log.Warn("this worker cannot run the job, which is put off for others", append(a.attrs(), "error", a.end.Told(), "again_in", a.end.Delay.Round(time.Millisecond))...)
	case a.end.Cause == jobtype.CauseExpired:
		log.Info("job expired before its handler was called", append(a.attrs(), "error", a.end.Told())...)
	case a.end.Cause == "":
	case a.end.Recorded == lifecycle.FateDone:
		log.Warn("the handler returned an error after CompleteTx had ended its job", append(a.attrs(), "error", a.end.Told())...)
	case a.end.Recorded == lifecycle.FateRetry:
		log.Warn("attempt failed", append(a.attrs(), "cause", a.end.Cause, "error", a.end.Told(), "retry_in", a.end.Delay.Round(time.Millisecond))...)
	case a.end.Recorded == lifecycle.FateLost: // another worker has the job, and decides about it
		log.Warn("attempt failed", append(a.attrs(), "cause", a.end.Cause, "error", a.end.Told())...)
	default:
		log.Warn("attempt failed", append(a.attrs(), "cause", a.end.Cause, "error", a.end.Told(), "retry", false)...)
	}
}

// addDurations adds the waiting and running times of jobs whose ends were committed to the history.
func (c *completer) addDurations(ended []*Attempt) {
	if len(ended) == 0 {
		return
	}
	durations := stats.Durations{}
	for _, a := range ended {
		if course := a.course; course.ran {
			// Times count from the claim on: a plain INSERT may have set a due time of long ago or of the year 9999.
			durations.Add(a.job.Queue, a.job.Kind, a.job.StartedAt.Add(course.readied+course.took), course.waited, course.took)
		}
	}
	c.rollup.Add(durations)
}
