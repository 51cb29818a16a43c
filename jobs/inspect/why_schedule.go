package inspect

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs"
)

// The reasons of a schedule, beside [ReasonNotDue] and [ReasonNoWorker].
const (
	ReasonFaulty          Reason = "faulty"           // a worker could not enqueue its job
	ReasonSchedulePaused  Reason = "schedule-paused"  // the schedule enqueues nothing until it is resumed
	ReasonUndeclared      Reason = "undeclared"       // declared in code, but not by a live worker
	ReasonOwed            Reason = "owed"             // the job of a tick waits for the end of the previous one
	ReasonScheduleOverdue Reason = "schedule-overdue" // a tick is due, and no worker has enqueued its job yet
)

// ScheduleDiagnosis holds the reasons why a schedule enqueues no job.
type ScheduleDiagnosis struct {
	Schedule string    `json:"schedule"`
	State    string    `json:"state"`    // the state in [jobs.ScheduleInfo]
	Findings []Finding `json:"findings"` // at least one; correct the first one first
}

// WhySchedule returns the reasons why a schedule enqueues no job now, as far as the database shows them. The error is [jobs.ErrNoSchedule]
// for an unknown name.
func (in *Inspector) WhySchedule(ctx context.Context, name string) (ScheduleDiagnosis, error) {
	var info jobs.ScheduleInfo
	err := core.CheckPortable("schedule name", name)
	if err == nil {
		err = in.scope.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
			info, err = schedule.Read(ctx, q, name, in.scope.Now(), in.view())
			return err
		})
	}
	var workers []WorkerInfo
	if err == nil {
		workers, err = in.Workers(ctx)
	}
	if err != nil {
		return ScheduleDiagnosis{}, fmt.Errorf("why schedule %s enqueues no job: %w", strconv.Quote(name), err)
	}
	return ScheduleDiagnosis{Schedule: name, State: info.State(), Findings: whySchedule(info, len(workers) > 0, in.scope.Now())}, nil
}

// whySchedule returns the findings; correct the first one first.
func whySchedule(s jobs.ScheduleInfo, served bool, now time.Time) []Finding {
	overdue := "a tick is due since %s"
	if served && s.State() == jobs.ScheduleActive {
		overdue += ": a worker is about to enqueue its job, or another transaction holds it or its last job"
	}
	return findingsOf(
		possible{!s.Paused.IsZero(), newFinding(ReasonSchedulePaused, "it is paused since %s, until it is resumed", moment(s.Paused))},
		possible{!served, newFinding(ReasonNoWorker, "there is no live worker: one enqueues the jobs of schedules")},
		possible{served && s.Unhandled, newFinding(ReasonNoWorker, "no live worker takes jobs of the kind %s from queue %s: those that it enqueues wait",
			strconv.Quote(s.Kind), strconv.Quote(s.Queue))},
		possible{served && !s.Declared, newFinding(ReasonUndeclared, "no live worker declares it: it enqueues nothing until one starts whose program does")},
		possible{s.Fault != "", newFinding(ReasonFaulty, "a worker could not enqueue its job, and tries again: %s", s.Fault)},
		possible{!s.Owed.IsZero(), newFinding(ReasonOwed, "the job of the tick %s waits until job %d has ended", moment(s.Owed), s.LastJob)},
		possible{s.Next.After(now), newFinding(ReasonNotDue, "its next tick is %s, in %s", moment(s.Next), s.Next.Sub(now).Round(time.Second))},
		possible{!s.Next.After(now), newFinding(ReasonScheduleOverdue, overdue, moment(s.Next))},
	)
}
