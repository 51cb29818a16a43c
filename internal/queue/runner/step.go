package runner

import (
	"context"

	"github.com/sqluice/sqluice/db"
)

// step is a rule about claims. The loop knows none of them: each is a file and a line in allSteps. A function that a step does not need
// is nil.
type step struct {
	// narrow returns the number of jobs, at most n, that may be claimed now from a queue with free slots. formerCrashes is the number of jobs
	// here that were running when a process died. It runs before the claim. Callers hold mu.
	narrow func(n, free, formerCrashes int) int

	// review gives back the claimed jobs of a queue that must not run now, and returns the others. keeps reports, without a
	// statement, whether review would keep all of them.
	review func(ctx context.Context, q db.Querier, t *turn, queue string, claimed []*Attempt) (kept []*Attempt, err error)
	keeps  func(claimed []*Attempt) bool
}

// steps holds all steps, in the order in which their functions run.
type steps []step

// narrow returns the number of jobs, at most n, that all steps let the loop claim from a queue.
func (all steps) narrow(n, free, formerCrashes int) int {
	for _, step := range all {
		if step.narrow != nil {
			n = step.narrow(n, free, formerCrashes)
		}
	}
	return n
}

// keepAll reports whether no step would give back any of the claimed jobs.
func (all steps) keepAll(claimed []*Attempt) bool {
	for _, step := range all {
		if step.keeps != nil && !step.keeps(claimed) {
			return false
		}
	}
	return true
}

// review returns the claimed jobs of a queue that all steps let run.
func (all steps) review(ctx context.Context, q db.Querier, t *turn, queue string, claimed []*Attempt) (kept []*Attempt, err error) {
	for _, step := range all {
		if step.review == nil {
			continue
		}
		if claimed, err = step.review(ctx, q, t, queue, claimed); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}
