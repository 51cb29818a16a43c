package lifecycle

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// Insert inserts a job, or finds the one that has its unique key or request id.
func Insert(ctx context.Context, q db.Querier, p db.EnqueueJobParams) (id int64, existed bool, err error) {
	if p.UniqueKey != nil || p.RequestID != nil {
		return insertOrFind(ctx, q, p)
	}
	id, err = q.EnqueueKeylessJob(ctx, db.EnqueueKeylessJobParamsOf(p))
	if errors.Is(err, sql.ErrNoRows) {
		err = WhyNotAdded(ctx, q, engine.ErrNotAdded)
	}
	return id, false, err
}

// InsertMany inserts the jobs of an Insert with Payloads, and returns their ids in the order of the payloads.
func InsertMany(ctx context.Context, q db.Querier, in engine.Insert) ([]int64, error) {
	ids := make([]int64, 0, in.Count)
	for payloads, err := range in.Payloads {
		if err != nil {
			return nil, err
		}
		added, err := q.EnqueueJobs(ctx, in.Many(payloads.List))
		if err != nil {
			return nil, err
		}
		if len(added) == 0 {
			return nil, WhyNotAdded(ctx, q, engine.ErrNotAdded)
		}
		ids = append(ids, added...)
	}
	return ids, nil
}

// WhyNotAdded returns the error of an insert that added nothing: that the queue is closed by a move, or else err.
func WhyNotAdded(ctx context.Context, q db.Querier, err error) error {
	return cmp.Or(CheckOpen(ctx, q), err)
}

// insertOrFind tries a few times, because the job that has the key can end between the two statements (not on SQLite, whose
// transaction holds the write lock).
func insertOrFind(ctx context.Context, q db.Querier, p db.EnqueueJobParams) (id int64, existed bool, err error) {
	for range 5 {
		id, err := q.EnqueueJob(ctx, p)
		if !errors.Is(err, sql.ErrNoRows) {
			return id, false, err
		}
		if p.RequestID != nil {
			id, err := q.GetJobIDByRequestID(ctx, db.GetJobIDByRequestIDParams{Kind: p.Kind, RequestID: *p.RequestID})
			if !errors.Is(err, sql.ErrNoRows) {
				return id, err == nil, err
			}
		}
		if p.UniqueKey != nil {
			id, err := q.GetLiveJobIDByUniqueKey(ctx, db.GetLiveJobIDByUniqueKeyParams{Kind: p.Kind, UniqueKey: *p.UniqueKey})
			if !errors.Is(err, sql.ErrNoRows) {
				return id, err == nil, err
			}
		}
		if err := CheckOpen(ctx, q); err != nil {
			return 0, false, err
		}
	}
	return 0, false, errors.New("the unique key or request id changed hands too often: try again")
}
