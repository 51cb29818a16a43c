package runner

import (
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
)

// Queues holds the queues that a run serves, each with its number of slots. They may change at any time, also before the run begins.
// Its methods may be called concurrently.
type Queues struct {
	version atomic.Uint64 // the number of changes so far
	stale   chan struct{} // a signal to the heartbeat: the queues in the worker's row are out of date

	mu    sync.Mutex
	slots map[string]int
	apply func(name string, slots int) // passes a change to the run that serves them; nil before it begins and after it has ended
}

// NewQueues returns queues with their slots.
func NewQueues(slots map[string]int) *Queues {
	return &Queues{stale: make(chan struct{}, 1), slots: maps.Clone(slots)}
}

// Set sets the number of slots of a queue; 0 removes it. It has taken effect when Set returns: a removed queue gets no handovers.
func (q *Queues) Set(name string, slots int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.slots[name] == slots {
		return
	}
	if q.slots[name] = slots; slots == 0 {
		delete(q.slots, name)
	}
	q.version.Add(1)
	if q.apply == nil {
		return
	}
	q.apply(name, slots)
	select {
	case q.stale <- struct{}{}:
	default: // a signal to the heartbeat is pending already
	}
}

// Slots returns the queues with their slots, and the number of changes so far.
func (q *Queues) Slots() (slots map[string]int, version uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.slots), q.version.Load()
}

// column returns the queues as the text of a worker's row, and the number of changes so far.
func (q *Queues) column() (text string, version uint64, err error) {
	slots, version := q.Slots()
	encoded, err := json.Marshal(slots)
	return string(encoded), version, err
}

// attach calls begin with the queues, and apply with each later change. apply may be nil: nothing serves the queues any more.
func (q *Queues) attach(begin func(map[string]int), apply func(name string, slots int)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if begin != nil {
		begin(q.slots)
	}
	q.apply = apply
}
