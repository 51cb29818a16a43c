package runner

import (
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// completer reports recorded ends. Only the loop's goroutine calls it.
type completer struct {
	env    *env
	ledger *ledger
	rollup *maintenance.Rollup
}

// recorded removes the attempts whose ends a committed turn recorded, and reports them.
func (c *completer) recorded(t *turn) {
	ended := t.plan.ended
	c.ledger.do(func() {
		for _, a := range ended {
			c.ledger.dropRunning(a)
		}
	})
	for _, end := range t.lost {
		a := end.Job.Holder().(*Attempt)
		end.Recorded, a.ran = lifecycle.FateLost, false // this process did not run the job to its end
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
		if timing := a.timing; a.ran {
			// Times count from the claim on: a plain INSERT may have set a due time of long ago or of the year 9999.
			durations.Add(a.job.Queue, a.job.Kind, a.job.StartedAt.Add(timing.readied+timing.took), timing.waited, timing.took)
		}
	}
	c.rollup.Add(durations)
}
