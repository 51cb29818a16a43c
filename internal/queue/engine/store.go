package engine

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Store is the port that an engine (jobs/sqlite, jobs/postgres) implements and the rest of the queue uses. All methods, and those of its
// parts, may be called concurrently.
type Store interface {
	// Read runs fn against the committed state. Each of fn's statements is consistent by itself. It serves runners: their
	// claims and their maintenance.
	Read(ctx context.Context, fn func(context.Context, db.Querier) error) error

	// Inspect does the same for everything else: lists, searches, counts, Wait. The engine bounds how many of these run at
	// once and keeps connections for Read, so that they never delay it. fn must not call Inspect.
	Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error

	// Write runs fn in a transaction and returns after it is committed. An engine may commit several callers' functions together and
	// may run fn more than once, so fn sets its results anew at each run and has no effect except through the Querier. fn must
	// return the errors of its statements. The end of ctx stops no transaction half-way: an engine still goes on to the commit, but
	// not for long, or rolls back. The error then is ctx's, and always tells whether the write happened: nothing is written unless
	// it is [jobtype.ErrUnknownOutcome].
	Write(ctx context.Context, fn func(context.Context, db.Querier) error) error

	// Insert inserts jobs in a transaction, announces them, and returns their ids in order after the commit. Concurrent callers
	// share a transaction, and callers with like jobs a statement; the failure of one fails no other. The end of ctx counts
	// while the caller waits for the transaction, as for Write. An error for which [Refused] is true says why the database
	// inserted nothing. Jobs with a Claim are not announced.
	Insert(ctx context.Context, in Insert) ([]int64, error)

	// InsertWith is Write for a function that itself runs the statements that insert jobs into one queue. The commit announces
	// new work in the queue when fn reports that it inserted any.
	InsertWith(ctx context.Context, queue string, fn InsertFunc) error

	// Exchange carries out a runner's plan in one transaction. The end of ctx counts as for Write. When the connection breaks, its
	// outcome may be unknown: [jobtype.ErrUnknownOutcome].
	Exchange(ctx context.Context, p Plan) (Outcome, error)

	// Now returns the time of the clock for leases and due times.
	Now() time.Time

	// NowWithin is Now for a caller that may be the first: an engine that must ask for the time asks at most until ctx ends.
	NowWithin(ctx context.Context) time.Time

	// Listen returns a channel that gets a value after a commit, here or in another process, that may have announced
	// one of the signals. Several commits may give one value; some values are false alarms. An engine that can tell
	// leaves out work for other queues than these. stop ends it.
	Listen(signals core.Signal, queues []string) (wake <-chan struct{}, stop func())

	// AnnouncesEnds reports whether JobEnded reaches listeners after every commit that ends jobs, in any process. Otherwise it reaches
	// them after this store's own writes only: Wait then polls, and listeners for ChangesOnly are woken within about a second.
	AnnouncesEnds() bool

	// Announce sends the signals of a commit of this process to listeners, here and in other processes; JobEnded reaches other
	// processes only where AnnouncesEnds is true.
	Announce(signals core.Signal)

	// LocksRows reports whether some locked rows of a write may cause ErrBusy, so that the others can be written without them.
	// Otherwise one writer locks the whole database.
	LocksRows() bool

	// CanRetry reports whether err is a state of the database that may pass (busy, full, unreachable), and not an error
	// of the statement.
	CanRetry(err error) bool

	// RefusesRow reports whether err says that the database refuses a row that a statement writes, as for a foreign key, a unique
	// index, a CHECK or a trigger of the application: the statement may succeed without that row.
	RefusesRow(err error) bool

	// KeyTaken reports whether such an error names a taken key of a unique index: the refusal ends when the other row leaves the index.
	KeyTaken(err error) bool

	// Claims, Transactions, WorkerLocks, Migrations and Upkeep return further parts of the engine, the same for as long as the store lives.
	Claims() Claims
	Transactions() Transactions
	WorkerLocks() WorkerLocks
	Migrations() Migrations
	Upkeep() Upkeep

	// Observer returns the observer of the store's events, or nil. It is the same for as long as the store lives.
	Observer() *jobtype.Observer

	// Close waits for writes under way and closes the connections.
	Close() error
}

// OwnTx is a transaction that an engine began for jobs.Client.Tx.
type OwnTx interface {
	jobtype.Tx

	// Commit ends the transaction. The error says whether it was committed: when that is unknown it is
	// jobtype.ErrUnknownOutcome.
	Commit(ctx context.Context) error

	// Rollback undoes the transaction, also after a Commit that failed.
	Rollback(ctx context.Context) error
}
