package runner

import (
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
)

const (
	// The bounds of the number of scheduled jobs that become pending in one transaction: a few more than it claims, and the largest
	// number when that was not enough, so that a million jobs that fall due at once do not hold up other writes for long.
	promoteLeast = 100
	promoteMost  = 1000
)

// plan holds the work of one cycle.
type plan struct {
	ended  []*Attempt       // attempts whose ends are recorded
	wants  map[string]int64 // the largest number of jobs to claim from each queue
	slots  map[string]int64 // the number of these jobs that begin at once
	behind bool             // the cycle before promoted its largest number of jobs: promote more, also when none can be claimed
	due    time.Time        // the earliest known time at which a scheduled job falls due; the zero time: none is scheduled
	simple bool             // the plan only claims, and the loop looks again: see [engine.Plan]
	many   bool             // many queues wanted jobs: wants has only those in which a look found some

	// The claims from further sources that have jobs of a higher priority, and the rest of wants, for the pending jobs. See share.
	further []sourceClaim
	pending map[string]int64
	direct  map[string]bool            // queues in which a further source has jobs: nothing is prefetched from them
	quick   map[string]map[string]bool // for each queue, where a further source may have jobs, the kinds whose recent attempts took less time than a cycle
	shared  bool                       // the sources were asked
	limited bool                       // jobs with a limit key are due
	whole   bool                       // a limit of a whole kind or queue is set: pending jobs may need a limit key

	// The only jobs to promote or to claim, without other promotions or claims; nil: any. At most one of them is set.
	promoteIDs, claimIDs []int64
	limitedIDs           []int64 // likewise the only jobs with limit keys to promote
}

// split gives the sources their shares of the claim from a queue; the first share is that of the pending jobs.
func (p *plan) split(queue string, sources []Source, shares []int64) {
	p.pending[queue] = shares[0]
	for i, s := range sources {
		if n := shares[i+1]; n > 0 {
			p.further = append(p.further, sourceClaim{s, engine.QueueClaim{Queue: queue, N: n, Quick: p.quick[queue]}})
		}
	}
}

// pendingShare returns the largest number of pending jobs to claim from a queue.
func (p *plan) pendingShare(queue string) int64 {
	if n, shared := p.pending[queue]; shared {
		return n
	}
	return p.wants[queue]
}

// isListed reports whether the plan has a list of jobs.
func (p *plan) isListed() bool {
	return p.promoteIDs != nil || p.claimIDs != nil || p.limitedIDs != nil
}

// promotes reports whether the plan promotes any due jobs, or claims, at a time.
func (p *plan) promotes(now time.Time) bool {
	return p.behind || len(p.wants) > 0 || p.many && !p.due.IsZero() && !p.due.After(now)
}

// promotion returns the largest number of due jobs that the plan makes pending, so that the claims choose among them by priority.
func (p *plan) promotion() int64 {
	if p.behind {
		return promoteMost
	}
	n := int64(promoteLeast)
	for _, wants := range p.wants {
		n = min(n+2*wants, promoteMost)
	}
	return n
}

// turn is a plan that a transaction carries out, with its results.
type turn struct {
	plan plan
	made *lifecycle.Transitions

	now      time.Time // the store's clock when the transaction began
	lost     []*lifecycle.End
	promote  int64 // the largest number of jobs that the promotion could promote; 0: it did not run
	promoted int64
	waiting  int64 // the number of jobs with a limit key that became waiting; part of promoted
	due      int64 // the number of these that were due
	claimed  []*Attempt
	more     map[string]bool // queues in which another claim may find something
	short    map[string]bool // queues with fewer claimed jobs than wanted, but some
	returned map[string]bool // queues from which jobs were claimed that must not wait for a slot
	looked   bool            // the turn has looked for the next scheduled job
	next     engine.Next     // when that job falls due, if looked
	took     time.Duration   // the duration of the transaction
	held     time.Duration   // the time for which it kept all other writers waiting; 0 where it does not
}

// reset clears the results of an earlier run of the transaction.
func (t *turn) reset(now time.Time) {
	*t = turn{
		plan: t.plan, now: now, made: lifecycle.NewTransitions(),
		more: map[string]bool{}, short: map[string]bool{}, returned: map[string]bool{},
	}
}

// mayHaveMore reports whether the loop must look at a queue of the plan again. A short claim may have missed rows that another worker had
// locked and then did not take: a look, which takes no locks, shows them. A further source may have had jobs while no slot was free.
func (t *turn) mayHaveMore(queue string) bool {
	return t.more[queue] || t.short[queue] || !t.looked || t.plan.direct[queue] && t.plan.wants[queue] == 0
}

// records reports whether the turn records the end of an attempt.
func (t *turn) records(a *Attempt) bool { return slices.Contains(t.plan.ended, a) }
