package runner

import "time"

// plan says what one cycle does.
type plan struct {
	ended  []*Attempt       // attempts whose ends are recorded
	wants  map[string]int64 // the largest number of jobs to claim from each queue
	slots  map[string]int64 // the number of these jobs that begin at once
	listed []int64          // the only jobs to claim, without a promotion before; nil means any
	behind bool             // the cycle before promoted its largest number of jobs: promote more, also when none can be claimed
	due    time.Time        // when the first scheduled job falls due, as far as is known; the zero time: none is scheduled
	simple bool             // the plan only claims, and the loop looks again: see [engine.Exchange]
	many   bool             // many queues wanted jobs: wants has only those in which a look found some
}

// promotes reports whether the plan promotes or claims at a time.
func (p *plan) promotes(now time.Time) bool {
	return p.behind || len(p.wants) > 0 || p.many && !p.due.IsZero() && !p.due.After(now)
}
