package runner

import (
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
)

const (
	// handoverFirst and handoverLast bound how long a queue is left alone after it declined a job, for example while it is
	// paused or has others: longer each time in a row. A declined handover costs a transaction that is rolled back.
	handoverFirst = 10 * time.Millisecond
	handoverLast  = time.Second

	// handoverMost is how long a slot is kept for a job whose insert waits, for example for a row lock, on an engine where
	// others can write meanwhile.
	handoverMost = time.Second
)

// handover inserts one job as claimed by a run of this process, which then runs it: one transaction in place of two, and the
// handler begins after its commit. One goroutine uses it.
type handover struct {
	run    *run
	queue  string
	worker int64
	cycle  uint64 // its number
	began  time.Time
	kept   bool // the slot still is
}

// reserve keeps a slot and begins a cycle for one handover. It returns nil unless the producer waits for a notification, the
// queue has a free slot and no other handover goes on: jobs that arrive faster are claimed by the producer, many in one
// transaction.
func (r *run) reserve(kind, queue string) *handover {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[queue]
	if q == nil || q.free() == 0 || r.handlers[kind].Run == nil || !r.resting || r.handingOver || len(r.ended) > 0 ||
		r.closing || r.ending != nil || r.fatal != nil || r.worker.id == 0 || time.Now().Before(q.handover.until) {
		return nil
	}
	r.handingOver = true
	q.kept++
	return &handover{run: r, queue: queue, worker: r.worker.id, cycle: r.cycles.begin(), began: time.Now(), kept: true}
}

// claim returns what an insert says of the worker, as of now.
func (h *handover) claim(now time.Time) *engine.Claim {
	return &engine.Claim{
		WorkerID: h.worker, StartedAt: core.Micros(now), LeaseUntil: core.Micros(now.Add(h.run.config.Lease)), Kinds: h.run.kinds,
		Patience: handoverMost,
	}
}

// attempt returns that of the job that was inserted with a claim of that time.
func (h *handover) attempt(in engine.Insert, now time.Time) *Attempt {
	return h.run.executor.attempt(jobrow.Claimed(in.Claim.Row, in.Job.Queue, h.worker, now, now.Add(h.run.config.Lease)))
}

// start dispatches a job that the run's worker has claimed.
func (h *handover) start(claimed *Attempt) {
	claimed.kept, h.kept = true, false
	h.run.executor.dispatch([]*Attempt{claimed})
	tellCycle(h.run.observer, 0, 1, 0, time.Since(h.began))
}

// end gives the slot back, if it is still kept.
func (h *handover) end() {
	r := h.run
	r.mu.Lock()
	q := r.queues[h.queue]
	if h.kept {
		q.kept--
		q.handover.until = time.Now().Add(min(handoverFirst<<min(q.handover.declined, 10), handoverLast))
		q.handover.declined++
	} else if q != nil { // else the queue was removed, and its job has ended
		q.handover.declined = 0
	}
	r.handingOver = false
	r.cycles.end(h.cycle)
	tell := h.kept || r.closing || r.config.Drain // the producer may have gone without the slot, or wait for this to end
	r.mu.Unlock()
	if tell {
		r.signal()
	}
}
