package engine

import (
	"context"
	"database/sql"
	"io"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Claims is the part of a store that claims jobs and ends them, for a runner.
type Claims interface {
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
}

// Transactions is the part of a store that joins transactions of a caller, and begins transactions for one.
type Transactions interface {
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
}

// WorkerLocks is the part of a store that tells live workers from dead ones.
type WorkerLocks interface {
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
}

// Migrations is the part of a store that knows the schema of its database.
type Migrations interface {
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
}

// Upkeep is the part of a store that copies, counts and moves whole databases.
type Upkeep interface {
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
}
