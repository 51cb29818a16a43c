package inspect

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Forgotten is the result of [Inspector.Forget].
type Forgotten struct {
	Cancelled int      `json:"cancelled"` // live jobs of the user that were cancelled, or whose workers were asked to cancel
	Erased    int      `json:"erased"`    // erased jobs
	Live      int      `json:"live"`      // jobs that had not ended, such as running ones: forget the user again after their end
	Schedules []string `json:"schedules"` // schedules of the user that were deleted
}

// Forget cancels the live jobs of a user, deletes the schedules whose jobs are the user's, and then erases the data in the user's ended
// jobs: payloads, metadata, tags, progress, results, errors and stacks. It keeps the fact that there were jobs: their kinds, times and
// counts, the user id, and their unique keys and request ids, by which nothing is enqueued twice. An erased job has the payload
// [jobs.Forgotten] and cannot be retried. A schedule that a program declares comes back with its next runner: remove it from the program
// first.
//
// It works in transactions of a few hundred jobs and can be repeated. The audit log records it with the user id, if the context has an
// actor. The error is a [jobs.RefusedError] when the database refused to erase some jobs; all others are erased.
//
// It cannot reach backups, replicas, logs, filters and names of schedules in the audit log, data that handlers have written elsewhere, and
// old rows that a database keeps: on SQLite in free pages until VACUUM and in the WAL until a checkpoint that truncates it, on PostgreSQL
// in the files of the tables until VACUUM FULL, in its statistics until ANALYZE, and in the WAL: docs/security.md. There an enqueue in a
// transaction that is open meanwhile adds its job afterwards.
func (in *Inspector) Forget(ctx context.Context, userID string) (Forgotten, error) {
	done := Forgotten{Schedules: []string{}}
	err := core.CheckText("user id", userID, jobs.MaxKeyLength)
	if err == nil {
		done.Schedules, err = in.deleteSchedulesOf(ctx, userID)
	}
	var refused jobs.RefusedError
	if err == nil {
		err = in.cancelAllOf(ctx, userID, &done, &refused)
	}
	if err == nil {
		err = in.eraseAllOf(ctx, userID, &done, &refused)
	}
	if err == nil {
		err = in.confirm(ctx)
	}
	if err == nil && refused.N > 0 {
		err = &refused
	}
	return done, core.Wrap(err, "forget user %q", userID)
}

// deleteSchedulesOf deletes the schedules whose jobs are a user's.
func (in *Inspector) deleteSchedulesOf(ctx context.Context, userID string) ([]string, error) {
	author, err := audit.Of(ctx)
	if err != nil {
		return nil, err
	}
	deleted := []string{}
	err = in.eachSchedule(ctx, func(row db.Schedule) error {
		if userOf(row) != userID {
			return nil
		}
		there := false
		err := lifecycle.Change(ctx, in.scope, 0, func(ctx context.Context, q db.Querier) (err error) {
			if there, err = deleteScheduleOf(ctx, q, row.Name, userID); err != nil || !there {
				return err
			}
			detail, err := author.Detail(map[string]string{"schedule": row.Name})
			if err != nil {
				return err
			}
			return author.Record(ctx, q, core.Micros(in.scope.Now()), audit.Entry{Action: ActionDeleteSchedule, Detail: detail})
		})
		if err == nil && there {
			deleted = append(deleted, row.Name)
		}
		return err
	})
	return deleted, err
}

