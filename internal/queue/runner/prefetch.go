package runner

import (
	"slices"
	"time"
)

const (
	// prefetchGoal is the longest time that a prefetched job should wait for its slot.
	prefetchGoal = 20 * time.Millisecond

	// prefetchFor is the longest time that a prefetched job waits for its slot. Then it is given back, for other workers to run.
	prefetchFor = 100 * time.Millisecond

	// prefetchEach is the number of prefetched jobs for each slot of a queue, where the config does not set a number.
	prefetchEach = 4

	// prefetchPause is the number of cycles without prefetching after a cycle that had to give jobs back.
	prefetchPause = 100

	// paceOver is the approximate number of attempts over which pace and weight are averaged.
	paceOver = 16
)

// prefetch holds the jobs of a queue that were claimed before a slot is free, so that no slot waits for the database, and
// the bounds of their number.
type prefetch struct {
	jobs   []*Attempt               // waiting for a slot
	most   int                      // as in the config
	bytes  int                      // the approximate largest size of the payloads of waiting jobs
	room   int                      // the estimated number of jobs that may wait
	brake  int                      // from this value on the room grows slowly, because a larger room was too large before; 0 if it never was
	paused int                      // the number of coming cycles without prefetching
	late   time.Duration            // the longest time since the last cycle that a job waited for its slot
	pace   time.Duration            // the average duration of recent attempts; 0 while none has ended
	paces  map[string]time.Duration // the same by kind
	weight int                      // the average size of their payloads, in bytes
}

// capacity returns the number of jobs that may wait for one of a queue's slots when a cycle takes this long. busy says that all slots run jobs,
// and reserved that a job is being handed over: a waiting job would not get its slot.
func (p *prefetch) capacity(slots int, busy, reserved bool, cycle time.Duration) int {
	if p.paused > 0 {
		p.paused--
		return 0
	}
	if p.pace <= 0 || reserved {
		return 0
	}
	p.adapt(busy, slots, p.limit(slots))
	most := min(p.room, p.bytes/max(p.weight, 1))
	// Enough to keep the slots busy during two cycles: none where jobs are slow.
	return int(min(float64(most), float64(slots)*float64(2*cycle)/float64(p.pace)))
}

// limit returns the largest number of jobs that may ever wait for one of a queue's slots.
func (p *prefetch) limit(slots int) int {
	if p.most == 0 {
		return min(prefetchEach*slots, ClaimMost)
	}
	return max(p.most, 0)
}

// adapt raises the room when slots ran out of jobs, and lowers it when jobs waited longer than prefetchGoal, for example because
// the machine is busy or because jobs have become slower.
func (p *prefetch) adapt(busy bool, step, limit int) {
	switch {
	case p.late > prefetchGoal:
		p.room = int(float64(p.room) * float64(prefetchGoal) / float64(p.late))
	case busy:
	case p.brake > 0 && p.room >= p.brake:
		p.room = min(p.room+step, limit)
	default:
		p.room = min(max(2*p.room, step), limit)
	}
	p.late = 0
}

// quickKinds returns the kinds whose recent attempts took less time than a cycle that takes this long.
func (p *prefetch) quickKinds(cycle time.Duration) map[string]bool {
	quick := map[string]bool{}
	for kind, pace := range p.paces {
		if pace < cycle {
			quick[kind] = true
		}
	}
	return quick
}

// average adds the duration of an attempt, the kind of its job and the size of its payload to the averages.
func (p *prefetch) average(took time.Duration, kind string, size int) {
	if p.paces == nil {
		p.paces = map[string]time.Duration{}
	}
	pace, known := p.paces[kind]
	if !known {
		pace = took
	}
	p.paces[kind] = pace + (took-pace)/paceOver
	if p.pace == 0 {
		p.pace, p.weight = max(took, 1), size
	}
	p.pace += (took - p.pace) / paceOver
	p.pace = max(p.pace, 1)
	p.weight += (size - p.weight) / paceOver
}

// removeOverdue removes the jobs that were claimed before a time and still wait. The pace was wrong then.
func (p *prefetch) removeOverdue(before time.Time) []*Attempt {
	n := 0
	for n < len(p.jobs) && !p.jobs[n].claimed.After(before) {
		n++
	}
	if n > 0 {
		p.pace, p.room, p.brake = max(2*p.pace, prefetchFor), 0, max(p.room/2, 1)
	}
	return p.removeFirst(n)
}

// removeFirst removes the first n waiting jobs, and keeps no reference to them.
func (p *prefetch) removeFirst(n int) []*Attempt {
	removed := slices.Clone(p.jobs[:n])
	clear(p.jobs[:n])
	if p.jobs = p.jobs[n:]; len(p.jobs) == 0 {
		p.jobs = nil
	}
	return removed
}

// pop removes and returns the first waiting job; nil when there is none.
func (p *prefetch) pop() *Attempt {
	if len(p.jobs) == 0 {
		return nil
	}
	first := p.jobs[0]
	p.jobs[0] = nil // keeps no reference to it
	if p.jobs = p.jobs[1:]; len(p.jobs) == 0 {
		p.jobs = nil
	}
	return first
}
