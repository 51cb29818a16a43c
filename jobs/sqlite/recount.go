package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/db/sqliteonly"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs"
)

// recountStep is the number of jobs that one statement of a recount reads.
const recountStep = 10_000

// recounts corrects the counts of a database.
type recounts struct {
	files   *files
	side    sideFolder
	options options
	now     func() time.Time
	ready   func(context.Context) error              // checks the schema
	write   func(context.Context, engine.Func) error // runs a function in a transaction
}

// errRecounting is a temporary error: another recount of the database is running.
var errRecounting = fmt.Errorf("%w: another recount of the database runs: try again when it has ended", jobs.ErrBusy)

// Recount implements [engine.Store]. It reads all jobs in one read transaction, while others write, and then adds what the
// counts lack as notes in a short write. That is exact, because every change of a job adds its own difference to the counts:
// what is missing at the moment of the snapshot is missing later too, unless another recount adds it. The lock excludes other
// recounts, and waiting for the write lock waits for earlier ones in callers' transactions.
func (r recounts) Recount(ctx context.Context) (int64, error) {
	if err := r.ready(ctx); err != nil {
		return 0, err
	}
	unlock, err := r.side.lock(ctx, recountFile)
	if err != nil {
		return 0, core.EndFirst(ctx, err)
	}
	defer unlock()
	if err := r.settle(ctx); err != nil {
		return 0, err
	}
	missing, err := r.missingCounts(ctx)
	if err != nil || len(missing) == 0 {
		return 0, core.EndFirst(ctx, translate(err))
	}
	err = r.write(ctx, func(ctx context.Context, q db.Querier) error {
		return missing.Write(ctx, q, core.Micros(r.now()))
	})
	if err != nil {
		return 0, err
	}
	return int64(len(missing)), nil
}

// settle waits for the write lock, and so for the end of every earlier write transaction.
func (r recounts) settle(ctx context.Context) error {
	return r.write(ctx, func(context.Context, db.Querier) error { return nil })
}

// RecountIn implements [engine.Store]. It takes the write lock before it tries the lock of recounts. So Recount either begins
// later, and then waits for this transaction's end before it reads its snapshot, or already holds the lock of recounts.
func (r recounts) RecountIn(ctx context.Context, q db.Querier) (int64, error) {
	if _, err := q.DeleteEmptyJobCounts(ctx); err != nil { // takes SQLite's write lock until the end of the transaction
		return 0, err
	}
	unlock, err := r.side.tryLock(recountFile)
	if err != nil {
		return 0, err
	}
	if unlock == nil {
		return 0, errRecounting
	}
	defer unlock()
	return q.RecountJobs(ctx, core.Micros(r.now()))
}

// missingCounts returns the differences, positive or negative, that the counts lack at one moment. It keeps in memory a sum
// for each queue, kind and status, and the jobs that one statement reads.
func (r recounts) missingCounts(ctx context.Context) (missing stats.Changes, err error) {
	if err := r.files.intact(); err != nil {
		return nil, err
	}
	pool, err := openPool(r.files.main.path, r.options, true) // not a connection for which others wait
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close(), r.files.intact()) }()
	tx, err := pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	missing, q := stats.Changes{}, sqliteonly.New(tx)
	for after := int64(math.MinInt64); ; {
		rows, err := q.CountJobStep(ctx, sqliteonly.CountJobStepParams{After: after, N: recountStep})
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			after = max(after, row.LastID)
			if jobs.Status(row.Status).Final() {
				missing.Add(row.Queue, row.Kind, row.Status, 0, row.Jobs)
			}
		}
	}
	sums, err := q.SumJobCounts(ctx)
	for _, row := range sums {
		missing.Add(row.Queue, row.Kind, row.Status, 0, -row.Jobs)
	}
	missing.Reduce()
	return missing, err
}

// ignoreDone returns nil for the error of a transaction that has ended, for example with its context.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// upkeep implements the part of the engine that copies, counts and moves whole databases.
type upkeep struct {
	backups
	recounts
	writer *writer
}

var _ engine.Upkeep = upkeep{}

// Settle implements [engine.Upkeep]. It only has to wait for the write lock: SQLite has one writer at a time.
func (u upkeep) Settle(ctx context.Context) error { return u.settle(ctx) }

// ReserveIDs implements [engine.Upkeep]. In all tables but jobs SQLite itself continues after the largest id.
func (u upkeep) ReserveIDs(ctx context.Context, last db.GetLastIDsRow) error {
	return u.write(ctx, func(ctx context.Context, q db.Querier) error {
		only := q.(*writes).only // the connection of this store's writes
		if err := only.KeepLastID(ctx, last.Job); err != nil {
			return err
		}
		return only.FreeIDs(ctx)
	})
}

// FreeIDs implements [engine.Upkeep].
func (u upkeep) FreeIDs(ctx context.Context, _ db.Querier) error {
	return u.writer.writes.only.FreeIDs(ctx)
}

// EngineVersion names SQLite and its version.
func (upkeep) EngineVersion(context.Context) (string, error) { return "SQLite " + LibraryVersion, nil }
