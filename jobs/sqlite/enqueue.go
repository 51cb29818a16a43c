package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// errUncounted is returned by a transaction that must be run again, with statements that tell which ids they gave.
var errUncounted = errors.New("ids do not follow from how many rows were added")

// EnqueueKeylessJob adds the job by itself, or with others: see alike.
func (w *writes) EnqueueKeylessJob(ctx context.Context, arg db.EnqueueKeylessJobParams) (int64, error) {
	if id, waits, err := w.await(ctx, arg); waits || err != nil {
		return id, err
	}
	id, err := w.add(ctx, arg)
	if err == nil {
		w.alike.next = id + 1
	}
	return id, err
}

// add inserts the job by a statement that does nothing else: it returns no rows, for which SQLite would make a temporary table,
// and takes no list of rows, for which it would make another. A job that this statement does not insert, because a move closed
// the queue or the application's own index or trigger forbids it, is inserted by the general statement, which returns the cause.
func (w *writes) add(ctx context.Context, arg db.EnqueueKeylessJobParams) (int64, error) {
	w.args = arguments(w.args[:0], arg.Kind, arg.Queue, arg.Payload, arg.Status, arg.Priority, arg.RunAfter, arg.MaxAttempts, arg.Timeout,
		optional(arg.UserID), optional(arg.Tags), optional(arg.Metadata), arg.Now, arg.Now)
	id, err := insertOne(w.enqueue, w.args)
	if errors.Is(err, sql.ErrNoRows) || refused(err) && w.inTransaction() { // else a trigger's RAISE(ROLLBACK) has ended it: what ran now would be committed at once
		return w.Queries.EnqueueKeylessJob(ctx, arg)
	}
	return id, err
}

// insertOne runs a statement that adds a job, and returns its id; sql.ErrNoRows means that a trigger has ignored it.
func insertOne(stmt quick, args []driver.NamedValue) (int64, error) {
	defer clear(args) // keeps no payload
	result, err := stmt.exec(args)
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil {
		return 0, err
	} else if n != 1 {
		return 0, sql.ErrNoRows
	}
	return result.LastInsertId()
}

// EnqueueClaimedJob adds the job as add does, and looks whether it is as it was given, since a trigger may have changed it. Unlike
// the other statement it does not look which kinds wait in the queue.
func (w *writes) EnqueueClaimedJob(ctx context.Context, arg db.EnqueueClaimedJobParams) (row db.EnqueueClaimedJobRow, err error) {
	if err := w.addWaiting(ctx); err != nil {
		return row, err
	}
	w.alike.next = 0
	w.args = arguments(w.args[:0], arg.Kind, arg.Queue, arg.Payload, arg.Priority, arg.RunAfter, arg.MaxAttempts, arg.Timeout,
		optional(arg.UserID), optional(arg.Tags), optional(arg.Metadata), arg.Now, arg.LeaseUntil, arg.WorkerID, arg.StartedAt)
	row.ID, err = insertOne(w.enqueueClaimed, w.args)
	if refused(err) && w.inTransaction() {
		return row, sql.ErrNoRows
	}
	if err != nil {
		return row, err
	}
	w.args = arguments(w.args[:0], row.ID, arg.Kind, arg.Queue, arg.Payload, arg.Priority, arg.RunAfter, arg.MaxAttempts, arg.Timeout,
		optional(arg.UserID), optional(arg.Tags), optional(arg.Metadata), arg.WorkerID)
	unchanged, err := w.isClaimed.read(w.args)
	clear(w.args)
	if err != nil {
		return row, err
	}
	if unchanged == 1 { // else what is returned is not what was given
		row = db.EnqueueClaimedJobRow{
			ID: row.ID, Kind: arg.Kind, Queue: arg.Queue, Payload: arg.Payload, Status: string(jobs.StatusRunning), Priority: arg.Priority,
			RunAfter: arg.RunAfter, MaxAttempts: arg.MaxAttempts, Timeout: arg.Timeout, UserID: arg.UserID, Tags: arg.Tags, Metadata: arg.Metadata,
			CreatedAt: arg.Now, Attempt: 1, WorkerID: &arg.WorkerID,
		}
	}
	return row, nil
}

// EnqueueJobs inserts the jobs by a statement that returns no ids, for which SQLite would make a temporary table. A single
// INSERT assigns ids without a gap, so that the first id gives all, unless a trigger of the application inserts jobs too or
// another program has changed the id counter.
func (w *writes) EnqueueJobs(ctx context.Context, arg db.EnqueueJobsParams) ([]int64, error) {
	if w.uncounted {
		return w.Queries.EnqueueJobs(ctx, arg)
	}
	if err := w.addWaiting(ctx); err != nil {
		return nil, err
	}
	var before int64
	if err := w.stmts.QueryRowContext(ctx, control("last_id")).Scan(&before); err != nil {
		return nil, err
	}
	added, last, err := w.addMany(ctx, arg)
	if err != nil || added == 0 {
		return nil, err
	}
	if last-before != added {
		w.uncounted = true
		return nil, errUncounted
	}
	w.alike.next = last + 1
	ids := make([]int64, added)
	for i := range ids {
		ids[i] = before + 1 + int64(i)
	}
	return ids, nil
}

// addMany also returns the last id that was given.
func (w *writes) addMany(ctx context.Context, arg db.EnqueueJobsParams) (added, last int64, err error) {
	result, err := w.stmts.ExecContext(ctx, control("enqueue_many"), arg.Payloads, arg.Kind, arg.Queue, arg.Status, arg.Priority,
		arg.RunAfter, arg.MaxAttempts, arg.Timeout, arg.UserID, arg.Tags, arg.Metadata, arg.Now)
	if err != nil {
		return 0, 0, err
	}
	if added, err = result.RowsAffected(); err != nil || added == 0 {
		return 0, 0, err
	}
	last, err = result.LastInsertId()
	return added, last, err
}

// inTransaction reports whether the writer's connection still is in its transaction, which shows when it cannot begin one. If
// it can, that is rolled back like the one that is over.
func (w *writes) inTransaction() bool {
	_, err := w.begin.exec(nil)
	return isCode(err, lib.SQLITE_ERROR)
}

// refused reports whether a constraint kept a statement from doing anything.
func refused(err error) bool { return isCode(err, lib.SQLITE_CONSTRAINT) }