// eachSchedule calls fn with each schedule, by name.
func (in *Inspector) eachSchedule(ctx context.Context, fn func(db.Schedule) error) error {
	const page = 10 // each may have a payload of a megabyte
	for after := ""; ; {
		rows, err := core.Value(ctx, in.scope.Read, func(ctx context.Context, q db.Querier) ([]db.Schedule, error) {
			return q.ListSchedules(ctx, db.ListSchedulesParams{AfterName: after, N: page})
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1].Name
		for _, row := range rows {
			if err := fn(row); err != nil {
				return err
			}
		}
	}
}

// deleteScheduleOf deletes a schedule if its jobs still are a user's.
func deleteScheduleOf(ctx context.Context, q db.Querier, name, userID string) (bool, error) {
	row, err := schedule.Get(ctx, q, name)
	if errors.Is(err, jobtype.ErrNoSchedule) || err == nil && userOf(row) != userID {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return schedule.Delete(ctx, q, name)
}

// userOf returns the user of a schedule's jobs, or "" for none and for options of another program that cannot be read.
func userOf(row db.Schedule) string {
	var options struct {
		UserID string `json:"user_id"`
	}
	if json.Unmarshal([]byte(row.Options), &options) != nil {
		return ""
	}
	return options.UserID
}

// eachOf calls fn with the jobs of a user, some hundred at a time.
func (in *Inspector) eachOf(ctx context.Context, userID string, fn func([]db.ListJobsOfUserRow) error) error {
	for after := int64(0); ; {
		rows, err := core.Value(ctx, in.scope.Read, func(ctx context.Context, q db.Querier) ([]db.ListJobsOfUserRow, error) {
			return q.ListJobsOfUser(ctx, db.ListJobsOfUserParams{UserID: userID, AfterID: after, N: chunk})
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1].ID
		if err := fn(rows); err != nil {
			return err
		}
	}
}

func (in *Inspector) cancelAllOf(ctx context.Context, userID string, done *Forgotten, refused *jobs.RefusedError) error {
	return in.eachOf(ctx, userID, func(rows []db.ListJobsOfUserRow) error {
		var live []int64
		for _, row := range rows {
			if !jobs.Status(row.Status).Final() {
				live = append(live, row.ID)
			}
		}
		n, err := in.CancelMany(ctx, live)
		done.Cancelled += n
		if some := (*jobs.RefusedError)(nil); errors.As(err, &some) {
			refused.Merge(*some)
			err = nil
		}
		return err
	})
}

func (in *Inspector) eraseAllOf(ctx context.Context, userID string, done *Forgotten, refused *jobs.RefusedError) error {
	author, detail, err := audit.Detailed(ctx, map[string]string{"user": userID})
	if err != nil {
		return err
	}
	return in.eachOf(ctx, userID, func(rows []db.ListJobsOfUserRow) error {
		var ended []int64
		for _, row := range rows {
			switch {
			case !jobs.Status(row.Status).Final():
				done.Live++
			case row.Carries != 0: // an earlier call erased the others
				ended = append(ended, row.ID)
			}
		}
		return changeInParts(ctx, in.scope, ended, refused, func(ctx context.Context, part []int64) error {
			var erased []int64
			live := 0
			err := lifecycle.Change(ctx, in.scope, 0, func(ctx context.Context, q db.Querier) (err error) {
				if erased, live, err = erase(ctx, q, userID, part); err != nil {
					return err
				}
				return author.RecordMany(ctx, q, core.Micros(in.scope.Now()), audit.Entry{Action: jobtype.ActionForget, JobIDs: erased, Detail: detail})
			})
			if err == nil {
				done.Erased += len(erased)
				done.Live += live
			}
			return err
		})
	})
}

// erase erases ended jobs of a user. It returns the jobs that held data, and the number of jobs that live again because they were retried
// meanwhile.
func erase(ctx context.Context, q db.Querier, userID string, ids []int64) (erased []int64, live int, err error) {
	for _, id := range ids {
		rows, ended, err := eraseJob(ctx, q, userID, id)
		switch {
		case err != nil:
			return nil, 0, err
		case !ended:
			live++
		case rows > 0:
			erased = append(erased, id)
		}
	}
	return erased, live, nil
}

// eraseJob erases a job's data, if it has ended or is gone. rows is the number of rows that held data.
func eraseJob(ctx context.Context, q db.Querier, userID string, id int64) (rows int64, ended bool, err error) {
	row := db.ForgetJobParams{ID: id, UserID: userID}
	if rows, err = q.ForgetJob(ctx, row); err != nil {
		return 0, false, err
	}
	if rows == 0 { // it lives, is gone, or its row holds no data
		fence, err := q.GetJobFence(ctx, id)
		if err = core.NotFound(err); errors.Is(err, jobtype.ErrNotFound) {
			return 0, true, nil
		}
		if err != nil || !jobs.Status(fence.Status).Final() {
			return 0, false, err
		}
		if rows, err = q.ForgetJob(ctx, row); err != nil { // it may have ended just now (not on SQLite)
			return 0, false, err
		}
	}
	for _, forget := range []func(context.Context, int64) (int64, error){q.ForgetJobErrors, q.ForgetRefusals} {
		n, err := forget(ctx, id)
		if err != nil {
			return 0, false, err
		}
		rows += n
	}
	return rows, true, nil
}
