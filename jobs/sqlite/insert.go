package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/db/sqliteonly"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// batchLeast is the number of jobs from which on one statement for all takes less time than one for each.
const batchLeast = 4

// insertBatch inserts the jobs of the first members whose jobs are alike, and returns the number of these members. It returns 0
// when they are too few for a shared statement.
func (w *writes) insertBatch(group []*member) (n int, err error) {
	defer w.batch.Reset()
	for n < len(group) && group[n].Work.fn == nil && w.batch.Add(&group[n].Work.insert) {
		n++
	}
	if n < batchLeast {
		return 0, nil
	}
	ids, err := engine.Timed(&group[0].Work.insert, "EnqueueJobs", func() ([]int64, error) {
		return w.EnqueueJobs(context.Background(), w.batch.Params())
	})
	if err != nil {
		return 0, err
	}
	if len(ids) != n {
		return 0, engine.ErrNotAdded // single inserts show whose job it is
	}
	for i, m := range group[:n] {
		m.Work.ids = ids[i : i+1 : i+1]
	}
	return n, nil
}

// insert inserts the jobs of one caller, and appends their ids. The end of ctx takes effect between two statements.
func (w *writes) insert(ctx context.Context, in *engine.Insert, ids []int64) ([]int64, error) {
	var id int64
	var err error
	switch {
	case in.Payloads != nil:
		return w.insertMany(ctx, in, ids)
	case in.Claim != nil:
		id, err = engine.Timed(in, "EnqueueClaimedJob", func() (int64, error) { return w.insertClaimed(in) })
	default:
		id, err = engine.Timed(in, "EnqueueKeylessJob", func() (int64, error) {
			return w.only.EnqueueKeylessJob(context.Background(), sqliteonly.EnqueueKeylessJobParams(in.Job))
		})
	}
	switch {
	case err == nil:
		return append(ids, id), nil
	case in.Claim != nil && (refusedItself(err) || errors.Is(err, sql.ErrNoRows)):
		return nil, fmt.Errorf("%w: %w", engine.ErrDeclined, err)
	case refusedItself(err) || errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("%w: %w", engine.ErrNotAdded, err)
	}
	return nil, err
}

// insertMany inserts the jobs of an insert with Payloads, and appends their ids.
func (w *writes) insertMany(ctx context.Context, in *engine.Insert, ids []int64) ([]int64, error) {
	foreign, err := w.only.CountForeignTriggers(context.Background())
	if err != nil {
		return nil, err
	}
	ids = slices.Grow(ids, in.Count)
	for payloads, err := range in.Payloads {
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, core.EndOf(ctx)
		}
		before := len(ids)
		ids, err = engine.Timed(in, "EnqueueJobs", func() ([]int64, error) { return w.insertList(ids, in, payloads, foreign > 0) })
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		if len(ids) == before {
			return nil, engine.ErrNotAdded
		}
	}
	return ids, nil
}

// insertList inserts the jobs of one list, and appends their ids. Unless a trigger of the application may add or ignore rows, it
// lets SQLite return no ids, which would need a temporary table: the statement adds all jobs, and their ids have no gap.
func (w *writes) insertList(ids []int64, in *engine.Insert, payloads engine.Payloads, foreign bool) ([]int64, error) {
	if foreign {
		added, err := w.EnqueueJobs(context.Background(), in.Many(payloads.List))
		return append(ids, added...), err
	}
	last, err := w.only.EnqueueJobs(context.Background(), sqliteonly.EnqueueJobsParams(in.Many(payloads.List)))
	if err != nil {
		return ids, err
	}
	for id := last - int64(payloads.Count) + 1; id <= last; id++ {
		ids = append(ids, id)
	}
	return ids, nil
}

// insertClaimed inserts a job as claimed.
func (w *writes) insertClaimed(in *engine.Insert) (int64, error) {
	arg := in.Claimed()
	id, err := w.only.EnqueueClaimedJob(context.Background(), sqliteonly.EnqueueClaimedJobParams(arg))
	if err != nil {
		return 0, err
	}
	row, err := w.only.GetClaimedJob(context.Background(), sqliteonly.GetClaimedJobParams{
		ID: id, WorkerID: arg.WorkerID, Kind: arg.Kind, Queue: arg.Queue, StartedAt: arg.StartedAt,
	})
	in.Claim.Row = db.ClaimJobsRow(row)
	return id, err
}

// refusedItself reports whether an insert refused itself: its statement sets no kind, or no updated_at, for a job that must not be
// added.
func refusedItself(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == lib.SQLITE_CONSTRAINT_NOTNULL &&
		(strings.Contains(e.Error(), "sqluice_jobs.kind") || strings.Contains(e.Error(), "sqluice_jobs.updated_at"))
}
