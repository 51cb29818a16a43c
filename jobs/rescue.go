package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/stats"
)

// boot looks after jobs whose worker is gone, before the first claim. It goes by locks only: a lease that is over may
// be that of a worker which wakes up with this machine at this moment. The housekeeper judges those a little later.
func (s *session) boot(ctx context.Context) error {
	failAll := s.config.OnBoot == OnBootFailed
	err := errors.Join(s.rescueWorkers(ctx, failAll, 0), s.rescueStuck(ctx, failAll, 0))
	if err != nil && ctx.Err() == nil && unusable(err) == nil && !s.store.CanRetry(err) {
		// One row that the database does not let go (say, for an application's own trigger) must not keep workers from
		// starting. The housekeeper tries again.
		s.log.Error("cannot rescue jobs of gone workers", "error", err)
		return nil
	}
	return err
}

// rescueWorkers ends the workers whose lock can be taken, or whose lease ended before a time (0 judges no lease), and resets their
// jobs. One that cannot be looked after does not keep the others from it.
func (s *session) rescueWorkers(ctx context.Context, failAll bool, before int64) error {
	var workers []db.Worker
	err := s.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		workers, err = q.ListLiveWorkers(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("list workers: %w", err)
	}
	var keys []string
	for _, w := range workers {
		if w.ID != s.workerID() && w.LockKey != "" {
			keys = append(keys, w.LockKey)
		}
	}
	if len(keys) > 0 {
		if keys, err = s.store.FreeWorkerLocks(ctx, keys); err != nil {
			return fmt.Errorf("look after workers: %w", err)
		}
	}
	var errs []error
	for _, w := range workers {
		errs = append(errs, s.rescueWorker(ctx, w, slices.Contains(keys, w.LockKey), failAll, before))
	}
	return errors.Join(errs...)
}

// rescueWorker resets the jobs of another worker if that is gone: by its lock, if that seems free, or because its lease
// ended before a time (0 judges no lease). The lock stays taken until that is committed.
func (s *session) rescueWorker(ctx context.Context, w db.Worker, free, failAll bool, before int64) error {
	if w.ID == s.workerID() {
		return nil
	}
	var taken bool
	var done func()
	if free {
		var err error
		if taken, done, err = s.store.TakeWorkerLock(ctx, w.LockKey); err != nil {
			return fmt.Errorf("look after worker %s: %w", core.Quote(w.Name), err)
		}
	}
	reason := "crash"
	switch {
	case taken:
		defer done()
	case w.LeaseUntil < before:
		reason = "lost" // its process is stopped, or on another host
	default:
		return nil
	}
	return s.rescue(ctx, failAll, before, &db.EndWorkerParams{EndReason: reason, ID: w.ID}, w.Name)
}

// rescueStuck resets jobs that run although their worker has ended, and those whose lease ended before a time (0 judges
// no lease).
func (s *session) rescueStuck(ctx context.Context, failAll bool, before int64) error {
	work, err := s.housework(ctx, before)
	if err != nil || work.Stuck == 0 {
		return err
	}
	return s.rescue(ctx, failAll, before, nil, "")
}

// housework counts what there is to look after: jobs are stuck whose lease ended before a time (0 judges no lease).
func (s *session) housework(ctx context.Context, before int64) (work db.CountHouseworkRow, err error) {
	err = s.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		work, err = q.CountHousework(ctx, db.CountHouseworkParams{WorkerID: s.workerID(), LeaseBefore: before})
		return err
	})
	if err != nil {
		return work, fmt.Errorf("count what there is to look after: %w", err)
	}
	s.crowd.Store(work.Live)
	return work, nil
}

// rescue ends a worker, when one is given, and resets all stuck jobs: to be cancelled if that was asked, failed if no
// attempt is left, they crashed too often or failAll, pending otherwise. Of several rescuers one does the work.
func (s *session) rescue(ctx context.Context, failAll bool, before int64, end *db.EndWorkerParams, name string) error {
	var attempts int64
	var cancelled []db.CancelStuckJobsRow
	var failed []db.FailStuckJobsRow
	var reset []db.ResetStuckJobsRow
	var ended bool
	err := s.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		attempts, cancelled, failed, reset, ended = 0, nil, nil, nil, false
		now := core.Micros(s.store.Now())
		if end != nil {
			end.Now = now
			n, err := q.EndWorker(ctx, *end)
			if ended = n > 0; err != nil || !ended {
				return err
			}
		}
		var err error
		if attempts, err = q.RecordStuckJobs(ctx, db.RecordStuckJobsParams{Now: now, LeaseBefore: before}); err != nil || attempts == 0 {
			return err
		}
		if _, err = q.CountCrashes(ctx); err != nil {
			return err
		}
		if cancelled, err = q.CancelStuckJobs(ctx, now); err != nil {
			return err
		}
		all := int64(0)
		if failAll {
			all = 1
		}
		failed, err = q.FailStuckJobs(ctx, db.FailStuckJobsParams{Now: now, MaxCrashes: int64(s.config.MaxCrashes), FailAll: all})
		if err != nil {
			return err
		}
		if reset, err = q.ResetStuckJobs(ctx, now); err != nil {
			return err
		}
		done := stats.Changes{}
		for _, job := range cancelled {
			done.Add(job.Queue, job.Kind, stats.EventCrashed, 1, 0)
			done.Ended(job.Queue, job.Kind, StatusCancelled, 1)
		}
		for _, job := range failed {
			done.Add(job.Queue, job.Kind, stats.EventCrashed, 1, 0)
			done.Ended(job.Queue, job.Kind, StatusFailed, 1)
		}
		for _, job := range reset {
			done.Add(job.Queue, job.Kind, stats.EventCrashed, 1, 0)
		}
		return done.Write(ctx, q, now)
	})
	if err != nil {
		return fmt.Errorf("rescue jobs of gone workers: %w", err)
	}
	if ended {
		s.log.Warn("a worker is gone", "worker", name, "reason", end.EndReason, "jobs", attempts)
	}
	if ended || attempts > 0 {
		r := Rescued{Reason: CauseLost, Attempts: int(attempts), Pending: len(reset), Failed: len(failed), Cancelled: len(cancelled)}
		if ended {
			r.Worker, r.Reason = name, Cause(end.EndReason)
		}
		tellRescued(s.observer, r)
	}
	if attempts > 0 {
		s.log.Warn("rescued jobs of gone workers", "pending", len(reset), "failed", len(failed), "cancelled", len(cancelled))
		s.note()
		s.store.Announce(WorkReady | JobEnded)
	}
	return nil
}
