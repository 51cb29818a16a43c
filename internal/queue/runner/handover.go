package runner

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// handoverFirst and handoverLast bound how long a queue is left alone after it declined a job, for example while it is
	// paused or has others: longer each time in a row. A declined handover costs a round trip on PostgreSQL, or a transaction.
	handoverFirst = 10 * time.Millisecond
	handoverLast  = time.Second

	// handoverMost is how long a slot is kept for a job whose insert waits, for example for a row lock, on an engine where
	// others can write meanwhile.
	handoverMost = time.Second
)

// errChanged ends a transaction in which a trigger of the application changed the job that was being handed over: another
// queue, a later time, another status. The job is then inserted normally.
var errChanged = errors.New("a trigger has changed the job")

// Handover inserts one job as claimed by a run of this process, which then runs it: one transaction in place of two, and the
// handler begins after its commit. One goroutine uses it.
type Handover struct {
	run      *run
	queue    string
	worker   int64
	cycle    uint64 // its number
	began    time.Time
	claimed  *Attempt // by the last Insert; nil when that has claimed nothing
	declined bool     // by the queue, in the last Insert
	kept     bool     // the slot still is
}

// reserve keeps a slot and begins a cycle for one handover. It returns nil unless the producer waits for a notification, the
// queue has a free slot and no other handover goes on: jobs that arrive faster are claimed by the producer, many in one
// transaction.
func (r *run) reserve(kind, queue string) *Handover {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[queue]
	if q == nil || q.free() == 0 || r.handlers[kind].Run == nil || !r.resting || r.handingOver || len(r.ended) > 0 ||
		r.closing || r.ending != nil || r.fatal != nil || r.worker.id == 0 || time.Now().Before(q.handover.until) {
		return nil
	}
	r.handingOver = true
	q.kept++
	return &Handover{run: r, queue: queue, worker: r.worker.id, cycle: r.cycles.begin(), began: time.Now(), kept: true}
}

// Insert inserts a job without keys as claimed, inside the transaction, which may run again. added is false when the queue
// declines the job.
func (h *Handover) Insert(ctx context.Context, q db.Querier, p db.EnqueueJobParams) (id int64, added bool, err error) {
	r := h.run
	h.claimed = nil
	now := r.store.Now()
	lease := now.Add(r.config.Lease)
	arg := db.EnqueueClaimedJobParams{
		Kind: p.Kind, Queue: p.Queue, Payload: p.Payload, Priority: p.Priority, RunAfter: p.RunAfter, MaxAttempts: p.MaxAttempts,
		Timeout: p.Timeout, UserID: p.UserID, Tags: p.Tags, Metadata: p.Metadata, Now: p.Now,
		WorkerID: h.worker, StartedAt: core.Micros(now), LeaseUntil: core.Micros(lease), Kinds: r.kinds,
	}
	row, err := q.EnqueueClaimedJob(ctx, arg)
	if h.declined = errors.Is(err, sql.ErrNoRows); h.declined {
		return 0, false, nil
	}
	if err == nil && !asGiven(row, arg) {
		err = errChanged
	}
	if err != nil {
		return 0, false, err
	}
	h.claimed = r.executor.attempt(jobrow.Claimed(db.ClaimJobsRow{
		ID: row.ID, Kind: row.Kind, Payload: row.Payload, Priority: row.Priority, RunAfter: row.RunAfter, Attempt: row.Attempt,
		MaxAttempts: row.MaxAttempts, Timeout: row.Timeout, UniqueKey: row.UniqueKey, RequestID: row.RequestID, UserID: row.UserID,
		Tags: row.Tags, Metadata: row.Metadata, CreatedAt: row.CreatedAt,
	}, p.Queue, h.worker, now, lease))
	return row.ID, true, nil
}

// asGiven reports whether the inserted row has the values that the enqueue gave: whether no trigger changed it.
func asGiven(row db.EnqueueClaimedJobRow, arg db.EnqueueClaimedJobParams) bool {
	given := db.EnqueueClaimedJobRow{
		ID: row.ID, Kind: arg.Kind, Queue: arg.Queue, Payload: arg.Payload, Status: string(jobtype.StatusRunning), Priority: arg.Priority,
		RunAfter: arg.RunAfter, MaxAttempts: arg.MaxAttempts, Timeout: arg.Timeout, CreatedAt: arg.Now, Attempt: 1,
	}
	texts := func(list ...*string) (texts [3]string) {
		for i, text := range list {
			texts[i] = core.Deref(text)
		}
		return texts
	}
	optional := texts(row.UserID, row.Tags, row.Metadata) == texts(arg.UserID, arg.Tags, arg.Metadata)
	row.UserID, row.Tags, row.Metadata = nil, nil, nil
	worker := row.WorkerID
	row.WorkerID = nil
	return row == given && optional && worker != nil && *worker == arg.WorkerID
}

// start dispatches the job that the committed transaction claimed. It returns false when the transaction claimed none.
func (h *Handover) start() (taken bool) {
	if h.claimed == nil {
		return false
	}
	h.claimed.kept, h.kept = true, false
	h.run.executor.dispatch([]*Attempt{h.claimed})
	tellCycle(h.run.observer, 0, 1, 0, time.Since(h.began))
	return true
}

// end gives the slot back, if it is still kept.
func (h *Handover) end() {
	r := h.run
	r.mu.Lock()
	q := r.queues[h.queue]
	if h.kept {
		q.kept--
		q.handover.until = time.Now().Add(min(handoverFirst<<min(q.handover.declined, 10), handoverLast))
		q.handover.declined++
	} else {
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
