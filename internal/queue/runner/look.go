package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

const (
	// lookEach is how many queues the producer looks at one by one. Of more of them one statement finds those that have jobs, and
	// no cycle claims from more without having asked: else a wake-up would cost a statement for each queue.
	lookEach = 4

	// The bounds of when the producer looks again after it found a job that it could not claim. Another worker may hold its
	// row locked for the time of a claim and then not take it; and it may be pending before its time.
	lookSoonest = time.Millisecond
	lookLast    = time.Second

	// The bounds of when a draining runner looks again whether others' jobs have ended: most of them soon have.
	drainFirst = time.Millisecond
	drainLast  = 100 * time.Millisecond

	// drainAhead is how soon a job must fall due for a draining runner to wait for it: more than the clocks of the runner and of
	// a program that has just inserted a job differ by.
	drainAhead = 50 * time.Millisecond
)

// look finds out without the write lock whether a cycle would claim anything; drained means that the run is over. Of many queues
// it leaves those in wants that have jobs. A fault counts as found: the cycle meets it again and deals with it.
func (p *producer) look(ctx context.Context, wants map[string]int64) (found, drained bool) {
	found, next, err := p.peek(ctx, wants)
	if err != nil {
		return ctx.Err() == nil, false
	}
	p.next = next
	if found {
		return true, false
	}
	if p.config.Drain && p.drained(ctx) {
		return false, true
	}
	p.trouble.Over("the database works again")
	p.misses = 0
	p.trust(false)
	p.emptyLooks++
	p.backoff.FoundNothing()
	for queue := range wants { // and no other: one without a free slot was not looked at
		delete(p.claimable, queue)
	}
	p.alarm.Set(p.nextLook(next))
	return false, false
}

// lookAlong leaves those of many queues in wants that have jobs, before a cycle that has other work anyway, or that get jobs back from
// the attempts that have ended. After a fault it leaves all.
func (p *producer) lookAlong(ctx context.Context, wants map[string]int64, ended []*Attempt) {
	before := maps.Clone(wants)
	if _, next, err := p.peek(ctx, wants); err == nil {
		p.next = next
	}
	for _, a := range ended {
		if n, wanted := before[a.job.Queue]; wanted && a.end.Fate.Returns() {
			wants[a.job.Queue], p.claimable[a.job.Queue] = n, true
		}
	}
}

// peek reads whether there is anything to claim or promote, and when the next job falls due. Of many queues it leaves those in
// wants that have jobs; the others are not claimable any more.
func (p *producer) peek(ctx context.Context, wants map[string]int64) (found bool, next time.Time, err error) {
	var due bool
	var claimable []string
	queues, many := slices.Collect(maps.Keys(wants)), len(wants) > lookEach
	err = p.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		us, err := p.steps.next(ctx, q)
		if err != nil {
			return err
		}
		next = core.Time(us)
		due = us != 0 && us <= core.Micros(p.store.Now())
		if found = due; many {
			claimable, err = p.store.ClaimableQueues(ctx, q, p.kinds, queues)
			return err
		}
		for _, queue := range queues {
			if found {
				break
			}
			if found, err = p.store.HasClaimableJobs(ctx, q, db.HasClaimableJobsParams{Kinds: p.kinds, Queue: queue}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !many {
		return found, next, err
	}
	p.leave(wants, claimable)
	return due || len(wants) > 0, next, nil
}

// leave leaves in wants, and claimable, those of its queues that have jobs to claim.
func (p *producer) leave(wants map[string]int64, claimable []string) {
	has := make(map[string]bool, len(claimable))
	for _, queue := range claimable {
		has[queue] = true
	}
	for queue := range wants {
		if !has[queue] {
			delete(wants, queue)
			delete(p.claimable, queue)
		}
	}
}

// drained reports whether a drain is complete: nothing runs here, and no other worker runs what could come back.
func (p *producer) drained(ctx context.Context) bool {
	if !p.idle() {
		return false
	}
	var unfinished int64
	ahead := drainAhead
	if engine.ClockStands(p.store) {
		ahead = 0 // it would wait for ever
	}
	soon := core.Micros(p.store.Now().Add(ahead))
	err := p.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		unfinished, err = q.HasUnfinishedJobs(ctx, db.HasUnfinishedJobsParams{Queues: core.JSONNames(p.names), Kinds: p.kinds, Now: soon})
		return err
	})
	return err == nil && unfinished == 0 && !p.apart.tryAll(ctx)
}
