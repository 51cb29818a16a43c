package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// LockState is the result of a try to take the lock of another worker.
type LockState int

// The states of a worker's lock.
const (
	LockHeld    LockState = iota // the worker lives, or this process cannot tell
	LockTaken                    // the worker is gone, and the caller has its lock
	LockMissing                  // there is no lock of this key: the worker is gone, or the lock was deleted under it, so its lease decides
)

// LiveWorkers returns the workers that have not ended and have given a sign of life within two leases, oldest first. The process of any
// other worker has died or stands still, although no other worker may have noticed. A sign later than now counts for a lease longer than
// clocks differ: the clock was ahead, and a worker that lives renews it.
func LiveWorkers(ctx context.Context, q db.Querier, now time.Time) ([]db.Worker, error) {
	rows, err := q.ListLiveWorkers(ctx)
	return slices.DeleteFunc(rows, func(w db.Worker) bool {
		lease := max(0, w.LeaseUntil-w.HeartbeatAt)
		return core.Time(w.LeaseUntil+lease).Before(now) || core.Time(w.HeartbeatAt-lease).After(now.Add(core.ClockAhead))
	}), err
}

// Slots returns the slots of each queue of a worker. It leaves out values that are no number of slots, which another program wrote: one
// such row must not hide all workers.
func Slots(w db.Worker) map[string]int {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(w.Queues), &members); err != nil {
		return map[string]int{}
	}
	slots := make(map[string]int, len(members))
	for queue, value := range members {
		if n, err := strconv.ParseInt(string(value), 10, 32); err == nil {
			slots[queue] = int(n)
		}
	}
	return slots
}

// Kinds returns the kinds of a worker, without values that are no string.
func Kinds(w db.Worker) []string {
	kinds := []string{}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(w.Kinds), &list); err != nil {
		return kinds
	}
	for _, element := range list {
		var name string
		if err := json.Unmarshal(element, &name); err == nil {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

// Work is a pair of a queue and a kind.
type Work struct{ Queue, Kind string }

// Taken is the set of the queues and kinds whose jobs workers take.
type Taken map[Work]bool

// Add adds the queues and kinds of a worker with these slots and kinds.
func (t Taken) Add(slots map[string]int, kinds []string) {
	for queue, n := range slots {
		for _, kind := range kinds {
			if n > 0 {
				t[Work{queue, kind}] = true
			}
		}
	}
}
