package runner

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// The functions below accept a nil observer.

func tellStarted(o *jobtype.Observer, a *Attempt) {
	if o == nil || o.Started == nil {
		return
	}
	o.Started(jobtype.Started{
		Kind: a.job.Kind, Queue: a.job.Queue, ID: a.job.ID, Attempt: a.job.Attempt, Waited: a.waitedUntil(time.Now()),
	})
}

// tellFinished reports the end of an attempt that has begun.
func tellFinished(o *jobtype.Observer, a *Attempt, f lifecycle.Fate) {
	if o == nil || o.Finished == nil || !a.begun {
		return
	}
	job := &a.job
	event := jobtype.Finished{
		Kind: job.Kind, Queue: job.Queue, ID: job.ID, Attempt: job.Attempt, Fate: f.Public(), Took: a.timing.took,
	}
	if f == lifecycle.FateRetry || f == lifecycle.FateFail || f == lifecycle.FateCancel {
		event.Cause, event.Error = a.end.Cause, a.end.Told()
	} else if f == lifecycle.FateUnable {
		event.Cause, event.Error = jobtype.CauseUnable, a.end.Told()
	}
	o.Finished(event)
}

func tellCycle(o *jobtype.Observer, recorded, claimed, promoted int, took time.Duration) {
	if o == nil || o.Turned == nil {
		return
	}
	o.Turned(jobtype.Turned{Recorded: recorded, Claimed: claimed, Promoted: promoted, Took: took})
}

func tellWoken(o *jobtype.Observer, source jobtype.WakeSource) {
	if o == nil || o.Woken == nil {
		return
	}
	o.Woken(source)
}
