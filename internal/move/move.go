// Package move moves a queue from one database to another, of the same engine or not.
//
// Both databases are closed meanwhile, each by a row in its table moves with the same token: the source, so that no added
// job is left behind, and the target, so that no job runs before the copy is complete. After an interrupted move these
// rows show its state, and the next call of [Run] continues from there:
//
//	source       target         next step
//	open         open           check both sides, close the source
//	out          open           wait for writes to the source, close the target
//	out          in, preparing  wait for writes to the target, which must be empty; mark it
//	out          in             add what the target lacks, compare, mark the source
//	out, moved   in             the same, because the target may have lost something since; open the target
//	out, moved   open           nothing
//
// The source is marked as ended before the target is opened. So an unmarked source was moved nowhere yet, and
// a marked one is never copied a second time, even when the target has done and pruned all jobs since.
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
	Name  string // in messages and in the other side's table moves, which other users can read: without a password
	Store engine.Store

	role string // source or target, for errors
}

// client returns a client of the side's queue.
func (s Side) client() *jobs.Client { return jobs.New(engine.SealStore(s.Store)) }

// Config describes a move.
type Config struct {
	From, To Side
	KeepOpen bool // the source is open again in the end, with all its jobs: a copy

	// DropColumns leaves behind what is in columns that the owner of a side has added and the other side has not, or that are in a table
	// without ids. Otherwise such a column is refused. Columns of the tables with ids that both sides have are copied.
	DropColumns bool

	Progress func(Progress) // called now and then; may be nil
	Logger   *slog.Logger   // for workers that are found dead

	batch int // rows in a transaction; set by tests
}

// Progress describes the current step.
type Progress struct {
	Doing   string
	Rows    int64 // so far
	Percent int64 // of the ids, which is about that of the rows; -1 when unknown
}

// Report is the result of a move.
type Report struct {
	Sums  []Sum    // of every table; none when the move had ended before
	Left  []string // the owner's columns whose values were not copied, as table.column
	Kept  bool     // the source is open
	Since int64    // unix microseconds: when the source was marked as ended, if that was before this call
}

var (
	// ErrSame is returned when source and target are one database.
	ErrSame = errors.New("source and target are the same database")

	// ErrLive is returned when a worker of the source, or of the target, lives. The error names it.
	ErrLive = errors.New("workers are alive: stop them first")

	// ErrNotEmpty is returned when the target has rows.
	ErrNotEmpty = errors.New("the target must be empty")

	// ErrElsewhere is returned when one of the sides is closed by another move.
	ErrElsewhere = errors.New("it is closed by another move")

	// ErrDiffer is returned when the sides differ in the end. The target stays closed.
	ErrDiffer = errors.New("source and target differ")
)

// ElsewhereError is [ErrElsewhere] for a side that was closed before this move.
type ElsewhereError struct {
	Name string // the side
	In   bool   // as the target of a move that is not complete
	Back bool   // it is this move's target, and was the source of the one that filled this move's source

	err error
}

func (e *ElsewhereError) Error() string { return e.err.Error() }
func (e *ElsewhereError) Unwrap() error { return e.err }

// UnfinishedError is an error after which the source is closed, and perhaps the target. [Run] continues from there, or
// [Reopen] gives up.
type UnfinishedError struct{ Err error }

func (e *UnfinishedError) Error() string { return e.Err.Error() }
func (e *UnfinishedError) Unwrap() error { return e.Err }

// mover is one call of Run.
type mover struct {
	Config
	token string // of both sides
	mark  string // what the source's token ends with
	own   ownColumns
}

// Run moves the queue, or continues a move that was interrupted. Errors name the side.
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
	state, err := m.look(ctx)
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
		return m.again(ctx, state)
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
	if err := m.end(ctx); err != nil {
		return Report{}, &UnfinishedError{err}
	}
	return Report{Sums: sums, Left: m.own.left, Kept: m.KeepOpen}, nil
}

// fill makes the target equal to the source. It returns the sums also with an error that is ErrDiffer.
func (m *mover) fill(ctx context.Context) ([]Sum, error) {
	if err := m.copyAll(ctx); err != nil {
		return nil, err
	}
	if err := m.copyColumns(ctx); err != nil {
		return nil, err
	}
	if _, err := inspect.New(m.To.client()).Recount(ctx); err != nil { // rows that are added with their status are in no count
		return nil, m.To.fault(err)
	}
	sums, err := m.compare(ctx)
	if err != nil {
		return sums, err
	}
	return sums, m.compareColumns(ctx)
}

// fault is an error of one side.
func (s Side) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", s.role, s.Name, err)
}
