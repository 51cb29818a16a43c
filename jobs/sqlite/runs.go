package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// leastRun is how many ids without a gap get a statement of their own. A list of ids is read from JSON and looked up one by
// one; a range is walked through, and its rows are written as they are met.
const leastRun = 8

// filledFor is for how many claims all columns are read after a job had values in those that most leave empty.
const filledFor = 50

// run is a range of ids without a gap.
type run struct{ first, last int64 }

// runsOf divides ids, which it sorts, into long runs and the rest.
func runsOf(ids []int64) (runs []run, rest []int64) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n] == ids[n-1]+1 {
			n++
		}
		if n >= leastRun {
			runs = append(runs, run{ids[0], ids[n-1]})
		} else {
			rest = append(rest, ids[:n]...)
		}
		ids = ids[n:]
	}
	return runs, rest
}

// inRuns writes the rows of long runs by one statement each and those of all other ids, a JSON list, by another. It returns how
// many were written.
func inRuns(ids []int64, inRun func(run) (int64, error), inList func(string) (int64, error)) (written int64, err error) {
	runs, rest := runsOf(ids)
	for _, r := range runs {
		n, err := inRun(r)
		if err != nil {
			return 0, err
		}
		written += n
	}
	if len(rest) == 0 {
		return written, nil
	}
	n, err := inList(core.JSONIDs(rest))
	return written + n, err
}

// CompleteJobs completes those of the list that are in a run by their range.
func (w *writes) CompleteJobs(ctx context.Context, arg db.CompleteJobsParams) (int64, error) {
	ids, ok := parseIDs(arg.Ids)
	if !ok {
		return w.Queries.CompleteJobs(ctx, arg)
	}
	return inRuns(ids, func(r run) (int64, error) {
		return w.CompleteJobRange(ctx, db.CompleteJobRangeParams{
			Now: arg.Now, First: r.first, Last: r.last, Attempt: arg.Attempt, WorkerID: arg.WorkerID,
		})
	}, func(rest string) (int64, error) {
		arg.Ids = rest
		return w.Queries.CompleteJobs(ctx, arg)
	})
}

// ClaimJobs claims in two steps after a claim that gave many jobs, and else in one statement: for few jobs that is cheaper.
func (w *writes) ClaimJobs(ctx context.Context, arg db.ClaimJobsParams) (rows []db.ClaimJobsRow, err error) {
	defer func() { w.busy = len(rows) >= leastRun }()
	if !w.busy || arg.NoneDueBefore != 0 {
		return w.Queries.ClaimJobs(ctx, arg)
	}
	rows, err = w.listClaimable(ctx, arg)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	started, err := w.startJobs(ctx, arg, ids)
	if err == nil && started != int64(len(rows)) {
		rows, err = w.held(ctx, arg.WorkerID, rows)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// listClaimable lists the jobs that a claim gives. Where they are all of one kind, and none has a value in one of the columns that
// most jobs leave empty, that takes less: no row is read for its order, and half of the columns.
func (w *writes) listClaimable(ctx context.Context, arg db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	if w.filled > 0 {
		w.filled--
		return w.listAll(ctx, arg)
	}
	kinds, err := w.ListClaimableKinds(ctx, db.ListClaimableKindsParams{Kinds: arg.Kinds, Queue: arg.Queue, WorkerID: arg.WorkerID})
	if err != nil || len(kinds) == 0 {
		return nil, err
	}
	if len(kinds) == 1 {
		rows, filled, err := w.listOfKind(ctx, arg, kinds[0])
		if err != nil || !filled {
			return rows, err
		}
		w.filled = filledFor
	}
	return w.listAll(ctx, arg)
}

func (w *writes) listAll(ctx context.Context, arg db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	list, err := w.ListClaimableJobs(ctx, db.ListClaimableJobsParams{
		Kinds: arg.Kinds, Queue: arg.Queue, Now: arg.Now, N: arg.N, WorkerID: arg.WorkerID,
	})
	rows := make([]db.ClaimJobsRow, len(list))
	for i, row := range list {
		rows[i] = db.ClaimJobsRow(row)
	}
	return rows, err
}

// listOfKind lists jobs of one kind, without some columns: filled reports that one of the jobs has values there.
func (w *writes) listOfKind(ctx context.Context, arg db.ClaimJobsParams, kind string) (rows []db.ClaimJobsRow, filled bool, err error) {
	list, err := w.ListClaimableJobsOfKind(ctx, db.ListClaimableJobsOfKindParams{Queue: arg.Queue, Kind: kind, Now: arg.Now, N: arg.N})
	rows = make([]db.ClaimJobsRow, len(list))
	for i, row := range list {
		rows[i] = db.ClaimJobsRow{
			ID: row.ID, Kind: row.Kind, Payload: row.Payload, Priority: row.Priority, RunAfter: row.RunAfter, Attempt: row.Attempt,
			MaxAttempts: row.MaxAttempts, CreatedAt: row.CreatedAt,
		}
		filled = filled || row.More != 0
	}
	return rows, filled, err
}

// held returns the rows of those jobs that a worker holds: it leaves out a job whose claim a trigger of the application ignored.
func (w *writes) held(ctx context.Context, worker int64, rows []db.ClaimJobsRow) ([]db.ClaimJobsRow, error) {
	var held []db.ClaimJobsRow
	for _, row := range rows {
		fence, err := w.GetJobFence(ctx, row.ID)
		if err != nil {
			return nil, err
		}
		if fence.Status == string(jobs.StatusRunning) && fence.WorkerID == worker && fence.Attempt == row.Attempt {
			held = append(held, row)
		}
	}
	return held, nil
}

// startJobs hands to a worker the jobs that were listed in the same transaction.
func (w *writes) startJobs(ctx context.Context, arg db.ClaimJobsParams, ids []int64) (started int64, err error) {
	return inRuns(ids, func(r run) (int64, error) {
		return w.StartJobRange(ctx, db.StartJobRangeParams{
			WorkerID: arg.WorkerID, LeaseUntil: arg.LeaseUntil, Now: arg.Now, First: r.first, Last: r.last,
		})
	}, func(rest string) (int64, error) {
		return w.StartJobs(ctx, db.StartJobsParams{WorkerID: arg.WorkerID, LeaseUntil: arg.LeaseUntil, Now: arg.Now, Ids: rest})
	})
}

// parseIDs reads what core.JSONIDs writes, and no other JSON.
func parseIDs(list string) (ids []int64, ok bool) {
	list = strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")
	if list == "" {
		return nil, true
	}
	ids = make([]int64, 0, strings.Count(list, ",")+1)
	for text := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}
