package lifecycle

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Insert inserts a job, or finds the one that has its unique key or request id.
func Insert(ctx context.Context, q db.Querier, r Row) (Inserted, error) {
	if r.LimitKey != nil {
		r.Status = r.limitedStatus()
	}
	switch {
	case r.UniqueKey != nil && r.Unique.Mode == UniquePeriod:
		return r.insertForPeriod(ctx, q)
	case r.UniqueKey != nil || r.RequestID != nil || r.LimitKey != nil:
		return r.insertOrFind(ctx, q)
	}
	id, err := q.EnqueueKeylessJob(ctx, db.EnqueueKeylessJobParamsOf(r.EnqueueJobParams))
	if errors.Is(err, sql.ErrNoRows) {
		err = WhyNotAdded(ctx, q, engine.ErrNotAdded)
	}
	return Inserted{ID: id}, err
}

// limitedStatus returns the status of a new job with a limit key. No caller's transaction locks a lane, as it may last.
func (r Row) limitedStatus() string {
	if r.Waiting {
		return string(jobtype.StatusWaiting)
	}
	return string(jobtype.StatusScheduled)
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

// WhyNotAdded returns the error of an insert that added nothing: ErrMoved if a move has closed the queue, or else err.
func WhyNotAdded(ctx context.Context, q db.Querier, err error) error {
	return cmp.Or(CheckOpen(ctx, q), err)
}

// mostTries bounds the number of times that a key may change hands between an enqueue's statements. Five were too few for twelve callers
// of one key whose runs take no time.
const mostTries = 100

// insertOrFind tries again when the job that has the key begins or ends between the statements (not on SQLite, whose transaction holds
// the write lock).
func (r Row) insertOrFind(ctx context.Context, q db.Querier) (Inserted, error) {
	var cancelled int64 // by an earlier try
	for range mostTries {
		id, err := q.EnqueueJob(ctx, r.EnqueueJobParams)
		if !errors.Is(err, sql.ErrNoRows) {
			return Inserted{ID: id, Cancelled: cancelled}, err
		}
		if id, err := r.byRequestID(ctx, q); id != 0 || err != nil {
			return Inserted{ID: id, Existed: true}, err
		}
		if r.UniqueKey != nil {
			inserted, done, err := r.taken(ctx, q)
			cancelled = cmp.Or(inserted.Cancelled, cancelled)
			if inserted.Cancelled = cancelled; done || err != nil {
				return inserted, err
			}
		}
		if err := CheckOpen(ctx, q); err != nil {
			return Inserted{}, err
		}
		if r.UniqueKey == nil && r.RequestID == nil { // a trigger of the application prevents the row
			return Inserted{}, engine.ErrNotAdded
		}
	}
	return Inserted{}, errors.New("the unique key or request id changed hands too often: try again")
}

// Exists reports whether a job has the row's request id, or its unique key is taken.
func (r Row) Exists(ctx context.Context, q db.Querier) (bool, error) {
	if id, err := r.byRequestID(ctx, q); id != 0 || err != nil || r.UniqueKey == nil {
		return id != 0, err
	}
	if r.Unique.Mode == UniquePeriod {
		taken, err := q.GetUniqueKey(ctx, db.GetUniqueKeyParams{Kind: r.Kind, UniqueKey: *r.UniqueKey})
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return taken.Until > r.Now, err
	}
	found, err := q.ListLiveJobsByUniqueKey(ctx, db.ListLiveJobsByUniqueKeyParams{Kind: r.Kind, UniqueKey: *r.UniqueKey})
	return len(found) > 0, err
}

// byRequestID finds the job that has the row's request id; 0 when there is none.
func (r Row) byRequestID(ctx context.Context, q db.Querier) (int64, error) {
	if r.RequestID == nil {
		return 0, nil
	}
	id, err := q.GetJobIDByRequestID(ctx, db.GetJobIDByRequestIDParams{Kind: r.Kind, RequestID: *r.RequestID})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}
