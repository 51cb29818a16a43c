package engine

import (
	"context"
	"database/sql"
	"io"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Store is the port that an engine (jobs/sqlite, jobs/postgres) fills and the rest of the queue works with. All methods may be
// called concurrently.
type Store interface {
	// Read runs fn against the committed state. fn's statements are each consistent by themselves. It serves runners: their
	// claims and their maintenance.
	Read(ctx context.Context, fn func(context.Context, db.Querier) error) error

	// Inspect does the same for all others: lists, searches, counts, Wait. The engine bounds how many of these run at once and
	// keeps connections for Read, so that no number of them delays it. fn must not call Inspect.
	Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error

	// Write runs fn in a transaction and returns after it is committed. An engine may commit several callers'
	// functions together and may run fn more than once, so fn sets what it returns anew at each run and has no
	// effect but through the Querier. fn must return the errors of its statements. The end of ctx stops no transaction
	// half-way: an engine goes on to the commit in spite of it, but not for long, or rolls back. The error then is ctx's, and always
	// tells whether the write happened: nothing is written unless it is [jobtype.ErrUnknownOutcome].
	Write(ctx context.Context, fn func(context.Context, db.Querier) error) error

	// Insert inserts jobs in a transaction, announces them, and returns their ids in order after the commit. Concurrent callers
	// share a transaction, and those whose jobs are alike a statement; the failure of one fails no other. The end of ctx counts
	// while the caller waits for the transaction, as for Write. An error for which [Refused] is true says why the database
	// inserted nothing. Jobs with a Claim are not announced.
	Insert(ctx context.Context, in Insert) ([]int64, error)

	// InsertWith is Write for a function that itself runs statements that insert jobs into one queue. Their commit announces new
	// work in the queue when fn reports that it inserted any.
	InsertWith(ctx context.Context, queue string, fn InsertFunc) error

	// Exchange runs a cycle of a runner. The end of ctx counts as for Write. When the connection breaks, its outcome may be unknown:
	// [jobtype.ErrUnknownOutcome].
	Exchange(ctx context.Context, x *Exchange) error

	// ClaimJobs claims jobs by the Querier of an Exchange. committed, when not nil, is called once its transaction is committed.
	ClaimJobs(ctx context.Context, q db.Querier, arg db.ClaimJobsParams) (rows []db.ClaimJobsRow, committed func(), err error)

	// CompleteJobs records, by the Querier of an Exchange, that attempts ended well and without a result. It returns how many of them
	// the worker still held; the others it leaves alone.
	CompleteJobs(ctx context.Context, q db.Querier, c Completion) (int64, error)

	// HasClaimableJobs reports, by the Querier of a Read, whether a queue may have jobs to claim.
	HasClaimableJobs(ctx context.Context, q db.Querier, arg db.HasClaimableJobsParams) (bool, error)

	// ClaimableQueues returns, by the Querier of a Read, those of many queues that may have jobs of the kinds, a JSON list, to claim,
	// and maybe others. It takes one or two statements.
	ClaimableQueues(ctx context.Context, q db.Querier, kinds string, queues []string) ([]string, error)

	// Backoff returns a back-off for a producer beside so many live workers.
	Backoff(workers func() int64) Backoff

	// Now is the clock that leases and due times are compared with.
	Now() time.Time

	// NowWithin is Now for a caller that may be the first: an engine that must ask for the time asks no longer than until ctx ends.
	NowWithin(ctx context.Context) time.Time

	// SQLTx returns a caller's transaction of database/sql, for Join.
	SQLTx(tx *sql.Tx) jobtype.Tx

	// Join returns the queue's statements inside a caller's transaction, which must be one of this engine.
	Join(tx jobtype.Tx) (db.Querier, error)

	// AnnounceCommit comes before statements that change jobs in a caller's transaction, which was given to Join: the commit then
	// announces the signals, if the engine's listeners do not see it by themselves. queue, unless empty, is the only one with new
	// work. The error is an [jobtype.InvalidError] when jobs must not be changed at the transaction's isolation level.
	AnnounceCommit(ctx context.Context, tx jobtype.Tx, signals core.Signal, queue string) error

	// BeginOwn begins a transaction on a separate connection. The end of ctx rolls it back.
	BeginOwn(ctx context.Context) (OwnTx, error)

	// Listen returns a channel that gets a value after a commit, here or in another process, that may have made
	// one of the signals true. Several commits may give one value; some values are false alarms. An engine that can
	// tell leaves out work for other queues than these. stop ends it.
	Listen(signals core.Signal, queues []string) (wake <-chan struct{}, stop func())

	// AnnouncesEnds reports whether JobEnded reaches listeners after every commit that ends jobs, in whatever process. Otherwise it
	// reaches them after this store's own writes only: Wait then polls, and listeners for ChangesOnly are woken within about a second.
	AnnouncesEnds() bool

	// Announce tells listeners, here and in other processes, what a commit of this process made true: other processes of JobEnded
	// only where AnnouncesEnds is true.
	Announce(signals core.Signal)

	// HoldWorkerLock takes a new lock that says that a worker lives, for as long as the process lives or until release, and
	// returns the key by which other processes find it. ended tells release that the worker's row says that it ended, so that
	// the lock is no longer needed; else other processes find the lock free and take the worker for dead. An empty key means
	// that the store has no locks, so that only the lease can tell.
	HoldWorkerLock(ctx context.Context) (key string, release func(ended bool) error, err error)

	// FreeWorkerLocks returns those of other workers' locks that TakeWorkerLock is worth trying on: at least all whose worker is
	// dead.
	FreeWorkerLocks(ctx context.Context, keys []string) ([]string, error)

	// TakeWorkerLock tries the lock of another worker. After LockTaken the caller holds the lock until done, which also removes what is
	// left of it.
	TakeWorkerLock(ctx context.Context, key string) (state LockState, done func(), err error)

	// LeaveGoodbye says that the worker which this process registered with a lock stops in good order, though it could not record
	// all: its jobs are then released in place of being rescued as after a crash. It does not wait for the database, and comes
	// before the release of the lock.
	LeaveGoodbye(key string, worker int64) error

	// SaidGoodbye reports whether the worker whose lock the caller has taken left a goodbye that is still to be heeded.
	SaidGoodbye(key string) (bool, error)

	// LocksRows reports whether ErrBusy may be due to some of the rows that a write needs: the others can be written without them.
	// Otherwise one writer locks the whole database.
	LocksRows() bool

	// Schema reads what the database has of the migrations.
	Schema(ctx context.Context) (Schema, error)

	// Migrate runs the migrations that the database lacks, MigrateDown undoes the last one; both return the names of the
	// migrations they ran, and are safe in several processes at once. Migrate logs, before it begins, which programs are refused after it.
	// Where the queue's tables are without their versions, it records those of the schema that they equal, and returns an error when they
	// equal none.
	Migrate(ctx context.Context) (Migrated, error)
	MigrateDown(ctx context.Context) (string, error)

	// Columns lists the columns of the queue's tables that can be written, those of the database's owner included.
	Columns(ctx context.Context) ([]Column, error)

	// ReadColumn returns the values of a column of a table with ids: those of at most n rows after an id, in the order of the ids. A value
	// that is bytes is an error on SQLite, and its hexadecimal text on PostgreSQL.
	ReadColumn(ctx context.Context, c Column, after, n int64) ([]ColumnValue, error)

	// WriteColumn sets such values, in one transaction. A row that is not there is left out.
	WriteColumn(ctx context.Context, c Column, values []ColumnValue) error

	// Settle waits until every transaction that wrote to the queue before the call has ended.
	Settle(ctx context.Context) error

	// Recount corrects the counts of jobs that ended, by reading all jobs, and returns how many counts were wrong. Others write
	// meanwhile, and what they write is counted. One recount of a database goes on at a time: another one waits.
	Recount(ctx context.Context) (wrong int64, err error)

	// RecountIn is Recount by the Querier of a transaction that writes. Other recounts wait for the end of the transaction. It may
	// return [jobtype.ErrBusy] in place of waiting for another recount.
	RecountIn(ctx context.Context, q db.Querier) (wrong int64, err error)

	// ReserveIDs makes new jobs, errors and workers get ids above these, after rows with ids of their own were added.
	ReserveIDs(ctx context.Context, last db.GetLastIDsRow) error

	// FreeIDs removes, by the Querier of a Write, rows that are no jobs and keep ids from being given again, as far as later jobs keep
	// those ids too.
	FreeIDs(ctx context.Context, q db.Querier) error

	// Backup writes a consistent copy of the database to a new file while everything runs.
	Backup(ctx context.Context, path string) error

	// BackupTo writes such a copy to w.
	BackupTo(ctx context.Context, w io.Writer) error

	// EngineVersion names the engine and its version, for people.
	EngineVersion(ctx context.Context) (string, error)

	// CanRetry reports whether err is a state of the database that may pass (busy, full, unreachable), as opposed
	// to a fault of the statement.
	CanRetry(err error) bool

	// RefusesRow reports whether err says that the database refuses a row that a statement writes, as for a foreign key, a unique
	// index, a CHECK or a trigger of the application: without that row the statement may succeed.
	RefusesRow(err error) bool

	// KeyTaken reports whether such an error says that another row has the key of a unique index: it passes when that row goes on.
	KeyTaken(err error) bool

	// Observer returns the observer that is told what happens, or nil. It is the same for as long as the store lives.
	Observer() *jobtype.Observer

	// Close waits for writes under way and closes the connections.
	Close() error
}

// Completion is what attempts that ended well have in common, and the ids of their jobs, which may be sorted by whom it is given to.
type Completion struct {
	Now, WorkerID, Attempt int64
	IDs                    []int64
}

// OwnTx is a transaction that an engine began for jobs.Client.Tx.
type OwnTx interface {
	jobtype.Tx

	// Commit ends the transaction. The error says whether it was committed: when that is not known it is
	// jobtype.ErrUnknownOutcome.
	Commit(ctx context.Context) error

	// Rollback undoes the transaction, also after a Commit that failed.
	Rollback(ctx context.Context) error
}
