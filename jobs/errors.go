package jobs

import "github.com/sqluice/sqluice/jobs/jobtype"

// The errors of the library, for [errors.Is].
var (
	// ErrNotFound is returned for an unknown job id by every method that takes one.
	ErrNotFound = jobtype.ErrNotFound

	// ErrNoSchedule is returned for an unknown schedule by every method that takes a schedule's name.
	ErrNoSchedule = jobtype.ErrNoSchedule

	// ErrScheduleDeclared is returned by [Client.PutSchedule] for a schedule that a program declares in code; the error names its workers.
	ErrScheduleDeclared = jobtype.ErrScheduleDeclared

	// ErrStatus is returned by Retry, Cancel, Update and Delete when the job's status does not allow it; the error names the
	// id and the status.
	ErrStatus = jobtype.ErrStatus

	// ErrUniqueTaken is returned by Retry when another live job holds the job's unique key.
	ErrUniqueTaken = jobtype.ErrUniqueTaken

	// ErrLeaseLost is returned by CompleteTx and SetProgress, and is the cause of a handler's cancelled context, when
	// the attempt is no longer held: its lease ran out, or it was rescued, finished or deleted.
	ErrLeaseLost = jobtype.ErrLeaseLost

	// ErrCancelRequested is the cause of a handler's cancelled context when a caller cancelled the job.
	ErrCancelRequested = jobtype.ErrCancelRequested

	// ErrStopping is the cause of a handler's cancelled context when its runner stops and the grace is over.
	ErrStopping = jobtype.ErrStopping

	// ErrTimeout is the cause of a handler's cancelled context when the attempt took longer than its timeout.
	ErrTimeout = jobtype.ErrTimeout

	// ErrKey is the cause of a failed decryption: the client lacks the key, or has another with its id, or the value was changed.
	ErrKey = jobtype.ErrKey

	// ErrWorkerName is returned by Run when a live worker has the same name.
	ErrWorkerName = jobtype.ErrWorkerName

	// ErrBusy is returned when another program, or an open transaction of this one, held the database's write lock, or a row's, for longer
	// than the engine waits. Use [Client.With] within a transaction.
	ErrBusy = jobtype.ErrBusy

	// ErrFull is returned by writes when the disk, or the size allowed for the database, is full.
	ErrFull = jobtype.ErrFull

	// ErrDisk is returned when the disk failed, or a file size limit was reached.
	ErrDisk = jobtype.ErrDisk

	// ErrReplaced is returned by writes when the database's file was deleted, moved or replaced while it was open.
	ErrReplaced = jobtype.ErrReplaced

	// ErrUnavailable is returned when the database server cannot be reached, is starting or stopping, or accepts no
	// more connections, or when all connections of the program's own pool were in use for longer than the engine waits.
	ErrUnavailable = jobtype.ErrUnavailable

	// ErrReadOnly is returned by writes while the database server accepts none, such as a standby.
	ErrReadOnly = jobtype.ErrReadOnly

	// ErrUnknownOutcome is returned by writes when the caller's context ended during the commit, when the connection was lost during it and
	// the server did not come back in time to report the outcome, when the server stopped waiting for its synchronous standbys after the
	// commit, and when the disk failed during the commit of a database file, or the file was moved or replaced meanwhile.
	ErrUnknownOutcome = jobtype.ErrUnknownOutcome

	// ErrMoved is returned by enqueues, by all changes of jobs or queues, and by Run when the queue was moved to another database, or is
	// being moved here.
	ErrMoved = jobtype.ErrMoved

	// ErrClosed is returned after the store was closed.
	ErrClosed = jobtype.ErrClosed
)

type (
	// InvalidError is returned for bad input, before anything is written. It names the field, the value and the bound.
	InvalidError = jobtype.InvalidError

	// FullError is returned by an enqueue when as many jobs of its limit key or queue have not started as may: see [Limit] and
	// [Client.SetQueueLimit].
	FullError = jobtype.FullError

	// RefusedError is returned by changes of jobs when the database refused some, as by a foreign key, a unique index, a CHECK or a trigger
	// of the application. Changes of many jobs return it also for jobs that other transactions had locked. All others were changed.
	RefusedError = jobtype.RefusedError

	// OutputError is the error of a handler that ran a program: it holds the program's error and the end of its output.
	// Values that the kind marks as sensitive (see [Kind.Sensitive]) are withheld from it before it is shortened.
	OutputError = jobtype.OutputError

	// SchemaError is returned by the first use of a database whose schema this program does not run on; nothing is read
	// or written. When the schema is changed while a program runs, its runners stop within about a second, as if their
	// context had ended, and return it.
	SchemaError = jobtype.SchemaError
)
