package runner

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// handoverFirst and handoverLast bound the time for which a queue is not asked after it declined a job, for example while it is paused
	// or has other jobs. The time grows with each decline in a row. A declined handover costs a transaction that is rolled back.
	handoverFirst = 10 * time.Millisecond
	handoverLast  = time.Second

	// handoverMost is the longest time for which a slot is reserved for a job whose insert waits, for example for a row lock, on an engine
	// where others can write meanwhile.
	handoverMost = time.Second
)

// receiver is a run of this process as the receiver of handed-over jobs.
type receiver struct {
	env      *env
	ledger   *ledger
	slots    *slots
	executor *executor
	presence *presence
}

// handover inserts one job as claimed by a run of this process, which then runs it: one transaction in place of two, and the
// handler begins after its commit. One goroutine uses it.
type handover struct {
	to       *receiver
	queue    string
	worker   int64
	cycle    uint64 // the number of its cycle
	began    time.Time
	reserved bool // the slot is still reserved
}

// reserveSlot keeps a slot and begins a cycle for one handover. It returns nil unless the loop waits for a notification, the
// queue has a free slot and no other handover is under way: the loop claims jobs that arrive faster, many in one
// transaction.
func (r *receiver) reserveSlot(kind, queue string) (h *handover) {
	if r.env.handlers[kind] == nil {
		return nil
	}
	r.ledger.do(func() {
		q, l, worker := r.slots.queues[queue], r.ledger, r.presence.workerID()
		if q == nil || q.free() == 0 || l.activity != resting || r.slots.handingOver || len(l.ended) > 0 ||
			l.life.phase != phaseWorking || l.life.fatal != nil || worker == 0 || time.Now().Before(q.handover.until) {
			return
		}
		r.slots.handingOver = true
		q.reserved++
		h = &handover{to: r, queue: queue, worker: worker, cycle: l.cycles.openCycle(), began: time.Now(), reserved: true}
	})
	return h
}

// claimColumns returns the worker's columns of the inserted job, as of now.
func (h *handover) claimColumns(now time.Time) *engine.Claim {
	return &engine.Claim{
		WorkerID: h.worker, StartedAt: core.Micros(now), LeaseUntil: core.Micros(now.Add(h.to.env.config.Lease)), Kinds: h.to.env.kinds,
		Patience: handoverMost,
	}
}

// attempt returns the Attempt of the job that was inserted with a claim of that time.
func (h *handover) attempt(in engine.Insert, now time.Time) *Attempt {
	return newAttempt(h.to.env, jobrow.Claimed(in.Claim.Row, in.Job.Queue, h.worker, now, now.Add(h.to.env.config.Lease)))
}

// runJob dispatches a job that the run's worker has claimed.
func (h *handover) runJob(claimed *Attempt) {
	claimed.reserved, h.reserved = true, false
	h.to.executor.dispatch([]*Attempt{claimed})
	tellCycle(h.to.env.observer, 0, 1, 0, time.Since(h.began))
}

// release gives the slot back, if it is still reserved.
func (h *handover) release() {
	r, wake := h.to, false
	r.ledger.do(func() {
		q := r.slots.queues[h.queue]
		if h.reserved {
			q.reserved--
			q.handover.until = time.Now().Add(min(handoverFirst<<min(q.handover.declined, 10), handoverLast))
			q.handover.declined++
		} else if q != nil { // else the queue was removed, and its job has ended
			q.handover.declined = 0
		}
		r.slots.handingOver = false
		r.ledger.cycles.closeCycle(h.cycle)
		// The loop may have worked without the slot, or wait for the end of the handover.
		wake = h.reserved || r.ledger.life.phase != phaseWorking || r.env.config.Drain
	})
	if wake {
		r.ledger.signal()
	}
}

// Registry lists the runs of one client that can accept a job during its enqueue. The zero value is an empty list.
type Registry struct {
	mu   sync.Mutex
	runs []*receiver // never changed, but replaced
}

func (g *Registry) addReceiver(r *receiver) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs = append(slices.Clone(g.runs), r)
}

func (g *Registry) removeReceiver(r *receiver) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs = slices.DeleteFunc(slices.Clone(g.runs), func(other *receiver) bool { return other == r })
}

// HandOver inserts a due job as claimed by a run that accepts it, and starts it. final is false when the caller must insert the
// job normally: no run accepts it, or the handover itself may have caused the failure.
func (g *Registry) HandOver(ctx context.Context, in engine.Insert) (ids []int64, final bool, err error) {
	h := g.reserve(in.Job.Kind, in.Job.Queue)
	if h == nil {
		return nil, false, nil
	}
	defer h.release() // also when the application's event handler panics
	store := h.to.env.store
	now := store.Now()
	in.Claim = h.claimColumns(now)
	ids, err = store.Insert(ctx, in)
	if err != nil {
		return nil, ctx.Err() != nil || errors.Is(err, jobtype.ErrUnknownOutcome) || !engine.Refused(err) && store.CanRetry(err), err
	}
	h.runJob(h.attempt(in, now))
	return ids, true, nil
}

// reserve returns a handover to a run that accepts the job; nil when there is none. The caller must call its end.
func (g *Registry) reserve(kind, queue string) *handover {
	g.mu.Lock()
	runs := g.runs
	g.mu.Unlock()
	for _, r := range runs {
		if h := r.reserveSlot(kind, queue); h != nil {
			return h
		}
	}
	return nil
}
