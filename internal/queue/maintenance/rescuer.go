package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Rescuer resets the jobs of workers that are gone. The zero value of an optional field is ready for use; all methods may be
// called concurrently.
type Rescuer struct {
	Store      engine.Store
	Log        *slog.Logger
	MaxCrashes int          // the number of crashes at which a job fails
	FailAll    bool         // Boot fails all jobs of gone workers; optional
	Self       func() int64 // the id of the caller's own worker, which is not gone; 0 for none. Optional
	Rescued    func()       // called after jobs were reset; optional
	Notes      *refusal.Notes

	began   atomic.Int64 // the time of Boot, in microseconds; 0 before it
	workers atomic.Int64 // the number of live workers at the last Housework
	refused atomic.Bool  // the database has refused a job: jobs are not reset together until none is stuck
}

// Workers returns the number of live workers at the last Housework, including the caller's own.
func (r *Rescuer) Workers() int64 { return r.workers.Load() }

func (r *Rescuer) self() int64 {
	if r.Self == nil {
		return 0
	}
	return r.Self()
}

// Boot resets jobs of gone workers before the first claim. It judges by locks: an expired lease may belong to a worker that
// wakes up with this machine at this moment. The heartbeat judges leases a little later. Where a lock no longer exists, as in a
// restored backup, an expired lease decides.
func (r *Rescuer) Boot(ctx context.Context) error {
	r.began.Store(core.Micros(r.Store.Now()))
	err := errors.Join(r.EndGoneWorkers(ctx, r.FailAll, 0), r.resetStuck(ctx, r.FailAll, 0))
	if err != nil && ctx.Err() == nil && outage.Unusable(err) == nil && !r.Store.CanRetry(err) {
		// One row that the database refuses to reset (say, by an application's trigger) must not keep workers from
		// starting. The heartbeat tries again.
		r.Log.Error("cannot rescue jobs of gone workers", "error", err)
		return nil
	}
	return err
}

// All does the regular work of runners once: it resets the jobs of workers whose lock is free or whose lease is over.
func (r *Rescuer) All(ctx context.Context) error {
	now := core.Micros(r.Store.Now())
	return errors.Join(r.EndGoneWorkers(ctx, false, now), r.resetStuck(ctx, false, now))
}

// EndGoneWorkers ends the workers whose lock can be taken, or whose lease ended before a time (0 judges no lease), and resets
// their jobs. A failure for one worker does not stop the work for the others.
func (r *Rescuer) EndGoneWorkers(ctx context.Context, failAll bool, before int64) error {
	var workers []db.Worker
	err := r.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		workers, err = q.ListLiveWorkers(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("list workers: %w", err)
	}
	var keys []string
	for _, w := range workers {
		if w.ID != r.self() && w.LockKey != "" {
			keys = append(keys, w.LockKey)
		}
	}
	if len(keys) > 0 {
		if keys, err = r.Store.WorkerLocks().FreeWorkerLocks(ctx, keys); err != nil {
			return fmt.Errorf("check the workers: %w", err)
		}
	}
	var errs []error
	for _, w := range workers {
		errs = append(errs, r.endGoneWorker(ctx, w, slices.Contains(keys, w.LockKey), failAll, before))
	}
	return errors.Join(errs...)
}

// endGoneWorker resets the jobs of another worker if it is gone: by its lock, if that seems free; because its lease ended before a
// time (0 judges no lease) or was written by a clock that was ahead; or because its lock is missing and its lease ended before Boot.
// The lock stays taken until that is committed.
func (r *Rescuer) endGoneWorker(ctx context.Context, w db.Worker, free, failAll bool, before int64) error {
	if w.ID == r.self() {
		return nil
	}
	state := engine.LockHeld
	var done func()
	if free {
		var err error
		if state, done, err = r.Store.WorkerLocks().TakeWorkerLock(ctx, w.LockKey); err != nil {
			return fmt.Errorf("check worker %s: %w", strconv.Quote(w.Name), err)
		}
	}
	reason := "crash"
	switch {
	case state == engine.LockTaken:
		defer done()
		stopped, err := r.Store.WorkerLocks().SaidGoodbye(w.LockKey)
		if err != nil {
			return fmt.Errorf("check worker %s: %w", strconv.Quote(w.Name), err)
		}
		if stopped {
			reason = core.EndStopped
		}
	case w.LeaseUntil < before, state == engine.LockMissing && w.LeaseUntil < r.began.Load():
		reason = "lost" // the worker's process is stopped, or on another host, or the database is a restored backup
	case before > 0 && (w.LockKey == "" || state == engine.LockMissing) && w.HeartbeatAt > before+core.ClockAhead.Microseconds():
		reason = "lost" // the worker wrote its lease by a clock that was ahead, and has not renewed it by the right one
	default:
		return nil
	}
	return r.Reset(ctx, failAll, before, &db.EndWorkerParams{EndReason: reason, ID: w.ID}, w.Name)
}

