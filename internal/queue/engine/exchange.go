package engine

import (
	"context"

	"github.com/sqluice/sqluice/db"
)

// Exchange is one cycle of a runner: in one transaction it records ended attempts, makes due jobs pending and claims. An engine runs its
// functions in the order of the fields, each at most once in a run of the transaction, which may run more than once. It uses as few round
// trips as it can: the first statements of Record, Promote, Claims and Look may be sent together, so none of them may depend on the
// result of another. Only with Returning or Releasing does Record end before Promote and Claims begin. A nil function has nothing to do.
type Exchange struct {
	Begin   func()      // forgets the results of an earlier run; without statements
	Record  Func        // records the ends of attempts
	Promote Func        // makes due jobs pending
	Claims  []Func      // claim jobs, while no scheduled job is due before NoneDueBefore
	Look    Func        // sets Due to the time when the next scheduled job falls due
	Keep    func() bool // keeps all claimed jobs, without a statement; if it returns false, Judge must decide
	Judge   Func        // gives back the claimed jobs that must not run
	Note    Func        // adds the changes to the counts; it reads nothing

	// Claiming is true when jobs may become pending or be claimed; otherwise only Record, Judge and Note run.
	Claiming bool

	// Returning is true when Record may make jobs pending again, which Claims must see: a job of a high priority that is retried
	// at once comes before the others.
	Returning bool

	// Releasing is true when Record may make scheduled jobs due, which Look must see: successors of jobs with a unique key.
	Releasing bool

	// Simple is true when an engine may commit the only claim by itself: nothing ended, Judge gives back at most jobs on their
	// last chance, and the caller looks again afterwards. Unless Keep returns true, Judge and Note then run in a separate
	// transaction, which may run more than once without Begin.
	Simple bool

	// Now is the time of the claims, and Due the time when the first scheduled job falls due as far as the caller knows; 0 means
	// that none is scheduled. Begin sets both, and Look sets Due anew. In microseconds.
	Now, Due int64

	// NoneDueBefore is set by the engine before Claims run: they claim nothing while a scheduled job is due before it. 0 means that
	// Promote has looked in the same transaction.
	NoneDueBefore int64

	// Alone is set by an engine whose other writers waited while the transaction ran its functions.
	Alone bool
}

// Each replaces each function by the result of wrap for it. Stores that observe statements use it.
func (x *Exchange) Each(wrap func(Func) Func) {
	for _, fn := range []*Func{&x.Record, &x.Promote, &x.Look, &x.Judge, &x.Note} {
		if *fn != nil {
			*fn = wrap(*fn)
		}
	}
	for i, fn := range x.Claims {
		x.Claims[i] = wrap(fn)
	}
}

// IsDue reports whether a scheduled job is due.
func (x *Exchange) IsDue() bool { return x.Due != 0 && x.Due <= x.Now }

// Conclude runs Judge and Note.
func (x *Exchange) Conclude(ctx context.Context, q db.Querier) error {
	return InOrder(ctx, q, []Func{x.Judge, x.Note})
}
