package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/sqluice/sqluice/db"
	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// Tx lets a client or [jobs.CompleteTx] work inside the caller's transaction on the queue's database file. Begin the transaction with
// _txlock=immediate in the pool's DSN, or with a write: a transaction that reads first and writes later fails with SQLITE_BUSY when
// another connection has written in between. A transaction on another file is refused, and so is one of another build of SQLite than
// modernc.org/sqlite. The driver may be wrapped, for example by otelsql.
func Tx(tx *sql.Tx) jobs.Tx { return &callersTx{tx: tx} }

type callersTx struct {
	tx *sql.Tx

	once  sync.Once
	path  string      // the path of the file whose queue the transaction's statements reach
	build string      // build of SQLite that its connection runs in
	queue os.FileInfo // the same file
	fault error
}

func (t *callersTx) Handle() any { return t }

// WritesFirst implements [engine.WritesFirst]: SQLite refuses the first write of a transaction that has read when another connection has
// written since.
func (t *callersTx) WritesFirst() {}

var _ engine.WritesFirst = (*callersTx)(nil)

// reaches returns an error unless the transaction's statements reach the store's queue, in the same build of SQLite. Two files may have
// jobs and workers of the same ids: nothing else would show it.
//
// It compares the builds by their source ids and some options, in the statement that is needed anyway: comparing all options would double
// its time. A second copy of the very same build, which no known driver has, would pass. A stronger proof, such as [sharesLibrary], changes
// the caller's connection or makes a statement fail, which traces would show for each transaction.
func (t *callersTx) reaches(path, build string) error {
	t.once.Do(func() {
		switch err := t.tx.QueryRow(control("queue_file")).Scan(&t.path, &t.build); {
		case errors.Is(err, sql.ErrNoRows):
			t.fault = errors.New("the transaction's connection reaches no queue")
		case err != nil:
			t.fault = translate(err)
		default:
			t.queue, t.fault = os.Stat(t.path)
		}
	})
	if t.fault != nil {
		return t.fault
	}
	if t.build != build {
		return fmt.Errorf("the transaction's connection runs in another build of SQLite than the queue, which uses modernc.org/sqlite: %s", remedy)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(info, t.queue) {
		return fmt.Errorf("the transaction is on %s, and the client's queue in %s: begin it there", t.path, path)
	}
	return nil
}

// Savepoint implements [jobs.Tx].
func (t *callersTx) Savepoint(ctx context.Context, statement string) error {
	if t.tx == nil {
		return errNilTx
	}
	_, err := t.tx.ExecContext(ctx, control(statement))
	return translate(err)
}

var errNilTx = errors.New("the transaction is nil: begin one first")

// transactions implements the part of the engine for callers' transactions.
type transactions struct {
	pools   *pools
	options options
	build   string // build of SQLite that the store's connections run in
}

// SQLTx implements [engine.Transactions].
func (transactions) SQLTx(tx *sql.Tx) jobs.Tx { return Tx(tx) }

// AnnounceCommit implements [engine.Transactions]: listeners see a commit in the file itself.
func (transactions) AnnounceCommit(context.Context, jobs.Tx, core.Signal, string) error { return nil }

// Join implements [engine.Transactions].
func (j transactions) Join(tx jobs.Tx) (db.Querier, error) {
	t, ok := tx.Handle().(*callersTx)
	if !ok {
		return nil, errors.New("the transaction was not made by sqlite.Tx: make it with sqlite.Tx")
	}
	if t.tx == nil {
		return nil, errNilTx
	}
	if err := t.reaches(j.pools.files.main.path, j.build); err != nil {
		return nil, err
	}
	return dbsqlite.New(t.tx), nil
}

// ownTx is a transaction of [jobs.Client.Tx], on a connection without other users.
type ownTx struct {
	*callersTx
	files *files
	pool  *sql.DB
}

// BeginOwn implements [engine.Transactions].
func (j transactions) BeginOwn(ctx context.Context) (engine.OwnTx, error) {
	if err := j.pools.ready(ctx); err != nil {
		return nil, err
	}
	if err := j.pools.files.intact(); err != nil {
		return nil, err
	}
	pool, err := openPool(j.pools.files.main.path, j.options, false)
	if err != nil {
		return nil, err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return nil, errors.Join(translate(err), pool.Close())
	}
	return &ownTx{&callersTx{tx: tx}, j.pools.files, pool}, nil
}

// Commit implements [engine.OwnTx].
func (t *ownTx) Commit(context.Context) error {
	err := inDoubt(t.tx.Commit())
	if err == nil {
		if err = t.files.kept(); err != nil {
			err = fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
		}
	}
	return errors.Join(translate(err), t.pool.Close())
}

// Rollback implements [engine.OwnTx].
func (t *ownTx) Rollback(context.Context) error {
	return errors.Join(translate(ignoreDone(t.tx.Rollback())), t.pool.Close())
}
