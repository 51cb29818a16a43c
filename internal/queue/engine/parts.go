package engine

import (
	"context"
	"database/sql"
	"io"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Claims is the part of a store that looks for jobs to claim and ends jobs, by the Queriers of its transactions, for a runner.
type Claims interface {
	Completer

	// HasClaimableJobs reports, by the Querier of a Read, whether a queue may have jobs to claim.
	HasClaimableJobs(ctx context.Context, q db.Querier, arg db.HasClaimableJobsParams) (bool, error)

	// ClaimableQueues returns, by the Querier of a Read, the queues of many that may have claimable jobs of the kinds, a JSON list,
	// and maybe some others. It takes one or two statements.
	ClaimableQueues(ctx context.Context, q db.Querier, kinds string, queues []string) ([]string, error)

	// Backoff returns a back-off for a producer. workers returns the number of live workers.
	Backoff(workers func() int64) Backoff

	// PrefetchBytes returns the approximate largest size of the payloads that claims of one queue should hold before slots are free.
	PrefetchBytes() int
}

// Transactions is the part of a store that joins a caller's transactions, and begins transactions for a caller.
type Transactions interface {
	// SQLTx returns a caller's transaction of database/sql, for Join.
	SQLTx(tx *sql.Tx) jobtype.Tx

	// Join returns the queue's statements inside a caller's transaction, which must be one of this engine.
	Join(tx jobtype.Tx) (db.Querier, error)

	// AnnounceCommit comes before statements that change jobs in a caller's transaction, which was given to Join: the commit then
	// announces the signals, if the engine's listeners do not see the commit by themselves. queue, unless empty, is the only queue
	// with new work. The error is an [jobtype.InvalidError] when jobs must not be changed at the transaction's isolation level.
	AnnounceCommit(ctx context.Context, tx jobtype.Tx, signals core.Signal, queue string) error

	// BeginOwn begins a transaction on a separate connection. The end of ctx rolls it back.
	BeginOwn(ctx context.Context) (OwnTx, error)
}

// WorkerLocks is the part of a store that tells live workers from dead ones.
type WorkerLocks interface {
	// HoldWorkerLock takes a new lock that says that a worker lives, for as long as the process lives or until release, and
	// returns the key by which other processes find it. ended tells release that the worker's row says that it ended, so that
	// the lock is no longer needed; else other processes find the lock free and consider the worker dead. An empty key means
	// that the store has no locks, so that only the lease decides.
	HoldWorkerLock(ctx context.Context) (key string, release func(ended bool) error, err error)

	// FreeWorkerLocks returns the keys of other workers' locks for which TakeWorkerLock may succeed: at least the locks of all
	// dead workers.
	FreeWorkerLocks(ctx context.Context, keys []string) ([]string, error)

	// TakeWorkerLock tries the lock of another worker. After LockTaken the caller holds the lock until it calls done, which also
	// removes the lock's remains.
	TakeWorkerLock(ctx context.Context, key string) (state LockState, done func(), err error)

	// LeaveGoodbye says that the worker which this process registered with a lock stops in good order, though it could not record
	// everything: its jobs are then released in place of being rescued as after a crash. It does not wait for the database, and
	// must be called before the lock is released.
	LeaveGoodbye(key string, worker int64) error

	// SaidGoodbye reports whether the worker whose lock the caller has taken left a goodbye that is still valid.
	SaidGoodbye(key string) (bool, error)
}

// Migrations is the part of a store that knows the schema of its database.
type Migrations interface {
	// Schema reads the state of the migrations in the database.
	Schema(ctx context.Context) (Schema, error)

	// Migrate runs the migrations that the database lacks, and MigrateDown undoes the last one. Both return the names of the migrations
	// that they ran, and are safe in several processes at once. Migrate first logs which programs will be refused after it. Where the
	// queue's tables are without their versions, it records the versions of the schema that they equal, and returns an error when they
	// equal none.
	Migrate(ctx context.Context) (Migrated, error)
	MigrateDown(ctx context.Context) (string, error)

	// Columns lists the writable columns of the queue's tables, including those of the database's owner.
	Columns(ctx context.Context) ([]Column, error)

	// ReadColumn returns the values of a column of a table with ids, for at most n rows after an id, in the order of the ids. A value
	// that is bytes is an error on SQLite, and its hexadecimal text on PostgreSQL.
	ReadColumn(ctx context.Context, c Column, after, n int64) ([]ColumnValue, error)

	// WriteColumn sets the values of a column, in one transaction. It skips values whose row does not exist.
	WriteColumn(ctx context.Context, c Column, values []ColumnValue) error
}

// Upkeep is the part of a store that copies, counts and moves whole databases.
type Upkeep interface {
	// Settle waits until every transaction that wrote to the queue before the call has ended.
	Settle(ctx context.Context) error

	// Recount corrects the counts of ended jobs, by reading all jobs, and returns the number of wrong counts. Others write
	// meanwhile, and their writes are counted. One recount of a database runs at a time: another one waits.
	Recount(ctx context.Context) (wrong int64, err error)

	// RecountIn is Recount by the Querier of a transaction that writes. Other recounts wait for the end of the transaction. It may
	// return [jobtype.ErrBusy] in place of waiting for another recount.
	RecountIn(ctx context.Context, q db.Querier) (wrong int64, err error)

	// ReserveIDs makes new jobs, errors and workers get ids above these, after rows with given ids were added.
	ReserveIDs(ctx context.Context, last db.GetLastIDsRow) error

	// FreeIDs removes, by the Querier of a Write, rows that are no jobs and only keep ids from being reused, once later jobs keep
	// those ids from reuse too.
	FreeIDs(ctx context.Context, q db.Querier) error

	// Backup writes a consistent copy of the database to a new file while everything runs.
	Backup(ctx context.Context, path string) error

	// BackupTo writes the same copy to w.
	BackupTo(ctx context.Context, w io.Writer) error

	// EngineVersion names the engine and its version, for people.
	EngineVersion(ctx context.Context) (string, error)
}
