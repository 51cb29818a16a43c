package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// tick is how often the heartbeat looks, at least: what the promises "noticed within about a second" rest on.
const tick = time.Second

// heartbeat is the service that renews the worker's and its jobs' leases, cancels handlers whose job was cancelled or lost,
// reports handlers that do not heed their context, and rescues the jobs of other workers that are gone.
type heartbeat struct {
	*run
	stop context.CancelFunc // stops the run, as the end of its context does

	lastTick  time.Time // by the process's clock
	lastClock time.Time // by the clock of the leases, which can be set, and runs on while the machine sleeps
	renewed   time.Time
	trustFrom time.Time            // before it, leases are not judged
	orphans   map[fence]uint64     // held jobs that the run did not know at the last look, with the number of cycles begun at the first look
	kept      map[fence]keptOrphan // those of them that the database refuses to release
}

// keptOrphan is when a job is released again that the database refused to release so many times.
type keptOrphan struct {
	times int
	again time.Time
}

// Name implements maintenance.Service.
func (*heartbeat) Name() string { return "heartbeat" }

// Run implements maintenance.Service.
func (h *heartbeat) Run(ctx context.Context) {
	defer h.endOnPanic()
	now := time.Now()
	h.lastTick, h.lastClock, h.renewed = now, h.store.Now(), now
	h.trustFrom = now.Add(h.othersRenew()) // they may just have woken up with this machine
	trouble := outage.New(h.log)
	every := min(tick, h.config.Lease/4) // so that a renewal is never late
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		look, told := h.look, false
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-h.served.stale:
			look, told = h.registration.tellQueues, true
		}
		err := look(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := every
		switch fatal := outage.Unusable(err); {
		case err == nil && told:
			continue // the next look comes at its time
		case err == nil:
			trouble.Over("housekeeping works again")
		case fatal != nil:
			h.giveUp(fatal)
			return
		default:
			trouble.Failed(slog.LevelError, "housekeeping failed; trying again", "error", err)
			pause = max(every, min(outage.Backoff(trouble.Failures()), h.config.Lease/3))
		}
		ticker.Reset(pause)
	}
}

// endOnPanic ends the run after a panic: without renewals its leases would end while its handlers go on.
func (h *heartbeat) endOnPanic() {
	p := recover()
	if p == nil {
		return
	}
	h.log.Error("the heartbeat panicked: stopping", "panic", p, "stack", string(debug.Stack()))
	h.endRun(fmt.Errorf("the heartbeat of the worker panicked: %v", p))
	h.stop()
}

// giveUp makes the producer end the run.
func (h *heartbeat) giveUp(err error) {
	if h.endRun(err) {
		h.log.Error("the schema has changed: stopping", "error", err)
		h.stop()
	}
	h.signal()
}

// othersRenew is how long other workers have to renew their leases after what stopped all of them: the longest pause between two
// of their tries is half of it.
func (h *heartbeat) othersRenew() time.Duration { return h.config.Lease * 2 / 3 }

func (h *heartbeat) look(ctx context.Context) error {
	now := time.Now()
	clock := h.store.Now()
	if now.Sub(h.lastTick) > 3*tick || clock.Sub(h.lastClock).Abs() > 3*tick {
		// This process did not run for a while, or the clock was set: leases that look expired may not be. Every worker gets
		// time to renew, this one first.
		h.trustFrom = now.Add(h.othersRenew())
		h.renewed = time.Time{}
	}
	h.lastTick, h.lastClock = now, clock

	if now.Sub(h.renewed) >= h.config.Lease/3 {
		all, err := h.renew(ctx)
		if err != nil || time.Since(now) > tick {
			// The database was locked for long, for the others as well: they get time to renew too.
			h.trustFrom = time.Now().Add(h.othersRenew())
		}
		if err != nil {
			return err
		}
		if all {
			h.renewed = now
		}
	}
	if err := h.checkRow(ctx); err != nil {
		return err
	}
	// By the clock as it was when the look began: a step since then shows only at the next look.
	before := core.Micros(clock)
	if now.Before(h.trustFrom) {
		before = 0
	}
	// One statement tells what needs work. Where no job runs and no other worker lives, only what kinds declare is read beside it.
	work, err := h.rescuer.Housework(ctx, before)
	if err != nil {
		return err
	}
	if err := h.checkHeld(ctx, work.Held); err != nil {
		return err
	}
	h.reportStuck(now)
	err = h.lookAfterWorkers(ctx, work, before)
	if work.Self == 0 {
		return errors.Join(err, h.revive(ctx))
	}
	if work.Stuck > 0 {
		err = errors.Join(err, h.rescuer.Reset(ctx, false, before, nil, ""))
	}
	return err
}

