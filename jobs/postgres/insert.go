package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// insert is the insert of one caller.
type insert struct {
	engine.Insert
	ids []int64
}

// Insert implements [engine.Store]. Concurrent callers with single jobs share transactions.
func (s *backend) Insert(ctx context.Context, in engine.Insert) ([]int64, error) {
	i := &insert{Insert: in}
	var err error
	switch {
	case in.Claim != nil:
		return inserter{s}.insertClaimed(ctx, i)
	case in.Payloads != nil:
		err = inserter{s}.writeInsert(ctx, i)
	default:
		err = s.conns.explain(ctx, s.inserts.Do(ctx, i))
	}
	if err != nil {
		return nil, err
	}
	s.Announce(core.WorkAdded)
	return i.ids, nil
}

// InsertWith implements [engine.Store].
func (s *backend) InsertWith(ctx context.Context, queue string, fn engine.InsertFunc) error {
	inserted := false
	err := s.writer.write(ctx, 1, s.writer.transact, func(ctx context.Context, t *transaction, q db.Querier) (err error) {
		if inserted, err = fn(ctx, q); inserted && err == nil {
			t.announce(queue)
		}
		return err
	})
	if err == nil && inserted {
		s.Announce(core.WorkAdded)
	}
	return err
}

// writeInsert writes one insert in a transaction of its own.
func (s inserter) writeInsert(ctx context.Context, i *insert) error {
	return s.store.writer.write(ctx, 1, s.store.writer.transact, func(ctx context.Context, t *transaction, q db.Querier) error { return i.add(ctx, t, q) })
}

// add inserts and announces the jobs of one caller.
func (i *insert) add(ctx context.Context, t *transaction, q db.Querier) error {
	i.ids = nil
	t.announce(i.Job.Queue)
	if i.Payloads != nil {
		return i.addMany(ctx, q)
	}
	id, err := engine.Timed(&i.Insert, "EnqueueKeylessJob", func() (int64, error) { return q.EnqueueKeylessJob(ctx, i.Job) })
	if errors.Is(err, sql.ErrNoRows) {
		return engine.ErrNotAdded
	}
	i.ids = []int64{id}
	return err
}

func (i *insert) addMany(ctx context.Context, q db.Querier) error {
	i.ids = make([]int64, 0, i.Count)
	for payloads, err := range i.Payloads {
		if err != nil {
			return err
		}
		ids, err := engine.Timed(&i.Insert, "EnqueueJobs", func() ([]int64, error) { return q.EnqueueJobs(ctx, i.Many(payloads.List)) })
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return engine.ErrNotAdded
		}
		i.ids = append(i.ids, ids...)
	}
	return nil
}

// insertClaimed inserts a job as claimed. An error undoes the insert, also when an application's trigger has made the job one
// that the worker would not get.
func (s inserter) insertClaimed(ctx context.Context, i *insert) ([]int64, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if i.Claim.Patience > 0 {
		limited, cancel = context.WithTimeout(ctx, i.Claim.Patience)
	}
	defer cancel()
	arg, committed := i.Claimed(), func() {}
	// A slow runner does not cancel a commit that has begun: its outcome would be unknown.
	transact := func(limited context.Context, fn statements) (bool, error) {
		return s.store.writer.transactUntil(limited, ctx, fn)
	}
	err := s.store.writer.write(limited, 1, transact, func(ctx context.Context, _ *transaction, q db.Querier) error {
		row, err := engine.Timed(&i.Insert, "EnqueueClaimedJob", func() (row db.EnqueueClaimedJobRow, err error) {
			row, committed, err = claims{s.store.cursors}.enqueueClaimed(ctx, q, arg)
			return row, err
		})
		if errors.Is(err, sql.ErrNoRows) || err == nil && row.ID == 0 {
			return engine.ErrDeclined
		}
		i.Claim.Row, i.ids = db.ClaimJobsRow(row), []int64{row.ID}
		return err
	})
	if err != nil {
		if limited.Err() != nil && ctx.Err() == nil && !errors.Is(err, jobs.ErrUnknownOutcome) {
			err = fmt.Errorf("%w: %w", engine.ErrDeclined, err)
		}
		return nil, err
	}
	committed()
	return i.ids, nil
}
