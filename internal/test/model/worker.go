package model

import (
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs/inspect"
)

// worker is a row of the table workers, and whether a process holds the worker's lock.
type worker struct {
	inspect.WorkerInfo
	id        int64
	lease     time.Time
	endedAt   time.Time
	endReason string
	locked    bool
}

// worker returns the worker with an id, or nil when its row is not kept.
func (q *queue) worker(id int64) *worker {
	for _, w := range q.workers {
		if w.id == id {
			return w
		}
	}
	return nil
}

// live returns the workers whose rows have not ended.
func (q *queue) live() []*worker {
	var list []*worker
	for _, w := range q.workers {
		if w.endedAt.IsZero() {
			list = append(list, w)
		}
	}
	return list
}

// shown returns the live workers that have given a sign of life within two leases. One that lies more than a lease ahead does not count.
func (q *queue) shown() []*worker {
	return slices.DeleteFunc(q.live(), func(w *worker) bool {
		lease := max(0, w.lease.Sub(w.Heartbeat))
		return w.lease.Add(lease).Before(q.now) || q.isAhead(w.Heartbeat.Add(-lease))
	})
}

// register adds a worker, or returns nil when a live one has the name.
func (q *queue) register(info inspect.WorkerInfo, lease time.Duration) *worker {
	if slices.ContainsFunc(q.live(), func(w *worker) bool { return w.Name == info.Name }) {
		return nil
	}
	q.lastWorker++
	w := &worker{WorkerInfo: info, id: q.lastWorker, lease: q.now.Add(lease), locked: true}
	w.ID, w.StartedAt, w.Heartbeat = w.id, q.now, q.now
	q.workers = append(q.workers, w)
	return w
}

// heartbeat renews a worker's lease, unless it was declared dead.
func (q *queue) heartbeat(id int64, lease time.Duration) int64 {
	w := q.worker(id)
	if w == nil || !w.endedAt.IsZero() {
		return 0
	}
	w.Heartbeat, w.lease = q.now, q.now.Add(lease)
	return 1
}

// endWorker closes a worker's row, once.
func (q *queue) endWorker(id int64, reason string) int64 {
	w := q.worker(id)
	if w == nil || !w.endedAt.IsZero() {
		return 0
	}
	w.endedAt, w.endReason = q.now, reason
	return 1
}

// forget removes the rows of workers that ended longer ago than age.
func (q *queue) forget(age time.Duration) int64 {
	before := len(q.workers)
	q.workers = slices.DeleteFunc(q.workers, func(w *worker) bool {
		return !w.endedAt.IsZero() && w.endedAt.Before(micros(q.now.Add(-age)))
	})
	return int64(before - len(q.workers))
}
