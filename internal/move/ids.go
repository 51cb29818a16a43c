package move

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// probeName is the kind of jobs and the name of workers that are never committed.
const probeName = "sqluice copy"

// errLook ends a transaction that only tries a change.
var errLook = errors.New("not to be committed")

// reserveIDs makes the target give ids above all that either side ever gave. That includes ids of deleted jobs and
// workers, which logs and the application's tables may still name.
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
	if err := m.useUp(ctx, given); err != nil {
		return m.To.fault(fmt.Errorf("reserve ids: %w", err))
	}
	if err := m.To.Store.Upkeep().ReserveIDs(ctx, given); err != nil {
		return m.To.fault(fmt.Errorf("reserve ids: %w", err))
	}
	return nil
}

// givenIDs returns the last id that a side gave in each table: the one before the ids of a new job and a new worker,
// which are rolled back. The side is open for this transaction only.
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
		} else if !errors.Is(err, sql.ErrNoRows) { // which means that the sequence is behind the rows
			return err
		}
		worker, err := q.RegisterWorker(ctx, db.RegisterWorkerParams{Name: probeName, Queues: "{}", Kinds: "[]"})
		if err == nil {
			given.Worker = max(given.Worker, worker-1)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return errLook
	})
	if errors.Is(err, errLook) {
		return given, nil
	}
	return given, s.fault(fmt.Errorf("find the last ids: %w", err))
}

// useUp adds a worker with the last id to the target and removes it again, unless it exists: SQLite remembers the largest id
// that this table ever had, and offers no other way to set it.
func (m *mover) useUp(ctx context.Context, given db.GetLastIDsRow) error {
	return m.To.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		last, err := q.GetLastIDs(ctx)
		if err == nil && given.Worker > last.Worker {
			err = useUpWorker(ctx, q, given.Worker)
		}
		return err
	})
}

// useUpWorker adds a worker that ended before all others, so that it can be distinguished from them.
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