// lookAfterWorkers ends the workers that are gone, puts in force what this one declares if others live than at the last look, and reads what
// is in force for kinds.
func (h *heartbeat) lookAfterWorkers(ctx context.Context, work db.CountHouseworkRow, before int64) (err error) {
	if work.Live > work.Self {
		err = h.rescuer.EndGoneWorkers(ctx, false, before)
	}
	if work.Self == 0 {
		return err
	}
	return errors.Join(err, h.declared.Look(ctx, declare.Worker{ID: h.workerID(), Name: h.config.Name}, work.Live, work.Newest), h.store.Read(engine.Quick(ctx), h.settings.Read))
}

// checkRow checks the schema, and that the worker's row has the queues that the run serves.
func (h *heartbeat) checkRow(ctx context.Context) error {
	if err := engine.CheckSchema(ctx, h.store); err != nil {
		return err
	}
	return h.registration.tellQueues(ctx)
}

// renew extends the worker's lease and those of its jobs. all is false when some of them were not: they have just
// ended, or are locked by a CompleteTx that is not committed yet, and that may be rolled back.
func (h *heartbeat) renew(ctx context.Context) (all bool, err error) {
	held := map[int64][]*lifecycle.End{}
	for _, a := range h.attempts() {
		held[a.job.WorkerID] = append(held[a.job.WorkerID], &lifecycle.End{Job: &a.job})
	}
	all, err = h.renewOnly(ctx, held)
	if err != nil && h.store.RefusesRow(err) {
		all, err = true, h.renewApart(ctx, held)
	}
	if err != nil {
		return false, fmt.Errorf("renew leases: %w", err)
	}
	return all, nil
}

// renewOnly extends the worker's lease and those of these jobs, by the worker that holds them, in one transaction.
func (h *heartbeat) renewOnly(ctx context.Context, held map[int64][]*lifecycle.End) (all bool, err error) {
	id := h.workerID()
	err = h.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		all = true
		now := h.store.Now()
		lease := core.Micros(now.Add(h.config.Lease))
		if _, err := q.HeartbeatWorker(ctx, db.HeartbeatWorkerParams{Now: core.Micros(now), LeaseUntil: lease, ID: id}); err != nil {
			return err
		}
		for worker, list := range held {
			n, err := q.ExtendLeases(ctx, db.ExtendLeasesParams{LeaseUntil: lease, WorkerID: worker, Items: lifecycle.Fences(list)})
			if err != nil {
				return err
			}
			all = all && n == int64(len(list))
		}
		return nil
	})
	return all, err
}

