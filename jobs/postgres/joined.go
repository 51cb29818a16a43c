package postgres

import (
	"context"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// joined are the queue's statements inside a caller's transaction. Those that add or change jobs for people ring the
// doorbell as a part of it: it rings when that is committed.
type joined struct {
	db.Querier
	store *Store
	tx    *callersTx
}

// enter comes before each of these statements. It asks for the transaction's isolation level, in the same round trip as
// the notification: with a snapshot that is older than a move of the queue, the row that closes it is not seen, and a job
// would be left behind. signals 0 rings no bell.
func (j joined) enter(ctx context.Context, signals jobs.Signal, queue string) error {
	rings := signals != 0 && !j.store.options.silent
	if j.tx.looked.Load() && !rings {
		return nil
	}
	var level, encoding, nothing string
	var err error
	if !rings {
		err = j.tx.conn.QueryRow(ctx, control("isolation"), once()...).Scan(&level, &encoding)
	} else {
		// The server drops those that are alike. (Not here: one before may have gone with a savepoint.) The message has no
		// token, because this process must hear of the commit too.
		text := notification("", signals, queue)
		err = j.tx.conn.QueryRow(ctx, control("isolation_notify"), once(j.store.names.channel(), text)...).Scan(&level, &encoding, &nothing)
	}
	if err == nil {
		err = checkClientEncoding(encoding)
	}
	if err != nil {
		return err
	}
	if level == "read committed" || level == "read uncommitted" { // which are the same in PostgreSQL
		j.tx.looked.Store(true)
		return nil
	}
	return &jobs.InvalidError{
		Field: "the transaction's isolation level", Value: strings.ToUpper(level),
		Must: "be READ COMMITTED to add or change jobs: another does not see that the queue was closed by a move since it began",
	}
}

func (j joined) EnqueueJob(ctx context.Context, arg db.EnqueueJobParams) (int64, error) {
	if err := j.enter(ctx, jobs.WorkReady, arg.Queue); err != nil {
		return 0, err
	}
	return j.Querier.EnqueueJob(ctx, arg)
}

func (j joined) EnqueueKeylessJob(ctx context.Context, arg db.EnqueueKeylessJobParams) (int64, error) {
	if err := j.enter(ctx, jobs.WorkReady, arg.Queue); err != nil {
		return 0, err
	}
	return j.Querier.EnqueueKeylessJob(ctx, arg)
}

func (j joined) EnqueueJobs(ctx context.Context, arg db.EnqueueJobsParams) ([]int64, error) {
	if err := j.enter(ctx, jobs.WorkReady, arg.Queue); err != nil {
		return nil, err
	}
	return j.Querier.EnqueueJobs(ctx, arg)
}

func (j joined) RequeueJob(ctx context.Context, arg db.RequeueJobParams) (int64, error) {
	if err := j.enter(ctx, jobs.WorkReady, ""); err != nil {
		return 0, err
	}
	return j.Querier.RequeueJob(ctx, arg)
}

func (j joined) CancelWaitingJob(ctx context.Context, arg db.CancelWaitingJobParams) ([]db.CancelWaitingJobRow, error) {
	if err := j.enter(ctx, jobs.JobEnded, ""); err != nil {
		return nil, err
	}
	return j.Querier.CancelWaitingJob(ctx, arg)
}

func (j joined) DeleteJob(ctx context.Context, arg db.DeleteJobParams) (int64, error) {
	if err := j.enter(ctx, jobs.JobEnded, ""); err != nil {
		return 0, err
	}
	return j.Querier.DeleteJob(ctx, arg)
}

func (j joined) DeleteFailedJobs(ctx context.Context, arg db.DeleteFailedJobsParams) (int64, error) {
	if err := j.enter(ctx, 0, ""); err != nil {
		return 0, err
	}
	return j.Querier.DeleteFailedJobs(ctx, arg)
}

func (j joined) DeleteDoneJobs(ctx context.Context, arg db.DeleteDoneJobsParams) (int64, error) {
	if err := j.enter(ctx, 0, ""); err != nil {
		return 0, err
	}
	return j.Querier.DeleteDoneJobs(ctx, arg)
}

func (j joined) PauseQueue(ctx context.Context, arg db.PauseQueueParams) (int64, error) {
	if err := j.enter(ctx, 0, ""); err != nil {
		return 0, err
	}
	return j.Querier.PauseQueue(ctx, arg)
}

func (j joined) ResumeQueue(ctx context.Context, arg db.ResumeQueueParams) (int64, error) {
	if err := j.enter(ctx, jobs.WorkReady, arg.Name); err != nil {
		return 0, err
	}
	return j.Querier.ResumeQueue(ctx, arg)
}

func (j joined) RecountJobs(ctx context.Context, now int64) (int64, error) {
	if err := j.enter(ctx, 0, ""); err != nil { // with an older snapshot it would not see what another has put right
		return 0, err
	}
	return j.Querier.RecountJobs(ctx, now)
}
