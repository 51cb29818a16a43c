package runner

import (
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Queues are the queues that a run serves, each with its number of slots. They may change at any time, also before the run begins.
// Its methods may be called concurrently.
type Queues struct {
	version atomic.Uint64 // how often they were changed
	stale   chan struct{} // a signal to the heartbeat: the worker's row has other queues

	mu    sync.Mutex
	slots map[string]int
	run   *run // that serves them; nil before it begins and after it has ended
}

// NewQueues returns queues with their slots.
func NewQueues(slots map[string]int) *Queues {
	return &Queues{stale: make(chan struct{}, 1), slots: maps.Clone(slots)}
}

// Set gives a queue so many slots; 0 removes it. The run obeys when Set returns: no job is handed over to a queue without slots.
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
	if q.run == nil {
		return
	}
	q.run.setSlots(name, slots)
	select {
	case q.stale <- struct{}{}:
	default: // the heartbeat will look anyway
	}
}

// Slots returns the queues with their slots, and how often they were changed before.
func (q *Queues) Slots() (slots map[string]int, version uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.slots), q.version.Load()
}

// column returns the queues as a worker's row has them, and how often they were changed before.
func (q *Queues) column() (text string, version uint64, err error) {
	slots, version := q.Slots()
	encoded, err := json.Marshal(slots)
	return string(encoded), version, err
}

// begin gives a run the queues, and each later change.
func (q *Queues) begin(r *run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, total := range q.slots {
		r.queues[name] = newSlots(total, r.state, r.config.Prefetch)
	}
	q.run = r
}

// end keeps later changes from the run.
func (q *Queues) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.run = nil
}

// slots are the places of one queue, and the jobs that wait for one. The state's mu guards them. While a job waits, no place
// is free.
type slots struct {
	total    int
	active   int  // handlers that have not returned
	kept     int  // places for jobs that are being handed over
	suspects *int // those of the state
	prefetch prefetch
	handover handoverPause
}

// handoverPause is when a queue that declined a handed-over job is asked again.
type handoverPause struct {
	declined int // how often in a row
	until    time.Time
}

func newSlots(total int, s *state, prefetched int) *slots {
	return &slots{total: total, suspects: &s.suspects, prefetch: prefetch{most: prefetched}}
}

// setSlots changes how many slots a queue has; 0 removes it. Of a removed queue, jobs that run go on, and those that wait for a slot are
// given back. Its row stays in the list of slots until the producer removes it.
func (r *run) setSlots(name string, total int) {
	r.log.Debug("the slots of a queue are changed", "queue", name, "slots", total)
	r.mu.Lock()
	q := r.queues[name]
	if q == nil {
		q = newSlots(0, r.state, r.config.Prefetch)
		r.queues[name] = q
	}
	q.total = total
	if total == 0 {
		r.executor.unclaim(q.prefetch.remove(len(q.prefetch.jobs)))
	}
	var starting []*Attempt
	now := time.Now()
	for a := q.next(now); a != nil; a = q.next(now) {
		starting = append(starting, a)
	}
	r.mu.Unlock()
	for _, a := range starting {
		r.executor.start(a)
	}
	r.signal()
}

// isRemoved reports whether the queue has no slots any more, and none of its jobs is left here.
func (s *slots) isRemoved() bool {
	return s.total == 0 && s.active == 0 && s.kept == 0 && len(s.prefetch.jobs) == 0
}

// free returns how many places have no job.
func (s *slots) free() int { return max(0, s.total-s.active-s.kept) }

// wants returns how many more jobs the queue takes when a cycle takes so long. A cycle that has nothing else to do is worth
// half of those that may wait.
func (s *slots) wants(cycle time.Duration, worth bool) int {
	waiting := s.prefetch.wants(s, cycle)
	n := s.total + waiting - s.active - s.kept - len(s.prefetch.jobs)
	if n <= 0 || !worth && n <= waiting/2 {
		return 0
	}
	return n
}

// add takes in a job that was claimed. It returns false when the job waits for a place.
func (s *slots) add(a *Attempt) (begun bool) {
	if a.job.Crashes > 0 {
		*s.suspects++
	}
	if a.kept {
		s.kept--
	}
	if s.free() == 0 {
		s.prefetch.jobs = append(s.prefetch.jobs, a)
		return false
	}
	s.begin(a)
	return true
}

// drop forgets a job that has ended or was given back.
func (s *slots) drop(a *Attempt) {
	if a.job.Crashes > 0 {
		*s.suspects--
	}
}

// next gives a place to the next job that waits for one, if there are both.
func (s *slots) next(now time.Time) *Attempt {
	for s.free() > 0 {
		a := s.prefetch.pop()
		if a == nil {
			return nil
		}
		if !a.over {
			s.prefetch.late = max(s.prefetch.late, now.Sub(a.claimed))
			s.begin(a)
			return a
		}
		s.drop(a)
		a.cancel(nil)
	}
	return nil
}

func (s *slots) begin(a *Attempt) {
	s.active++
	a.begun = true
}

// ended takes a place back.
func (s *slots) ended(a *Attempt, took time.Duration) {
	s.active--
	s.drop(a)
	s.prefetch.learn(took, len(a.job.Payload))
}
