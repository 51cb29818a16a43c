package runner

import (
	"context"

	"github.com/sqluice/sqluice/db"
)

// step is a rule of the cycle. The loop knows none of them: a rate limit or an expiry is a separate file and a line in
// allSteps. A function that a step does not need is nil, and one that has nothing to do runs no statement.
type step struct {
	// due makes jobs pending whose time has come, or ends them. The cycle calls it once the time that next returned has passed.
	due func(c *cycle, ctx context.Context, q db.Querier) error

	// next returns when due must run again, in microseconds; 0 means that nothing waits for a time.
	next func(ctx context.Context, q db.Querier) (int64, error)

	// narrow returns the number of jobs, at most n, that may be claimed from a queue now. It runs before the claim. Callers hold mu.
	narrow func(l *loop, queue string, n int) int

	// judge gives back the claimed jobs of a queue that must not run now, and returns the others. keeps reports, without a
	// statement, whether judge would keep all of them.
	judge func(c *cycle, ctx context.Context, q db.Querier, queue string, claimed []*Attempt) (kept []*Attempt, err error)
	keeps func(c *cycle, claimed []*Attempt) bool
}

// steps holds all steps, in the order in which their functions run.
type steps []step

func allSteps() steps { return steps{promotion(), writeTime(), suspicion(), lastChance(), risk()} }

// runDue runs due of all steps.
func (c *cycle) runDue(ctx context.Context, q db.Querier) error {
	for _, s := range c.completer.steps {
		if s.due == nil {
			continue
		}
		if err := s.due(c, ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// next returns the earliest time at which due of a step must run again, in microseconds; 0 means that nothing waits for a time.
func (all steps) next(ctx context.Context, q db.Querier) (first int64, err error) {
	for _, s := range all {
		if s.next == nil {
			continue
		}
		next, err := s.next(ctx, q)
		if err != nil {
			return 0, err
		}
		if next != 0 && (first == 0 || next < first) {
			first = next
		}
	}
	return first, nil
}

// narrowed returns the number of jobs, at most n, that all steps let the loop claim from a queue.
func (all steps) narrowed(l *loop, queue string, n int) int {
	for _, s := range all {
		if s.narrow != nil {
			n = s.narrow(l, queue, n)
		}
	}
	return n
}

// keepsAll reports whether no step would give back any of the claimed jobs.
func (c *cycle) keepsAll(claimed []*Attempt) bool {
	for _, s := range c.completer.steps {
		if s.keeps != nil && !s.keeps(c, claimed) {
			return false
		}
	}
	return true
}

// judged returns the claimed jobs of a queue that all steps let run.
func (c *cycle) judged(ctx context.Context, q db.Querier, queue string, claimed []*Attempt) (kept []*Attempt, err error) {
	for _, s := range c.completer.steps {
		if s.judge == nil {
			continue
		}
		if claimed, err = s.judge(c, ctx, q, queue, claimed); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}
