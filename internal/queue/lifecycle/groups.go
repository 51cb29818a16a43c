package lifecycle

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// largeResult is the length in bytes above which a result is written by itself.
const largeResult = 32 << 10

// Group holds ends that one statement records: attempts that ended well and have the common columns of the Completion.
type Group struct {
	Completion engine.Completion // without the jobs: see Complete
	Ends       []*End

	results bool
	limited bool // the jobs have limit keys
}

// Plain splits ends into groups, each for one statement of a plan, and others, for Finish. It leaves to Finish all ends with texts, and
// the ends of jobs with a unique key or a limit key: successors are released, and lanes made ready, before the plan looks for jobs.
func Plain(ends []*End) (groups []Group, others []*End) {
	return split(ends, func(e *End) bool { return e.Job.UniqueKey != "" || e.Job.LimitKey != nil || e.hasText() })
}

// split splits ends into groups and others. apart reports whether an end that has the form for a group belongs to the others nevertheless.
func split(ends []*End, apart func(*End) bool) (groups []Group, others []*End) {
	for i, e := range ends {
		e.Recorded = e.Fate
		large := e.Result != nil && len(*e.Result) > largeResult
		if e.Fate != FateDone || !e.Drop && (e.Apart || large) || apart(e) {
			others = append(others, e)
			continue
		}
		groups = join(groups, e, e.Drop, e.Result != nil && !e.Drop, len(ends)-i)
	}
	return groups, others
}

// unstarted returns the groups of ends of attempts that did not start.
func unstarted(ends []*End) (groups []Group) {
	for i, e := range ends {
		groups = join(groups, e, false, false, len(ends)-i)
	}
	return groups
}

// join adds an end to its group, which never has more than most ends.
func join(groups []Group, e *End, drop, results bool, most int) []Group {
	key := Group{Completion: engine.Completion{WorkerID: e.Job.WorkerID, Attempt: int64(e.Job.Attempt), Drop: drop}, results: results, limited: e.Job.LimitKey != nil}
	at := slices.IndexFunc(groups, key.is)
	if at < 0 {
		at = len(groups)
		key.Ends = make([]*End, 0, most)
		groups = append(groups, key)
	}
	groups[at].Ends = append(groups[at].Ends, e)
	return groups
}

// is reports whether one group can hold the ends of both.
func (g Group) is(other Group) bool {
	return g.results == other.results && g.limited == other.limited && g.Completion.Drop == other.Completion.Drop && g.Completion.WorkerID == other.Completion.WorkerID &&
		g.Completion.Attempt == other.Completion.Attempt
}

// Complete returns the group as an engine records it. Encrypt comes before it.
func (g Group) Complete() engine.Completion {
	c := g.Completion
	if g.results {
		c.Results = Fences(g.Ends)
	} else {
		c.IDs = ids(g.Ends)
	}
	return c
}

// Settle adds the recorded ends of groups to made, and returns the ones that were refused because the lease was lost. done holds the
// results of the groups' statements.
func Settle(ctx context.Context, q db.Querier, now time.Time, groups []Group, done []engine.Completed, made *Transitions) (lost []*End, err error) {
	f := finisher{q: q, now: now, made: made}
	for i, g := range groups {
		if g.Completion.Drop {
			err = f.dropped(ctx, g.Ends, done[i].Removed)
		} else {
			err = f.completed(ctx, g.Ends, done[i].N)
		}
		if err != nil {
			return nil, err
		}
	}
	return f.lost, nil
}

// completed adds the ends of a group whose statement completed n jobs. The ends of the other jobs lost their lease. No end of the
// group may have been recorded before, so each done job with its fence was completed by this statement.
func (f *finisher) completed(ctx context.Context, group []*End, n int64) error {
	for _, e := range group {
		ended := n == int64(len(group))
		if !ended {
			row, err := f.q.GetJobFence(ctx, e.Job.ID)
			if err != nil && core.NotFound(err) != jobtype.ErrNotFound {
				return err
			}
			ended = err == nil && jobtype.Status(row.Status) == jobtype.StatusDone && e.isIn(row)
		}
		if ended {
			e.leave(f.made, jobtype.StatusDone)
		} else {
			f.lost = append(f.lost, e)
		}
	}
	return nil
}

// dropped adds the ends of a group whose statement removed jobs.
func (f *finisher) dropped(ctx context.Context, group []*End, removed []int64) error {
	for _, e := range group {
		written := slices.Contains(removed, e.Job.ID)
		if written {
			e.leave(f.made, StatusRemoved)
		} else {
			var err error
			if written, err = f.ended(ctx, e); err != nil {
				return err
			}
		}
		if !written {
			f.lost = append(f.lost, e)
		}
	}
	return nil
}

// ids returns the ids of the ends' jobs.
func ids(ends []*End) []int64 {
	return core.Map(ends, func(e *End) int64 { return e.Job.ID })
}

// Fences returns the JSON list [[id, attempt], ...], or [[id, attempt, result], ...] when there are results.
func Fences(ends []*End) string {
	list := make([]byte, 1, 24*len(ends)+2)
	list[0] = '['
	for i, e := range ends {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, '[')
		list = strconv.AppendInt(list, e.Job.ID, 10)
		list = append(list, ',')
		list = strconv.AppendInt(list, int64(e.Job.Attempt), 10)
		if e.Result != nil {
			list = append(list, ',')
			list = core.AppendString(list, *e.Result)
		}
		list = append(list, ']')
	}
	return string(append(list, ']'))
}
