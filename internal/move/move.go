// Package move moves a queue from one database to another, of the same engine or not.
//
// A move closes both databases, each by a row in its table moves with the same token. No job is added to a closed source, so none is left
// behind, and no job of a closed target runs before the copy is complete. The rows hold the state of an interrupted move, which the next
// call of [Run] continues:
//
//	source       target         next step
//	open         open           check both sides, close the source
//	out          open           wait for writes to the source, close the target
//	out          in, preparing  wait for writes to the target, which must be empty; mark it
//	out          in             add the missing rows, compare, mark the source
//	out, moved   in             the same, because the target may have lost rows; open the target
//	out, moved   open           nothing
//
// A move marks the source before it opens the target. So an unmarked source was not moved yet, and a marked one is never copied again,
// even if the target has done and pruned all jobs.
package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Side is one of the two databases.
type Side struct {
	Name  string // without a password: messages and the other side's table moves have it
	Store engine.Store

	role string // source or target, for errors
}

// client returns a client of the side's queue.
func (s Side) client() *jobs.Client { return jobs.New(engine.SealStore(s.Store)) }

// Config describes a move.
type Config struct {
	From, To Side
	KeepOpen bool // open the source again at the end, with all its jobs: a copy

	// DropColumns drops the values of columns that the owner of one side has added to it alone, or to a table without ids. Without
	// DropColumns such a column is an error. Own columns of tables with ids that both sides have are copied.
	DropColumns bool

	Progress func(Progress) // called repeatedly, by one goroutine; may be nil
	Logger   *slog.Logger   // gets the rescues of dead workers' jobs

	batch int // rows in a transaction; set by tests
}

// Progress describes the current step.
type Progress struct {
	Doing   string
	Rows    int64 // so far
	Percent int64 // the copied part of the ids, about that of the rows; -1 if unknown
}

// Report is the result of a move.
type Report struct {
	Sums       []Sum    // the sums of every table; empty if the move had ended before
	Left       []string // the owner's columns whose values were not copied, as table.column
	SourceOpen bool     // the source is open again
	Since      int64    // the mark of the source in Unix microseconds, if the move had ended before; otherwise 0
}

var (
	// ErrSame is the error for a source and a target that are one database.
	ErrSame = errors.New("source and target are the same database")

	// ErrLive is the error for live workers of the source or the target. The error names them.
	ErrLive = errors.New("workers are alive: stop them first")

	// ErrNotEmpty is the error for a target that has rows.
	ErrNotEmpty = errors.New("the target must be empty")

	// ErrElsewhere is the error for a side that another move has closed.
	ErrElsewhere = errors.New("another move has closed the queue")

	// ErrDiffer is the error for sides that differ after the copy. The target stays closed.
	ErrDiffer = errors.New("source and target differ")
)

// ElsewhereError is [ErrElsewhere] for a side that was closed before this move.
type ElsewhereError struct {
	Name      string // the side
	IsTarget  bool   // the side is the target of an incomplete move
	IsReverse bool   // the side is this move's target, and was the source of the move that filled this move's source

	err error
}

func (e *ElsewhereError) Error() string { return e.err.Error() }
func (e *ElsewhereError) Unwrap() error { return e.err }

// UnfinishedError is an error after which the source, and perhaps the target, stays closed. [Run] continues the move, [Reopen] gives it up.
type UnfinishedError struct{ Err error }

func (e *UnfinishedError) Error() string { return e.Err.Error() }
func (e *UnfinishedError) Unwrap() error { return e.Err }

// mover holds the state of one call of Run.
type mover struct {
	Config
	token string // the token of the source and the target
	mark  string // the end of the source's token
	own   ownColumns
}

// Run moves the queue, or continues an interrupted move. Errors name the side.
func Run(ctx context.Context, config Config) (Report, error) {
	m := &mover{Config: config}
	m.From.role, m.To.role = "source", "target"
	if m.batch == 0 {
		m.batch = mostInBatch
	}
	if m.Progress == nil {
		m.Progress = func(Progress) {}
	}
	if m.Logger == nil {
		m.Logger = slog.New(slog.DiscardHandler)
	}
	for _, side := range []Side{m.From, m.To} {
		if err := side.client().CheckSchema(ctx); err != nil {
			return Report{}, side.fault(err)
		}
	}
	state, err := m.readState(ctx)
	if err != nil {
		return Report{}, err
	}
	if state.step != stepEnded {
		if err := m.checkColumns(ctx); err != nil {
			return Report{}, err
		}
	}
	switch state.step {
	case stepEnded:
		return m.repeatFinish(ctx, state)
	case stepCloseSource:
		err = m.closeSource(ctx)
	case stepCloseTarget:
		err = m.closeTarget(ctx)
	}
	if err != nil {
		return Report{}, err
	}
	sums, err := m.fill(ctx)
	if err != nil {
		return Report{Sums: sums}, &UnfinishedError{err}
	}
	if err := m.finish(ctx); err != nil {
		return Report{}, &UnfinishedError{err}
	}
	return Report{Sums: sums, Left: m.own.notCopied, SourceOpen: m.KeepOpen}, nil
}

// fill copies the missing rows and compares the sides. It returns the sums also with ErrDiffer.
func (m *mover) fill(ctx context.Context) ([]Sum, error) {
	if err := m.copyAll(ctx); err != nil {
		return nil, err
	}
	if err := m.copyColumns(ctx); err != nil {
		return nil, err
	}
	if _, err := inspect.New(m.To.client()).Recount(ctx); err != nil { // the counts lack rows that were added with a later status
		return nil, m.To.fault(err)
	}
	sums, err := m.compare(ctx)
	if err != nil {
		return sums, err
	}
	return sums, m.compareColumns(ctx)
}

// fault adds the role and the name of the side to an error.
func (s Side) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", s.role, s.Name, err)
}
