package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// page is the size of a page of jobs: small, so that there are several pages.
const page = 10

// look reads the public API's view, with the model's ids.
func (e *engine) look(ctx context.Context) (view, error) {
	v := view{Jobs: map[int64]jobs.Job{}, Errors: map[int64][]inspect.AttemptEnd{}}
	for _, part := range []func(context.Context, *view) error{e.lookAtJobs, e.lookAtStats, e.lookAtFailed, e.lookAtWorkers, e.lookAtSchedules, e.lookAtRules, e.lookAtKeys} {
		if err := part(ctx, &v); err != nil {
			return v, err
		}
	}
	e.seen = v
	return v, nil
}

// lookAtJobs reads a single job's view only when the job's row has changed since the last look.
func (e *engine) lookAtJobs(ctx context.Context, v *view) error {
	list, err := e.allJobs(ctx)
	if err != nil {
		return err
	}
	for _, listed := range list {
		j := e.job(listed)
		v.Order = append(v.Order, j.ID)
		if seen, ok := e.seen.Jobs[j.ID]; ok && differences(j, seen) == nil {
			v.Errors[j.ID] = e.seen.Errors[j.ID]
		} else if v.Errors[j.ID], err = e.errorsOf(ctx, listed); err != nil {
			return err
		}
		v.Jobs[j.ID] = j
	}
	return nil
}

func (e *engine) lookAtStats(ctx context.Context, v *view) (err error) {
	v.Stats, err = inspect.New(e.client).Stats(ctx)
	return err
}

func (e *engine) lookAtFailed(ctx context.Context, v *view) (err error) {
	if v.Failed, err = e.allFailed(ctx); err != nil {
		return err
	}
	v.Report, err = e.report(ctx, inspect.FailedFilter{})
	return err
}

func (e *engine) lookAtWorkers(ctx context.Context, v *view) (err error) {
	if v.Queues, err = inspect.New(e.client).Queues(ctx); err != nil {
		return err
	}
	v.Workers, err = inspect.New(e.client).Workers(ctx)
	for i := range v.Workers {
		v.Workers[i].ID = e.workers.from(v.Workers[i].ID)
	}
	return err
}

// lookAtSchedules reads the schedules, without the options of their jobs, which the jobs show.
func (e *engine) lookAtSchedules(ctx context.Context, v *view) (err error) {
	v.Ticks = map[string][]jobs.ScheduleTick{}
	if v.Schedules, err = e.client.ListSchedules(ctx, "", page); err != nil {
		return err
	}
	for i, s := range v.Schedules {
		v.Schedules[i].Options, v.Schedules[i].LastJob = nil, e.jobs.from(s.LastJob)
		ticks, err := e.client.ScheduleTicks(ctx, s.Name, 1000)
		if err != nil {
			return err
		}
		for n := range ticks {
			ticks[n].Job, ticks[n].Replaced = e.jobs.from(ticks[n].Job), e.jobs.from(ticks[n].Replaced)
		}
		v.Ticks[s.Name] = ticks
	}
	return nil
}

// allJobs lists the jobs page by page, with the engine's ids.
func (e *engine) allJobs(ctx context.Context) ([]jobs.Job, error) {
	var all []jobs.Job
	for after := int64(0); ; after = all[len(all)-1].ID {
		list, err := inspect.New(e.client).List(ctx, inspect.Filter{After: after, Limit: page})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		if len(list) < page {
			return all, nil
		}
	}
}

// errorsOf also reads the job by itself: that must equal the list's entry.
func (e *engine) errorsOf(ctx context.Context, listed jobs.Job) ([]inspect.AttemptEnd, error) {
	one, err := e.client.Get(ctx, listed.ID)
	if err != nil {
		return nil, err
	}
	if faults := differences(one, listed); faults != nil {
		return nil, fmt.Errorf("Get and List differ for job %d: %v", e.jobs.from(listed.ID), faults)
	}
	var list []inspect.AttemptEnd
	for before := int64(0); ; {
		page, err := inspect.New(e.client).Attempts(ctx, listed.ID, before, 2)
		if err != nil {
			return nil, err
		}
		list = append(page.Ends(), list...)
		if before = page.Next; before == 0 {
			break
		}
	}
	for i := range list {
		if strings.HasPrefix(list[i].Stack, "goroutine ") {
			list[i].Stack = aStack
		}
	}
	return list, nil
}

func (e *engine) allFailed(ctx context.Context) ([]int64, error) {
	var all []int64
	for last := (jobs.Job{}); ; {
		list, err := inspect.New(e.client).ListFailed(ctx, inspect.FailedFilter{Limit: page}, last)
		if err != nil {
			return nil, err
		}
		for _, j := range list {
			all = append(all, e.jobs.from(j.ID))
			last = j
		}
		if len(list) < page {
			return all, nil
		}
	}
}

// report returns the errors of the report of failed jobs with the model's ids, and checks that groups differ in their keys.
func (e *engine) report(ctx context.Context, f inspect.FailedFilter) ([]failedError, error) {
	report, err := inspect.New(e.client).FailedReport(ctx, f)
	var list []failedError
	seen := map[string]bool{}
	for _, g := range report.Groups {
		name := fmt.Sprintf("%q %q %q", g.Kind, g.Cause, g.Pattern)
		if seen[name] {
			return nil, fmt.Errorf("two groups are %s", name)
		}
		seen[name] = true
		for _, text := range g.Texts {
			if pattern := inspect.ErrorPattern(text.Error); pattern != g.Pattern {
				return nil, fmt.Errorf("the group %s has an error with the pattern %q", name, pattern)
			}
			text.ExampleID = e.jobs.from(text.ExampleID)
			list = append(list, failedError{g.Kind, g.Cause, text})
		}
	}
	if !slices.IsSortedFunc(report.Groups, func(a, b inspect.FailedGroup) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), b.LastSeen.Compare(a.LastSeen), cmp.Compare(b.ExampleID, a.ExampleID))
	}) {
		return nil, fmt.Errorf("the groups are not in order: %+v", report.Groups)
	}
	slices.SortFunc(list, frequent)
	return list, err
}
