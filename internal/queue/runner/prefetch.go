package runner

import (
	"slices"
	"time"
)

const (
	// prefetchBytes is about how much the payloads of a queue's waiting jobs may take.
	prefetchBytes = 4 << 20

	// prefetchGoal is how long a prefetched job should wait for its slot at most.
	prefetchGoal = 20 * time.Millisecond

	// prefetchFor is the longest time that such a job waits for its slot. Then it is given back, for other workers to run.
	prefetchFor = 100 * time.Millisecond

	// prefetchPause is for how many cycles nothing is prefetched after a cycle had to give back what it had claimed.
	prefetchPause = 100

	// paceOver is of about how many attempts pace and weight are the mean.
	paceOver = 16
)

// prefetch is the jobs of a queue that were claimed before a slot is free, so that no slot waits for the database, and how
// many they may be.
type prefetch struct {
	jobs   []*Attempt // waiting
	most   int
	room   int           // for waiting jobs, as far as it is known
	brake  int           // from here on the room grows slowly: it was too much before; 0 when it never was
	paused int           // for how many cycles nothing is prefetched
	late   time.Duration // the longest time since the last cycle that a job waited for its slot
	pace   time.Duration // how long attempts took lately, 0 while none has ended
	weight int           // the bytes of their payloads
}

// wants returns how many jobs may wait when a cycle takes so long.
func (p *prefetch) wants(s *queueSlots, cycle time.Duration) int {
	if p.paused > 0 {
		p.paused--
		return 0
	}
	if p.pace <= 0 || s.kept > 0 { // what waited would not get a kept slot
		return 0
	}
	p.adapt(s.active == s.total, s.total)
	most := min(p.room, prefetchBytes/max(p.weight, 1))
	// Enough for the slots to go on during two cycles: where jobs are slow that is none.
	return int(min(float64(most), float64(s.total)*float64(2*cycle)/float64(p.pace)))
}

// adapt makes more room when slots ran out of jobs, and less when jobs waited for long: because the machine is busy with
// other things, say, or because jobs take longer than those before.
func (p *prefetch) adapt(busy bool, step int) {
	switch {
	case p.late > prefetchGoal:
		p.room = int(float64(p.room) * float64(prefetchGoal) / float64(p.late))
	case busy:
	case p.brake > 0 && p.room >= p.brake:
		p.room = min(p.room+step, p.most)
	default:
		p.room = min(max(2*p.room, step), p.most)
	}
	p.late = 0
}

// learn takes in how long an attempt took, and the size of its payload.
func (p *prefetch) learn(took time.Duration, size int) {
	if p.pace == 0 {
		p.pace, p.weight = max(took, 1), size
	}
	p.pace += (took - p.pace) / paceOver
	p.pace = max(p.pace, 1)
	p.weight += (size - p.weight) / paceOver
}

// overdue removes the jobs that were claimed before a time and still wait. The pace was wrong then.
func (p *prefetch) overdue(before time.Time) []*Attempt {
	n := 0
	for n < len(p.jobs) && !p.jobs[n].claimed.After(before) {
		n++
	}
	if n > 0 {
		p.pace, p.room, p.brake = max(2*p.pace, prefetchFor), 0, max(p.room/2, 1)
	}
	return p.remove(n)
}

// remove removes the first n jobs that wait, and keeps no memory of them.
func (p *prefetch) remove(n int) []*Attempt {
	removed := slices.Clone(p.jobs[:n])
	clear(p.jobs[:n])
	if p.jobs = p.jobs[n:]; len(p.jobs) == 0 {
		p.jobs = nil
	}
	return removed
}

// pop takes the first job that waits; nil when there is none.
func (p *prefetch) pop() *Attempt {
	if len(p.jobs) == 0 {
		return nil
	}
	first := p.jobs[0]
	p.jobs[0] = nil // keeps no memory of it
	if p.jobs = p.jobs[1:]; len(p.jobs) == 0 {
		p.jobs = nil
	}
	return first
}
