package runner

import "time"

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

func newSlots(c Config, suspects *int) map[string]*slots {
	queues := make(map[string]*slots, len(c.Queues))
	for queue, total := range c.Queues {
		queues[queue] = &slots{total: total, suspects: suspects, prefetch: prefetch{most: c.Prefetch}}
	}
	return queues
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