// resetStuck resets jobs that still run although their worker has ended, and jobs whose lease ended before a time (0
// judges no lease).
func (r *Rescuer) resetStuck(ctx context.Context, failAll bool, before int64) error {
	work, err := r.Housework(ctx, before)
	if err != nil || work.Stuck == 0 {
		return err
	}
	return r.Reset(ctx, failAll, before, nil, "")
}

// Housework counts the work for a rescuer: jobs are stuck whose lease ended before a time (0 judges no lease).
func (r *Rescuer) Housework(ctx context.Context, before int64) (work db.CountHouseworkRow, err error) {
	err = r.Store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		work, err = q.CountHousework(ctx, db.CountHouseworkParams{WorkerID: r.self(), LeaseBefore: before})
		return err
	})
	if err != nil {
		return work, fmt.Errorf("count dead workers and their jobs: %w", err)
	}
	r.workers.Store(work.Live)
	if work.Stuck == 0 {
		r.refused.Store(false)
	}
	return work, nil
}

// rescued holds the results of one rescue.
type rescued struct {
	ended    bool // the worker was ended
	released int64
	attempts int64
	final    []db.EndStuckJobsRow
	reset    []db.ResetStuckJobsRow
}

// Reset ends a worker, when one is given, and resets all stuck jobs. A job becomes cancelled if that was requested, failed if
// no attempt is left, if it crashed too often or with failAll, and pending otherwise. Of several rescuers one does the work.
// Jobs that the database refuses to reset are set aside, and all others are reset.
func (r *Rescuer) Reset(ctx context.Context, failAll bool, before int64, end *db.EndWorkerParams, name string) error {
	var err error
	if !r.refused.Load() {
		err = r.resetOnly(ctx, failAll, before, end, name, "")
		r.refused.Store(err != nil && r.Store.RefusesRow(err))
	}
	if r.refused.Load() {
		err = r.resetApart(ctx, failAll, before, end, name)
	}
	if err != nil {
		return fmt.Errorf("rescue jobs of gone workers: %w", err)
	}
	return nil
}

// resetApart is Reset in parts: the end of the worker by itself, and then its jobs, together as far as the database accepts that.
func (r *Rescuer) resetApart(ctx context.Context, failAll bool, before int64, end *db.EndWorkerParams, name string) error {
	if end != nil {
		if err := r.resetOnly(ctx, failAll, before, end, name, "[]"); err != nil {
			return err
		}
	}
	var ids []int64
	err := r.Store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ids, err = q.ListStuckJobIDs(ctx, db.ListStuckJobIDsParams{LeaseBefore: before, Now: core.Micros(r.Store.Now())})
		return err
	})
	if err != nil {
		return err
	}
	return refusal.Split(ids, r.Store.RefusesRow, func(part []int64) error {
		return r.resetOnly(ctx, failAll, before, nil, "", core.JSONIDs(part))
	}, func(id int64, err error) error {
		return r.Notes.Postpone(ctx, r.Store.Write, r.Store.Now(), refusal.Rescue, id, err)
	})
}

// resetOnly is Reset in one transaction. ids, unless empty, is a JSON list of the only jobs that it resets.
func (r *Rescuer) resetOnly(ctx context.Context, failAll bool, before int64, end *db.EndWorkerParams, name, ids string) error {
	var done rescued
	err := r.Store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		if done, err = r.reset(ctx, q, failAll, before, end, ids); err == nil && done.ended {
			// The worker may have completed jobs in transactions of its handlers, which make no lane ready.
			_, err = q.WakeAllLanes(ctx, core.Micros(r.Store.Now()))
		}
		return err
	})
	if err == nil {
		if done.ended {
			r.Store.Announce(core.WorkReady) // lanes may be ready
		}
		r.tell(done, end, name)
	}
	return err
}

