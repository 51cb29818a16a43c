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
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// tick is the longest time between two looks of the heartbeat. The promises "noticed within about a second" depend on it.
const tick = time.Second

// heartbeat is the service that renews the leases of the worker and its jobs, cancels handlers whose job was cancelled or
// lost, reports handlers that ignore the end of their context, and rescues the jobs of other workers that are gone.
type heartbeat struct {
	env      *env
	ledger   *ledger
	executor *executor
	presence *presence
	rescuer  *maintenance.Rescuer
	orphans  *orphans
	settings settingsReader
	stop     context.CancelFunc // stops the run, like the end of its context

	lastTick         time.Time // the last look, by the process's clock
	lastClock        time.Time // the last look, by the clock of the leases, which can be set, and runs on while the machine sleeps
	renewed          time.Time
	expiryCountsFrom time.Time              // leases are not judged before this time
	ended            map[*Attempt]time.Time // when a look first saw that the context of a running attempt had ended
}

func newHeartbeat(x *executor, p *presence, stop context.CancelFunc) *heartbeat {
	return &heartbeat{
		env: x.env, ledger: x.ledger, executor: x, presence: p, rescuer: p.rescuer, stop: stop,
		orphans: &orphans{env: x.env, ledger: x.ledger, presence: p}, settings: settingsReader{env: x.env},
	}
}

// Name implements maintenance.Service.
func (*heartbeat) Name() string { return "heartbeat" }

// Run implements maintenance.Service.
func (h *heartbeat) Run(ctx context.Context) {
	defer h.endOnPanic()
	now := time.Now()
	h.lastTick, h.lastClock, h.renewed = now, h.env.store.Now(), now
	h.expiryCountsFrom = now.Add(h.othersRenew()) // the others may have just woken up with this machine
	trouble := outage.New(h.env.log)
	every := min(tick, h.env.config.Lease/4) // so that a renewal is never late
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		look, queues := h.beat, false
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-h.env.served.stale:
			look, queues = h.presence.writeQueues, true
		}
		err := look(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := every
		switch fatal := outage.Unusable(err); {
		case err == nil && queues:
			continue // the next look comes at its usual time
		case err == nil:
			trouble.Over("housekeeping works again")
		case fatal != nil:
			h.giveUp(fatal)
			return
		default:
			trouble.Failed(slog.LevelError, "housekeeping failed; trying again", "error", err)
			pause = max(every, min(outage.Backoff(trouble.Failures()), h.env.config.Lease/3))
		}
		ticker.Reset(pause)
	}
}

// endOnPanic ends the run after a panic: without renewals its leases would expire while its handlers run.
func (h *heartbeat) endOnPanic() {
	p := recover()
	if p == nil {
		return
	}
	h.env.log.Error("the heartbeat panicked: stopping", "panic", p, "stack", string(debug.Stack()))
	h.ledger.fail(fmt.Errorf("the heartbeat of the worker panicked: %v", p))
	h.stop()
}

// giveUp makes the loop end the run.
func (h *heartbeat) giveUp(err error) {
	if h.ledger.fail(err) {
		h.env.log.Error("the schema has changed: stopping", "error", err)
		h.stop()
	}
	h.ledger.signal()
}

// othersRenew returns the time in which other workers renew their leases after a stop of all of them: the longest pause between two
// of their tries is half of it.
func (h *heartbeat) othersRenew() time.Duration { return h.env.config.Lease * 2 / 3 }

