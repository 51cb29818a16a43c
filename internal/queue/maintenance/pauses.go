package maintenance

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// resumeDue resumes the queues and kinds whose pause is over. One that the database refuses to resume keeps no other paused; the error
// is the last of theirs.
func resumeDue(ctx context.Context, store engine.Store) error {
	now := core.Micros(store.Now())
	resumed, err := resume(ctx, store, db.ResumeDueQueuesParams{Now: now}, db.ResumeDueKindsParams{Now: now})
	if err != nil && store.RefusesRow(err) {
		resumed, err = resumeApart(ctx, store, now)
	}
	if resumed > 0 {
		store.Announce(core.WorkReady)
	}
	if err != nil {
		return fmt.Errorf("end pauses: %w", err)
	}
	return nil
}

// resume resumes queues and kinds in one transaction.
func resume(ctx context.Context, store engine.Store, queues db.ResumeDueQueuesParams, kinds db.ResumeDueKindsParams) (resumed int64, err error) {
	err = store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		resumed = 0
		n, err := q.ResumeDueQueues(ctx, queues)
		if err != nil {
			return err
		}
		resumed += n
		n, err = q.ResumeDueKinds(ctx, kinds)
		resumed += n
		return err
	})
	if err != nil {
		return 0, err
	}
	return resumed, nil
}

// resumeApart resumes each queue and each kind in a transaction of its own.
func resumeApart(ctx context.Context, store engine.Store, now int64) (resumed int64, err error) {
	var queues []db.Queue
	var kinds []db.KindPause
	err = store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		if queues, err = q.ListQueueRows(ctx); err != nil {
			return err
		}
		kinds, err = q.ListKindPauses(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	var last error
	// Of the zero parameters no pause is over.
	one := func(until *int64, queue db.ResumeDueQueuesParams, kind db.ResumeDueKindsParams) error {
		if until == nil || *until > now {
			return nil
		}
		n, err := resume(ctx, store, queue, kind)
		resumed += n
		if err != nil && store.RefusesRow(err) {
			last, err = err, nil
		}
		return err
	}
	for _, row := range queues {
		if err := one(row.PausedUntil, db.ResumeDueQueuesParams{Now: now, Name: &row.Name}, db.ResumeDueKindsParams{}); err != nil {
			return resumed, err
		}
	}
	for _, row := range kinds {
		if err := one(row.PausedUntil, db.ResumeDueQueuesParams{}, db.ResumeDueKindsParams{Now: now, Queue: &row.Queue, Kind: &row.Kind}); err != nil {
			return resumed, err
		}
	}
	return resumed, last
}