// reset is Reset inside its transaction.
func (r *Rescuer) reset(ctx context.Context, q db.Querier, failAll bool, before int64, end *db.EndWorkerParams, ids string) (done rescued, err error) {
	now := core.Micros(r.Store.Now())
	if end != nil {
		end.Now = now
		n, err := q.EndWorker(ctx, *end)
		if done.ended = n > 0; err != nil || !done.ended {
			return done, err
		}
		if end.EndReason == core.EndStopped && ids == "" { // for other reasons the database may refuse some of them
			if done.released, err = lifecycle.ReleaseHeld(ctx, q, now, end.ID); err != nil {
				return done, err
			}
		}
	}
	if done.attempts, err = q.RecordStuckJobs(ctx, db.RecordStuckJobsParams{Now: now, LeaseBefore: before, Ids: ids}); err != nil || done.attempts == 0 {
		return done, err
	}
	if _, err = q.ExcuseUnstartedJobs(ctx, jobtype.DefaultMaxAttempts); err != nil {
		return done, err
	}
	if _, err = q.CountCrashes(ctx); err != nil {
		return done, err
	}
	all := int64(0)
	if failAll {
		all = 1
	}
	done.final, err = q.EndStuckJobs(ctx, db.EndStuckJobsParams{
		Now: now, DefaultAttempts: jobtype.DefaultMaxAttempts, MaxCrashes: int64(r.MaxCrashes), FailAll: all,
	})
	if err != nil {
		return done, err
	}
	if done.reset, err = q.ResetStuckJobs(ctx, now); err != nil {
		return done, err
	}
	return done, done.transitions().Conclude(ctx, q, now)
}

// transitions returns the changes of a rescue.
func (done rescued) transitions() *lifecycle.Transitions {
	made := lifecycle.NewTransitions()
	for _, job := range done.final {
		ref := lifecycle.Ref{Queue: job.Queue, Kind: job.Kind, UniqueKey: core.Deref(job.UniqueKey), Limit: lifecycle.Limit(job.LimitKey)}
		made.LeaveRunning(ref, lifecycle.FateCrash, jobtype.Status(job.Status))
	}
	for _, job := range done.reset {
		made.LeaveRunning(lifecycle.Ref{Queue: job.Queue, Kind: job.Kind, Limit: lifecycle.Limit(job.LimitKey)}, lifecycle.FateCrash, jobtype.StatusPending)
	}
	return made
}

// count returns the number of jobs that a rescue ended with a status.
func (done rescued) count(status jobtype.Status) (n int) {
	for _, job := range done.final {
		if job.Status == string(status) {
			n++
		}
	}
	return n
}

// tell logs and announces the results of a committed rescue.
func (r *Rescuer) tell(done rescued, end *db.EndWorkerParams, name string) {
	failed, cancelled := done.count(jobtype.StatusFailed), done.count(jobtype.StatusCancelled)
	if done.ended {
		r.Log.Warn("a worker is gone", "worker", name, "reason", end.EndReason, "jobs", done.attempts+done.released)
	}
	if o := r.Store.Observer(); (done.ended || done.attempts > 0) && o != nil && o.Rescued != nil {
		event := jobtype.Rescued{
			Reason: jobtype.CauseLost, Attempts: int(done.attempts + done.released),
			Pending: len(done.reset) + int(done.released), Failed: failed, Cancelled: cancelled,
		}
		if done.ended {
			event.Worker = name
		}
		if done.ended && end.EndReason != core.EndStopped {
			event.Reason = jobtype.Cause(end.EndReason)
		}
		o.Rescued(event)
	}
	if done.attempts == 0 && done.released == 0 {
		return
	}
	r.Log.Warn("rescued jobs of gone workers", "released", done.released, "pending", len(done.reset), "failed", failed, "cancelled", cancelled)
	if r.Rescued != nil {
		r.Rescued()
	}
	r.Store.Announce(core.WorkReady | core.JobEnded)
}
