package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// lastChanceMost is the longest time for which a job on its last chance is put off.
const lastChanceMost = time.Minute

// lastChance reports whether the next crash fails a job that has crashed before. A process that dies charges a crash to every
// job that it ran, because no record tells which of them ended it; so jobs that ran beside such a job each time would fail with
// it. Therefore a worker runs one job on its last chance at a time. A drain must end, so it does not apply this rule.
func (c *Config) lastChance(job *jobtype.Job) bool {
	return job.Crashes > 0 && job.Crashes >= c.MaxCrashes-1 && !c.Drain
}

// putOff puts off, at no cost, all of a queue's claimed jobs that are on their last chance but the best one, and that as well
// if the worker runs such a job already.
func (c *cycle) putOff(ctx context.Context, q db.Querier, claimed []*Attempt, done stats.Changes) ([]*Attempt, error) {
	last := func(a *Attempt) bool { return c.config.lastChance(&a.job) }
	if !slices.ContainsFunc(claimed, last) {
		return claimed, nil
	}
	slices.SortFunc(claimed, better)
	taken := slices.ContainsFunc(c.claimed, last) ||
		slices.ContainsFunc(c.attempts(), func(a *Attempt) bool { return last(a) && !c.records(a) })
	kept := claimed[:0:0]
	for _, a := range claimed {
		if !last(a) || !taken {
			kept = append(kept, a)
			taken = taken || last(a)
			continue
		}
		// The longer the more often that was in vain: the job before it may be long.
		delay := min(time.Duration(1+a.job.Uncounted)*time.Second, lastChanceMost)
		end := &lifecycle.End{Job: &a.job, Fate: lifecycle.FateSnooze, Delay: delay}
		if err := lifecycle.Snooze(ctx, q, c.store.Now(), end, done); err != nil {
			return nil, fmt.Errorf("put off a job on its last chance: %w", err)
		}
	}
	return kept, nil
}

// records reports whether the cycle records the end of an attempt.
func (c *cycle) records(a *Attempt) bool {
	return slices.Contains(c.ended, a)
}
