package jobs

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned by every method that takes a job id when there is no such job.
	ErrNotFound = errors.New("no such job")

	// ErrStatus is returned by Retry, Cancel and Delete when the job's status does not allow it; the error names the
	// id and the status.
	ErrStatus = errors.New("the job's status does not allow it")

	// ErrUniqueTaken is returned by Retry when another live job holds the job's unique key.
	ErrUniqueTaken = errors.New("another live job holds the unique key")

	// ErrLeaseLost is returned by CompleteTx and SetProgress, and is the cause of a handler's cancelled context, when
	// the attempt is no longer held: its lease ran out, or it was rescued, finished or deleted.
	ErrLeaseLost = errors.New("the lease on the job is lost")

	// ErrCancelRequested is the cause of a handler's cancelled context when somebody cancelled the job.
	ErrCancelRequested = errors.New("the job was cancelled")

	// ErrStopping is the cause of a handler's cancelled context when its runner stops and the grace is over.
	ErrStopping = errors.New("the runner is stopping")

	// ErrTimeout is the cause of a handler's cancelled context when the attempt took longer than its timeout.
	ErrTimeout = errors.New("the attempt took longer than its timeout")

	// ErrWorkerName is returned by Run when a live worker has the same name.
	ErrWorkerName = errors.New("a live worker has this name")

	// ErrBusy is returned when another program held the database's write lock for longer than the engine waits.
	ErrBusy = errors.New("the database is locked by another program")

	// ErrFull is returned by writes when the disk, or the size allowed for the database, is full.
	ErrFull = errors.New("the disk or the database is full")

	// ErrDisk is returned when the disk failed, or a file size limit was reached.
	ErrDisk = errors.New("the disk failed or a file size limit was reached")

	// ErrReplaced is returned by writes when the database's file was deleted, moved or replaced while it was open.
	ErrReplaced = errors.New("the database file was deleted or replaced while it was open")

	// ErrUnavailable is returned when the database server cannot be reached, is starting or stopping, or takes no more
	// connections, or when all those of the program's own pool were in use for longer than the engine waits.
	ErrUnavailable = errors.New("the database server cannot be reached")

	// ErrReadOnly is returned by writes while the database server takes none, as a standby.
	ErrReadOnly = errors.New("the database is read-only, as a standby is")

	// ErrUnknownOutcome is returned by writes when the connection was lost during the commit and the server did not come
	// back in time to tell whether it happened, and when the disk failed during the commit of a database file, or the file
	// was moved or replaced meanwhile.
	ErrUnknownOutcome = errors.New("whether the write was committed is not known")

	// ErrMoved is returned by enqueues, by all that changes jobs or queues, and by Run when the queue was moved to another database, or is being moved here.
	ErrMoved = errors.New("the queue is closed by a move")

	// ErrClosed is returned after the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// InvalidError is returned for bad input, before anything is written. It names the field, the value and the bound.
type InvalidError struct {
	Field string // the name of the field or option
	Value string // the offending value, shortened
	Must  string // what is allowed, as a phrase that follows "must"
}

func (e *InvalidError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s must %s", e.Field, e.Must)
	}
	return fmt.Sprintf("%s %s must %s", e.Field, e.Value, e.Must)
}

// SchemaError is returned by the first use of a database whose schema this library was not built for; nothing is read
// or written. When the schema is changed while a program runs, its runners stop within about a second, as if their context
// had ended, and return it.
type SchemaError struct {
	Have, Want int64
}

func (e *SchemaError) Error() string {
	switch {
	case e.Have == 0:
		return fmt.Sprintf("the database has no sqluice schema (version %d is needed): run `sqluice up` or client.Migrate", e.Want)
	case e.Have < e.Want:
		return fmt.Sprintf("the database's schema is version %d, older than the %d this program knows: run `sqluice up` or client.Migrate", e.Have, e.Want)
	default:
		return fmt.Sprintf("the database's schema is version %d, newer than the %d this program knows: update the program, or run `sqluice down` with the newer one", e.Have, e.Want)
	}
}

// statusError is an ErrStatus that says what the status is.
type statusError string

func (e statusError) Error() string        { return string(e) }
func (e statusError) Is(target error) bool { return target == ErrStatus }

func invalid(field, value, must string) error {
	const most = 80
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "..."
	}
	return &InvalidError{Field: field, Value: value, Must: must}
}