// renewApart extends the leases of those jobs that the database lets renew. The lease of a job that is refused runs out.
func (h *heartbeat) renewApart(ctx context.Context, held map[int64][]*lifecycle.End) error {
	if _, err := h.renewOnly(ctx, nil); err != nil {
		return err
	}
	for worker, list := range held {
		err := refusal.Apart(list, h.store.RefusesRow, func(part []*lifecycle.End) error {
			_, err := h.renewOnly(ctx, map[int64][]*lifecycle.End{worker: part})
			return err
		}, func(e *lifecycle.End, err error) error {
			return h.notes.Aside(ctx, h.store.Write, h.store.Now(), refusal.Renew, e.Job.ID, err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkHeld compares what runs here with what the database says this worker holds, which were so many a moment ago.
func (h *heartbeat) checkHeld(ctx context.Context, n int64) error {
	// The list comes first: what is claimed after it is not in it, and so not missed below.
	attempts := h.attempts()
	if n == 0 && len(attempts) == 0 {
		h.orphans = nil
		return nil
	}
	held := map[fence]db.ListHeldJobsRow{}
	err := h.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		rows, err := q.ListHeldJobs(ctx, h.workerID())
		for _, row := range rows {
			held[fence{row.ID, row.Attempt}] = row
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list held jobs: %w", err)
	}
	h.cancelLost(attempts, held)
	return h.releaseOrphans(ctx, held)
}

// cancelLost cancels the handlers of attempts that this worker no longer holds, or whose job has a cancel request.
func (h *heartbeat) cancelLost(attempts []*Attempt, held map[fence]db.ListHeldJobsRow) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range attempts {
		row, ok := held[a.fence()]
		switch {
		case a.over || !ok && a.completed: // it has ended
		case !ok:
			if a.ctx.Err() == nil { // else it was told before
				h.log.Warn("the lease was lost: the handler is cancelled", a.attrs()...)
			}
			a.cancel(jobtype.ErrLeaseLost)
		case row.CancelRequestedAt != 0:
			a.cancel(jobtype.ErrCancelRequested)
		}
	}
}

// reportStuck ends the attempts of handlers that go on long after their context ended. Their slots stay taken.
func (h *heartbeat) reportStuck(now time.Time) {
	for _, a := range h.overdue(now) {
		why := context.Cause(a.ctx)
		h.log.Error("handler ignores the end of its context: its attempt is ended without it, its slot stays taken",
			append(a.attrs(), "cause", why)...)
		go h.executor.endWithout(a, why, now.Sub(a.claimed)) // it may have to wait for the kind's RetryDelay
	}
}

// overdue are the attempts whose handlers still run StuckAfter after their context ended.
func (h *heartbeat) overdue(now time.Time) []*Attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending != nil {
		return nil // the runner stops and has its own limit
	}
	var list []*Attempt
	for _, a := range h.running {
		switch {
		case a.over || a.reported || !a.begun || a.ctx.Err() == nil:
		case a.endedAt.IsZero():
			a.endedAt = now
		case now.Sub(a.endedAt) >= h.config.StuckAfter:
			a.reported = true
			list = append(list, a)
		}
	}
	return list
}

// revive makes a new worker of one that others declared dead: its jobs are theirs now.
func (h *heartbeat) revive(ctx context.Context) error {
	h.mu.Lock()
	old := h.worker
	h.worker = worker{}
	for _, a := range h.running {
		if !a.over {
			a.cancel(jobtype.ErrLeaseLost)
		}
	}
	h.mu.Unlock()
	h.log.Warn("this worker was declared dead: its jobs are lost to others, and it starts anew", "worker", h.config.Name)
	var err error
	if old.release != nil {
		err = old.release(true)
	}
	err = errors.Join(err, h.registration.add(ctx))
	if errors.Is(err, jobtype.ErrWorkerName) {
		h.giveUp(err) // another worker has taken the name: two must not share it
	}
	h.signal()
	return err
}

// releaseOrphans releases jobs, at no cost, that the database says this worker holds and that this run does not know: a
// transaction claimed them whose commit looked like a failure to the producer. Each is found by its fence.
func (h *heartbeat) releaseOrphans(ctx context.Context, held map[fence]db.ListHeldJobsRow) error {
	orphans := h.findOrphans(held)
	if len(orphans) == 0 {
		return nil
	}
	released := 0
	err := refusal.Apart(orphans, h.store.RefusesRow, func(part []fence) error {
		n, err := h.releaseUnstarted(ctx, part)
		released += n
		return err
	}, func(f fence, err error) error {
		times := h.kept[f].times + 1
		h.kept[f] = keptOrphan{times, time.Now().Add(refusal.Again(times))}
		return h.notes.Aside(ctx, h.store.Write, h.store.Now(), refusal.End, f.job, err)
	})
	if released > 0 {
		h.log.Warn("gave back jobs that were claimed by a write that seemed to have failed", "jobs", released)
		h.store.Announce(core.WorkReady)
	}
	if err != nil {
		return fmt.Errorf("give back jobs that were claimed unnoticed: %w", err)
	}
	return nil
}

// releaseUnstarted releases jobs of this worker in one transaction, and returns how many it still held.
func (h *heartbeat) releaseUnstarted(ctx context.Context, jobs []fence) (released int, err error) {
	worker := h.workerID()
	err = h.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		released = 0
		for _, f := range jobs {
			done, err := lifecycle.ReleaseUnstarted(ctx, q, core.Micros(h.store.Now()), f.job, f.attempt, worker)
			if err != nil {
				return err
			}
			if done {
				released++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return released, nil
}

// findOrphans returns the jobs that are unknown here at two looks, with no cycle that had begun by the first one still between its
// claim and the start of its handlers: a row seen during a cycle may be one that the same cycle claimed.
func (h *heartbeat) findOrphans(held map[fence]db.ListHeldJobsRow) []fence {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen, kept := map[fence]uint64{}, map[fence]keptOrphan{}
	var orphans []fence
	for f := range held {
		if k, ok := h.kept[f]; ok {
			kept[f] = k
		}
		if h.aside[f] != nil || h.running[f] != nil || time.Now().Before(kept[f].again) {
			continue
		}
		cycle, before := h.orphans[f]
		switch {
		case !before:
			seen[f] = h.cycles.begun
		case len(h.cycles.open) == 0 || h.cycles.open[0] > cycle:
			orphans = append(orphans, f)
		default:
			seen[f] = cycle
		}
	}
	h.orphans, h.kept = seen, kept
	return orphans
}