func (h *heartbeat) beat(ctx context.Context) error {
	now := time.Now()
	clock := h.env.store.Now()
	if now.Sub(h.lastTick) > 3*tick || clock.Sub(h.lastClock).Abs() > 3*tick {
		// This process did not run for a while, or the clock was set: leases that look expired may still be valid. Every
		// worker gets time to renew, this one first.
		h.expiryCountsFrom = now.Add(h.othersRenew())
		h.renewed = time.Time{}
	}
	h.lastTick, h.lastClock = now, clock

	if now.Sub(h.renewed) >= h.env.config.Lease/3 {
		all, err := h.renew(ctx)
		if err != nil || time.Since(now) > tick {
			// The database was locked for long, also for the others: they get time to renew too.
			h.expiryCountsFrom = time.Now().Add(h.othersRenew())
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
	// before is the clock as it was when the look began: a later step shows only at the next look.
	before := core.Micros(clock)
	if now.Before(h.expiryCountsFrom) {
		before = 0
	}
	// One statement finds the work. Where no job runs and no other worker lives it is the only one.
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

// lookAfterWorkers ends the workers that are gone, puts this worker's declarations in force if other workers live than at the last look,
// and reads the settings of kinds if they may have changed.
func (h *heartbeat) lookAfterWorkers(ctx context.Context, work db.CountHouseworkRow, before int64) (err error) {
	if work.Live > work.Self {
		err = h.rescuer.EndGoneWorkers(ctx, false, before)
	}
	if work.Self == 0 {
		return err
	}
	return errors.Join(err, h.env.declared.Refresh(ctx, declare.Worker{ID: h.presence.workerID(), Name: h.presence.name}, work.Live, work.Newest), h.settings.refresh(ctx, work, time.Now()))
}

// checkRow checks the schema, and that the worker's row has the queues that the run serves.
func (h *heartbeat) checkRow(ctx context.Context) error {
	if err := engine.CheckSchema(ctx, h.env.store); err != nil {
		return err
	}
	return h.presence.writeQueues(ctx)
}

// renew extends the leases of the worker and its jobs. all is false when some were not extended: they have just ended,
// or are locked by a CompleteTx that is not committed yet, and that may be rolled back.
func (h *heartbeat) renew(ctx context.Context) (all bool, err error) {
	held := map[int64][]*lifecycle.End{}
	for _, a := range h.ledger.attempts() {
		held[a.job.WorkerID] = append(held[a.job.WorkerID], &lifecycle.End{Job: &a.job})
	}
	all, err = h.renewOnly(ctx, held)
	if err != nil && h.env.store.RefusesRow(err) {
		all, err = true, h.renewApart(ctx, held)
	}
	if err != nil {
		return false, fmt.Errorf("renew leases: %w", err)
	}
	return all, nil
}

// renewOnly extends the leases of the worker and of these jobs, by the worker that holds them, in one transaction.
func (h *heartbeat) renewOnly(ctx context.Context, held map[int64][]*lifecycle.End) (all bool, err error) {
	id := h.presence.workerID()
	err = h.env.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		all = true
		now := h.env.store.Now()
		lease := core.Micros(now.Add(h.env.config.Lease))
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

// renewApart extends the leases of the jobs one part at a time, as far as the database accepts it. The lease of a refused job expires.
func (h *heartbeat) renewApart(ctx context.Context, held map[int64][]*lifecycle.End) error {
	if _, err := h.renewOnly(ctx, nil); err != nil {
		return err
	}
	for worker, list := range held {
		err := refusal.Split(list, h.env.store.RefusesRow, func(part []*lifecycle.End) error {
			_, err := h.renewOnly(ctx, map[int64][]*lifecycle.End{worker: part})
			return err
		}, func(e *lifecycle.End, err error) error {
			return h.env.notes.Postpone(ctx, h.env.store.Write, h.env.store.Now(), refusal.Renew, e.Job.ID, err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkHeld compares the attempts in memory with the n jobs that the database lists for this worker.
func (h *heartbeat) checkHeld(ctx context.Context, n int64) error {
	// The list comes first: a job that is claimed later is not in it, and so not missed below.
	attempts := h.ledger.attempts()
	if n == 0 && len(attempts) == 0 {
		h.orphans.seen = nil
		return nil
	}
	held := map[fence]db.ListHeldJobsRow{}
	err := h.env.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		rows, err := q.ListHeldJobs(ctx, h.presence.workerID())
		for _, row := range rows {
			held[fence{row.ID, row.Attempt}] = row
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list held jobs: %w", err)
	}
	h.cancelLost(attempts, held)
	return h.orphans.release(ctx, held)
}

// cancelLost cancels the handlers of attempts that this worker no longer holds, or whose job has a cancel request.
func (h *heartbeat) cancelLost(attempts []*Attempt, held map[fence]db.ListHeldJobsRow) {
	var lost []*Attempt
	h.ledger.do(func() {
		for _, a := range attempts {
			row, ok := held[a.fence()]
			switch {
			case a.over || !ok && a.completed: // the attempt has ended
			case !ok:
				if a.ctx.Err() == nil { // else it was cancelled before
					lost = append(lost, a)
				}
				a.cancel(jobtype.ErrLeaseLost)
			case row.CancelRequestedAt != 0:
				a.cancel(jobtype.ErrCancelRequested)
			}
		}
	})
	for _, a := range lost {
		h.env.log.Warn("the lease was lost: the handler is cancelled", a.attrs()...)
	}
}

// reportStuck ends the attempts of handlers that run long after their context ended. Their slots stay taken.
func (h *heartbeat) reportStuck(now time.Time) {
	for _, a := range h.overrunning(now) {
		why := context.Cause(a.ctx)
		h.env.log.Error("handler ignores the end of its context: its attempt is ended without it, its slot stays taken",
			append(a.attrs(), "cause", why)...)
		go h.executor.finishWithout(a, why, now.Sub(a.claimed)) // the call may have to wait for the kind's RetryDelay
	}
}

// overrunning returns the attempts whose handlers still run StuckAfter after their context ended.
func (h *heartbeat) overrunning(now time.Time) (list []*Attempt) {
	h.ledger.do(func() {
		if h.ledger.life.phase == phaseCancelled {
			return // the run stops and has its own limit
		}
		ended := map[*Attempt]time.Time{}
		for _, a := range h.ledger.running {
			if a.over || a.reported || !a.begun || a.ctx.Err() == nil {
				continue
			}
			at, before := h.ended[a]
			switch {
			case !before:
				ended[a] = now
			case now.Sub(at) >= h.env.config.StuckAfter:
				a.reported = true
				list = append(list, a)
			default:
				ended[a] = at
			}
		}
		h.ended = ended
	})
	return list
}

// revive registers a new worker after others declared this one dead; its jobs belong to others.
func (h *heartbeat) revive(ctx context.Context) error {
	_, old, _ := h.presence.take()
	h.ledger.do(func() {
		for _, a := range h.ledger.running {
			if !a.over {
				a.cancel(jobtype.ErrLeaseLost)
			}
		}
	})
	h.env.log.Warn("this worker was declared dead: its jobs are lost to others, and it starts anew", "worker", h.presence.name)
	var err error
	if old.release != nil {
		err = old.release(true)
	}
	err = errors.Join(err, h.presence.register(ctx))
	if errors.Is(err, jobtype.ErrWorkerName) {
		h.giveUp(err) // another worker has taken the name: two must not share it
	}
	h.ledger.signal()
	return err
}

// settingsEvery is the longest time between two reads of the settings of kinds: an idle worker costs a server little that way.
const settingsEvery = 10 * time.Second

// settingsReader reads the settings of kinds when they may have changed. The heartbeat's goroutine uses it.
type settingsReader struct {
	env     *env
	inForce int64     // stands for the declarations in force at the last read
	read    time.Time // the last read; the zero time: none
}

// refresh reads the settings if other declarations are in force than at the last read. Of two that replace each other at one time the
// number may stay the same: so it also reads them now and then.
func (s *settingsReader) refresh(ctx context.Context, work db.CountHouseworkRow, now time.Time) error {
	if work.InForce == s.inForce && now.Sub(s.read) < settingsEvery {
		return nil
	}
	err := s.env.store.Read(engine.Quick(ctx), s.env.settings.Read)
	if err == nil {
		s.inForce, s.read = work.InForce, now
	}
	return err
}
