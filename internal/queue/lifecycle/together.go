package lifecycle

import (
	"context"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// areLimited reports whether all ends are of jobs with limit keys, and make only their lanes ready: see completeTogether.
func areLimited(groups []Group) bool {
	for _, g := range groups {
		if g.Completion.Drop || slices.ContainsFunc(g.Ends, func(e *End) bool { return e.Job.LimitKey == nil || e.Job.UniqueKey != "" }) {
			return false
		}
	}
	return len(groups) > 0
}

// completeTogether records the ends of groups and makes lanes ready, in one round trip: it takes for granted that the worker still holds all
// jobs. It reports whether it does, and sets the results of the groups' statements. Otherwise it has added no end to the transitions, and made
// lanes ready in vain, at which the next claim looks. All transitions before have been handled: what follows from them would be lost too.
func (f *finisher) completeTogether(ctx context.Context, groups []Group, done []engine.Completed) (all bool, err error) {
	now := core.Micros(f.now)
	before := slices.Clone(f.made.list)
	for i := range groups {
		c := groups[i].Complete()
		if c.Results != "" {
			f.made.first = append(f.made.first, db.CompleteJobsWithResultsCall{Arg: c.WithResults(now), Into: &done[i].N})
		} else {
			f.made.first = append(f.made.first, db.CompleteJobsCall{Arg: c.Plain(now), Into: &done[i].N})
		}
		for _, e := range groups[i].Ends {
			e.leave(f.made, jobtype.StatusDone)
		}
	}
	if err := f.made.ReactEarly(ctx, f.q, now); err != nil {
		return false, err
	}
	for i, g := range groups {
		if done[i].N != int64(len(g.Ends)) {
			f.made.list, f.made.handled = before, len(before)
			return false, nil
		}
	}
	return true, nil
}
