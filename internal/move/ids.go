package move

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// probeName is the kind of the jobs and the name of the workers that probes add and never commit.
const probeName = "sqluice copy"

// errProbe rolls back a transaction that only probes.
var errProbe = errors.New("roll back the transaction of a probe")

// reserveIDs makes the next ids of the target larger than every id that either side has ever given, also to deleted jobs and workers:
// logs and the application's tables may still name them.
func (m *mover) reserveIDs(ctx context.Context, targetToken string) error {
	from, err := m.From.givenIDs(ctx, m.token+m.mark)
	if err != nil {
		return err
	}
	to, err := m.To.givenIDs(ctx, targetToken)
	if err != nil {
		return err
	}
	given := db.GetLastIDsRow{
		Job: max(from.Job, to.Job), JobError: max(from.JobError, to.JobError), Worker: max(from.Worker, to.Worker),
		Audit: max(from.Audit, to.Audit),
	}
	if err := m.reserveID(ctx, given); err != nil {
		return m.To.fault(fmt.Errorf("reserve ids: %w", err))
	}
	if err := m.To.Store.Upkeep().ReserveIDs(ctx, given); err != nil {
		return m.To.fault(fmt.Errorf("reserve ids: %w", err))
	}
	return nil
}

// givenIDs returns the last id that a side has given in each table. It adds a job and a worker, reads their ids, and rolls back. The side
// is open in this transaction only.
func (s Side) givenIDs(ctx context.Context, token string) (given db.GetLastIDsRow, err error) {
	err = s.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		if given, err = q.GetLastIDs(ctx); err != nil {
			return err
		}
		if _, err := q.OpenQueue(ctx, token); err != nil {
			return err
		}
		job, err := q.EnqueueJob(ctx, db.EnqueueJobParams{
			Kind: probeName, Queue: jobs.DefaultQueue, Payload: "{}", Status: string(jobs.StatusPending), MaxAttempts: 1,
		})
		if err == nil {
			given.Job = max(given.Job, job-1)
		} else if !errors.Is(err, sql.ErrNoRows) { // with ErrNoRows the sequence is behind the rows
			return err
		}
		worker, err := q.RegisterWorker(ctx, db.RegisterWorkerParams{Name: probeName, Queues: "{}", Kinds: "[]"})
		if err == nil {
			given.Worker = max(given.Worker, worker-1)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return errProbe
	})
	if errors.Is(err, errProbe) {
		return given, nil
	}
	return given, s.fault(fmt.Errorf("find the last ids: %w", err))
}

// reserveID inserts a worker with the last id into the target and deletes it, unless the id exists. SQLite records the largest id of a
// table, and has no other way to set it.
func (m *mover) reserveID(ctx context.Context, given db.GetLastIDsRow) error {
	return m.To.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		last, err := q.GetLastIDs(ctx)
		if err == nil && given.Worker > last.Worker {
			err = useUpWorker(ctx, q, given.Worker)
		}
		return err
	})
}

// useUpWorker adds a worker whose end is before all others, which distinguishes it from them.
func useUpWorker(ctx context.Context, q db.Querier, id int64) error {
	ended, reason := int64(0), "stopped"
	text, err := encode(db.Worker{ID: id, Name: probeName, Queues: "{}", Kinds: "[]", Schedules: "[]", Declares: "[]", EndedAt: &ended, EndReason: &reason})
	if err != nil {
		return err
	}
	if _, err := q.ImportWorkers(ctx, listOf([]row{{text: text}})); err != nil {
		return err
	}
	_, err = q.DeleteEndedWorkers(ctx, ended+1)
	return err
}
