package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// lastChanceMost is the longest time for which a job on its last chance is put off.
const lastChanceMost = time.Minute

// lastChance reports whether the next crash fails a job that has crashed before. A process that dies charges a crash to every
// job that it ran, because no record shows which of them ended it; so jobs that run beside such a job each time would fail with
// it. Therefore a worker runs one job on its last chance at a time. A drain must end, so it does not apply this rule.
func (c *Config) lastChance(job *jobtype.Job) bool {
	return job.Crashes > 0 && job.Crashes >= c.MaxCrashes-1 && !c.Drain
}

// quarantine holds what the steps for jobs that may have killed a process need.
type quarantine struct {
	env    *env
	ledger *ledger
}

// oneLastChance returns the step that runs one job on its last chance at a time.
func (n quarantine) oneLastChance() step {
	return step{review: n.putOff, keeps: func(claimed []*Attempt) bool { return !slices.ContainsFunc(claimed, n.isLast) }}
}

func (n quarantine) isLast(a *Attempt) bool { return n.env.config.lastChance(&a.job) }

// onlyFreeSlots returns the step that claims no jobs that would have to wait beside a job that was running when a process died: a
// crash is also charged to the jobs that wait when their process dies. With FailOnBoot, or where one crash fails a job, a crash costs more than
// an attempt.
func (n quarantine) onlyFreeSlots() step {
	return step{narrow: func(jobs, free, formerCrashes int) int {
		if n.env.config.FailOnBoot || n.env.config.MaxCrashes <= 1 || formerCrashes > 0 {
			return min(jobs, free)
		}
		return jobs
	}}
}

// putOff puts off, at no cost, all claimed jobs of a queue on their last chance except the best one. It also puts off that
// one if the worker already runs such a job.
func (n quarantine) putOff(ctx context.Context, q db.Querier, t *turn, _ string, claimed []*Attempt) ([]*Attempt, error) {
	if !slices.ContainsFunc(claimed, n.isLast) {
		return claimed, nil
	}
	slices.SortFunc(claimed, better)
	taken := slices.ContainsFunc(t.claimed, n.isLast) ||
		slices.ContainsFunc(n.ledger.attempts(), func(a *Attempt) bool { return n.isLast(a) && !t.records(a) })
	kept := claimed[:0:0]
	for _, a := range claimed {
		if !n.isLast(a) || !taken {
			kept = append(kept, a)
			taken = taken || n.isLast(a)
			continue
		}
		// The delay grows with each postponement: the job before it may take long.
		delay := min(time.Duration(1+a.job.Uncounted)*time.Second, lastChanceMost)
		end := &lifecycle.End{Job: &a.job, Fate: lifecycle.FateSnooze, Delay: delay}
		if err := lifecycle.Snooze(ctx, q, n.env.store.Now(), end, t.made); err != nil {
			return nil, fmt.Errorf("postpone job %d, which the next crash fails: %w", a.job.ID, err)
		}
	}
	return kept, nil
}

// noRisk returns the step that gives back claimed jobs that must not wait for a slot. It keeps a claim within the free slots.
func noRisk() step { return step{review: returnRisky} }

// returnRisky gives back a queue's claimed jobs that would have to wait for a slot and should not: if the process dies, a
// crash is charged to all jobs that it holds. A job on its last attempt would fail without having run; and jobs beside one
// that was running when a process died would be charged again and again.
func returnRisky(ctx context.Context, q db.Querier, t *turn, queue string, claimed []*Attempt) ([]*Attempt, error) {
	slots := int(t.plan.slots[queue])
	if len(claimed) <= slots {
		return claimed, nil
	}
	slices.SortFunc(claimed, better)
	suspect := slices.ContainsFunc(claimed, func(a *Attempt) bool { return a.job.Crashes > 0 })
	kept, back := claimed[:slots:slots], []*lifecycle.End{}
	for _, a := range claimed[slots:] {
		if suspect || a.job.AttemptsLeft() == 0 {
			a.end = lifecycle.End{Job: &a.job, Fate: lifecycle.FateReturn}
			back = append(back, &a.end)
		} else {
			kept = append(kept, a)
		}
	}
	if len(back) > 0 {
		t.returned[queue] = true
		if err := lifecycle.Return(ctx, q, t.now, back, t.made); err != nil {
			return nil, fmt.Errorf("release claimed jobs: %w", err)
		}
	}
	return kept, nil
}
