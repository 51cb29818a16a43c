package lifecycle

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// StatusWaiting is the From of a job that was scheduled or pending.
	StatusWaiting jobtype.Status = "waiting"

	// StatusRemoved is the To of a transition that removes the job's row.
	StatusRemoved jobtype.Status = "removed"
)

// Ref names a job for the reactions to a transition. UniqueKey is empty for none.
type Ref struct {
	Queue, Kind, UniqueKey string
	Limit                  limitRef
}

// limitRef is the limit key of a job. The zero value: it has none.
type limitRef struct {
	key string
	has bool
}

// Limit returns the limit key of a column.
func Limit(key *string) limitRef {
	if key == nil {
		return limitRef{}
	}
	return limitRef{*key, true}
}

func refOf(job *jobtype.Job) Ref { return Ref{job.Queue, job.Kind, job.UniqueKey, Limit(job.LimitKey)} }

// Transition is one change of a job's state. From and To are equal for a job whose end an earlier transaction recorded and left to this
// one: see Transitions.HoldSuccessors.
type Transition struct {
	Job      Ref
	From, To jobtype.Status
	Fate     Fate // the fate of the attempt that the change ended; FateNone without one
}

// repeated is a transition that several jobs made.
type repeated struct {
	Transition
	times int64
}

// Transitions collects the changes that one transaction makes to the states of jobs. Each function that ends an attempt or a job, or makes
// a job wait again, adds one for each job: LeaveRunning, Requeue and end. Enqueues, claims, promotions and updates add none. The caller
// runs Conclude before the commit, which runs the reactions. Triggers count the rows that a DELETE removes, because they see the deletes
// of plain SQL as well. One goroutine uses it.
type Transitions struct {
	// HoldSuccessors leaves the release of successors to the transaction that finds the ends recorded: CompleteTx works in a caller's
	// transaction, which may last and would keep the successors locked.
	HoldSuccessors bool

	reactions []reaction
	list      []repeated
	handled   int                 // the number of entries of list that the early reactions have handled
	first     []db.Call           // sent before the statements that make lanes ready
	opened    []lane              // lanes that have got waiting jobs, until they are opened
	closed    map[[2]string]int64 // until when kinds and limit keys are closed, until that is written
	released  int64               // the number of jobs or lanes that the reactions made ready
	unknown   bool                // an earlier write of unknown outcome may have ended attempts, whose jobs may run again
	changes   string              // the items of AddJobChanges: see count
}

// NewTransitions returns the Transitions of a transaction that has changed nothing yet.
func NewTransitions() *Transitions { return &Transitions{reactions: reactions} }

// reaction is a consequence of transitions that belongs to their transaction.
type reaction struct {
	// early is set for a reaction that changes jobs: later statements of the transaction, as the claim of a cycle, must see that.
	early bool
	run   func(ctx context.Context, q db.Querier, now int64, t *Transitions, made []repeated) error
}

// reactions holds all reactions. A new one is a file and a line.
var reactions = []reaction{
	{early: true, run: releaseSuccessors},
	{early: true, run: cancelSequences},
	{early: true, run: openLanes},
	{run: count},
}

// LeaveRunning records a job whose attempt ended: each statement that ends one calls it.
func (t *Transitions) LeaveRunning(job Ref, fate Fate, to jobtype.Status) {
	t.add(Transition{job, jobtype.StatusRunning, to, fate})
}

// Requeue records a job that became pending without an attempt that ended.
func (t *Transitions) Requeue(job Ref, from jobtype.Status) {
	t.add(Transition{job, from, jobtype.StatusPending, FateNone})
}

// end records a job that reached a final status, or whose row was removed, without an attempt that ended.
func (t *Transitions) end(job Ref, from, to jobtype.Status) {
	t.add(Transition{job, from, to, FateNone})
}

// lookBack is the number of the latest entries that a transition is compared with: jobs of one kind that end in one way make one entry.
const lookBack = 8

func (t *Transitions) add(made Transition) {
	for i := len(t.list) - 1; made.Job.UniqueKey == "" && i >= max(t.handled, len(t.list)-lookBack); i-- {
		if t.list[i].Transition == made {
			t.list[i].times++
			return
		}
	}
	t.list = append(t.list, repeated{made, 1})
}

// Signals returns the signals that the commit must announce.
func (t *Transitions) Signals() (signals core.Signal) {
	switch {
	case t.unknown: // that write has announced nothing
		signals = core.WorkReady | core.JobEnded
	case t.released > 0:
		signals = core.WorkReady
	}
	for _, made := range t.list {
		if made.To == jobtype.StatusPending || made.To == jobtype.StatusScheduled {
			signals |= core.WorkReady
		} else {
			signals |= core.JobEnded
		}
	}
	return signals
}

// Conclude runs the reactions. now is in microseconds. It runs no statement when nothing was recorded.
func (t *Transitions) Conclude(ctx context.Context, q db.Querier, now int64) error {
	changes, err := t.Changes(ctx, q, now)
	if err != nil || changes == "" {
		return err
	}
	if err := q.AddJobChanges(ctx, db.AddJobChangesParams{At: now, Items: changes}); err != nil {
		return fmt.Errorf("count the outcomes of jobs: %w", err)
	}
	return nil
}

// Changes runs the reactions except for the last statement, AddJobChanges, and returns its items; empty: nothing is counted. An engine
// can send that statement with the commit.
func (t *Transitions) Changes(ctx context.Context, q db.Querier, now int64) (string, error) {
	if err := t.ReactEarly(ctx, q, now); err != nil {
		return "", err
	}
	err := t.react(ctx, q, now, false, t.list)
	return t.changes, err
}

// ReactEarly runs the early reactions to the transitions since its last call, so that later statements of the transaction see their effects.
func (t *Transitions) ReactEarly(ctx context.Context, q db.Querier, now int64) error {
	for {
		made := t.list[t.handled:]
		t.handled = len(t.list)
		if err := t.react(ctx, q, now, true, made); err != nil || t.handled == len(t.list) {
			return err
		}
		// A reaction has ended jobs.
	}
}

// unhandled reports whether an early reaction has yet to run.
func (t *Transitions) unhandled() bool { return t.handled < len(t.list) }

func (t *Transitions) react(ctx context.Context, q db.Querier, now int64, early bool, made []repeated) error {
	for _, r := range t.reactions {
		if r.early != early || len(made) == 0 && len(t.opened) == 0 {
			continue
		}
		if err := r.run(ctx, q, now, t, made); err != nil {
			return err
		}
	}
	return nil
}
