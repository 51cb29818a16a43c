package jobtype

import (
	"errors"
	"fmt"
	"strconv"
)

// The sentinels. Package jobs says which methods return them.
var (
	ErrNotFound         = errors.New("no such job")
	ErrNoSchedule       = errors.New("no such schedule")
	ErrScheduleDeclared = errors.New("the schedule is declared in code")
	ErrStatus           = errors.New("the job's status does not allow it")
	ErrUniqueTaken      = errors.New("another live job holds the unique key")
	ErrLeaseLost        = errors.New("the lease on the job is lost")
	ErrCancelRequested  = errors.New("the job was cancelled")
	ErrStopping         = errors.New("the runner is stopping")
	ErrTimeout          = errors.New("the attempt took longer than its timeout")
	ErrWorkerName       = errors.New("a live worker has this name")
	ErrBusy             = errors.New("the database is locked by another program, or by an open transaction of this one")
	ErrFull             = errors.New("the disk or the database is full")
	ErrDisk             = errors.New("the disk failed or a file size limit was reached")
	ErrReplaced         = errors.New("the database file was deleted or replaced while it was open")
	ErrUnavailable      = errors.New("the database server cannot be reached")
	ErrReadOnly         = errors.New("the database is read-only, as a standby is")
	ErrUnknownOutcome   = errors.New("whether the write was committed is not known")
	ErrMoved            = errors.New("the queue is closed by a move")
	ErrClosed           = errors.New("the store is closed")
	ErrKey              = errors.New("this program does not have the key")
)

// FullError is returned by an enqueue when as many jobs of its limit key, or of its queue, have not started as may: see LimitValues.Depth.
type FullError struct {
	Kind, Key string // of the bounded backlog; empty for one of a queue
	Queue     string // the queue with the bounded backlog; empty for one of a key
	Depth     int    // the bound
}

func (e *FullError) Error() string {
	if e.Queue != "" {
		return fmt.Sprintf("%d jobs of the queue %s have not started, as many as may", e.Depth, strconv.Quote(e.Queue))
	}
	return fmt.Sprintf("%d jobs of the kind %s and the limit key %s have not started, as many as may", e.Depth, strconv.Quote(e.Kind), strconv.Quote(e.Key))
}

// InvalidError is returned for bad input, before anything is written. It names the field, the value and the bound.
type InvalidError struct {
	Field string // the name of the field or option
	Value string // the offending value, shortened
	Must  string // the allowed values, as a phrase that follows "must"
}

func (e *InvalidError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s must %s", e.Field, e.Must)
	}
	return fmt.Sprintf("%s %s must %s", e.Field, e.Value, e.Must)
}

// SchemaError is returned by the first use of a database whose schema this program does not run on; nothing is read
// or written. When the schema is changed while a program runs, its runners stop within about a second, as if their context
// had ended, and return it.
type SchemaError struct {
	Have, Want int64   // the versions of the database's schema and of the schema that this program was built for
	RunsFrom   int64   // the oldest schema version whose programs run on the database; 0 when no migration says so
	Pending    []int64 // the migrations that this program knows and the database lacks

	// Unversioned reports that the database has the queue's tables without their versions, for example after a dump of the schema alone
	// was loaded: Migrate adopts the tables when they equal a version of the schema.
	Unversioned bool
}

func (e *SchemaError) Error() string {
	switch {
	case e.Unversioned:
		return fmt.Sprintf("the database has the queue's tables without their versions, as after a dump of the schema alone was loaded (version %d is needed): "+
			"run `sqluice up` or client.Migrate, which adopts the tables when they equal a version of the schema", e.Want)
	case e.Have == 0:
		return fmt.Sprintf("the database has no sqluice schema (version %d is needed): run `sqluice up` or client.Migrate", e.Want)
	case e.Have < e.Want:
		return fmt.Sprintf("the database's schema is version %d, older than the %d this program knows: run `sqluice up` or client.Migrate", e.Have, e.Want)
	case len(e.Pending) > 0:
		return fmt.Sprintf("the database's schema lacks the migration %d that this program knows: run `sqluice up` or client.Migrate", e.Pending[0])
	case e.RunsFrom > e.Want:
		return fmt.Sprintf("the database's schema is version %d, newer than the %d this program knows, and runs programs from version %d on: "+
			"update the program, or run `sqluice down` with the newer one", e.Have, e.Want, e.RunsFrom)
	default:
		return fmt.Sprintf("the database's schema is version %d, newer than the %d this program knows: update the program, or run `sqluice down` with the newer one", e.Have, e.Want)
	}
}

// refusedMost is the largest number of jobs that a RefusedError names.
const refusedMost = 1000

// RefusedError is returned by changes of jobs when the database refused some, as by a foreign key, a unique index, a CHECK or a trigger of
// the application. Changes of many jobs return it also for jobs that other transactions had locked. All others were changed.
type RefusedError struct {
	N    int     // number of refused jobs
	Jobs []int64 // their ids, the first 1,000 of them
	Err  error   // cause of the first refusal
}

// Add adds a job.
func (e *RefusedError) Add(id int64, cause error) {
	if e.N++; e.N == 1 {
		e.Err = cause
	}
	if len(e.Jobs) < refusedMost {
		e.Jobs = append(e.Jobs, id)
	}
}

// Merge adds the jobs of other.
func (e *RefusedError) Merge(other RefusedError) {
	if e.N == 0 {
		e.Err = other.Err
	}
	e.N += other.N
	e.Jobs = append(e.Jobs, other.Jobs[:min(len(other.Jobs), refusedMost-len(e.Jobs))]...)
}

func (e *RefusedError) Error() string {
	if e.N == 1 && len(e.Jobs) == 1 {
		return fmt.Sprintf("the database refused job %d: %v", e.Jobs[0], e.Err)
	}
	if len(e.Jobs) == 0 {
		return fmt.Sprintf("the database refused %d jobs: %v", e.N, e.Err)
	}
	return fmt.Sprintf("the database refused %d jobs, such as job %d: %v", e.N, e.Jobs[0], e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// shownValue is the number of characters of an offending value that an [InvalidError] shows.
const shownValue = 80

// NewInvalidError returns an [InvalidError] with the value shortened. must is a phrase that follows "must".
func NewInvalidError(field, value, must string) error {
	return &InvalidError{Field: field, Value: Shorten(value), Must: must}
}

// Shorten returns the first 80 characters of an offending value, as an error shows it.
func Shorten(value string) string {
	if runes := []rune(value); len(runes) > shownValue {
		return string(runes[:shownValue]) + "..."
	}
	return value
}
