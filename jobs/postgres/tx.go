package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// Tx lets a client or [jobs.CompleteTx] work inside the caller's transaction. It may be of any pool or connection on the
// queue's database; one on another database is refused. Adding and changing jobs needs READ COMMITTED, PostgreSQL's default: at
// another isolation level they return a [jobs.InvalidError], because a queue that was closed by a move would seem open. Reading
// and CompleteTx work at any level.
func Tx(tx pgx.Tx) jobs.Tx { return &callersTx{conn: tx} }

// SQLTx is [Tx] for services that use database/sql over pgx.
func SQLTx(tx *sql.Tx) jobs.Tx { return &callersTx{conn: sqlTx{tx}} }

type callersTx struct {
	conn   dbpostgres.DBTX
	looked atomic.Bool                 // the isolation level is right; no transaction changes it after its first statement
	on     atomic.Pointer[connections] // the connections whose database it is on
}

func (t *callersTx) Handle() any { return t }

// isNil reports whether the caller gave no transaction.
func (t *callersTx) isNil() bool { return t.conn == nil || t.conn == (sqlTx{}) }

// custom returns the map in which the transaction's connection keeps its data, or nil if it has none.
func (t *callersTx) custom() map[string]any {
	if tx, ok := t.conn.(pgx.Tx); ok {
		return tx.Conn().PgConn().CustomData()
	}
	return nil
}

// identityKey is the key under which a connection keeps its identity.
const identityKey = "sqluice: identity"

// reaches returns an error unless the transaction is on the queue's database. Two databases may have jobs and workers of the same ids:
// nothing else would show it. asked is the connection's fresh answer, or nil.
func (s *connections) reaches(ctx context.Context, t *callersTx, asked *identity) error {
	if t.on.Load() == s {
		return nil
	}
	custom := t.custom()
	found, known := custom[identityKey].(identity)
	if asked != nil {
		found, known = *asked, true
	}
	if self := s.self.Load(); !known || self == nil || !found.same(*self) {
		// A connection through a pooler may lead elsewhere than before, and the queue's server may have restarted.
		if asked == nil {
			if err := t.conn.QueryRow(ctx, control("identity"), once()...).Scan(found.values()...); err != nil {
				return translate(err)
			}
		}
		if self == nil || !found.same(*self) {
			if err := s.locateApart(ctx); err != nil {
				return fmt.Errorf("read the file of the queue's database: %w", err)
			}
		}
	}
	if self := s.self.Load(); !found.same(*self) {
		return fmt.Errorf("the transaction is on %s, and the client's queue in %s: begin it there", found, *self)
	}
	if custom != nil {
		custom[identityKey] = found
	}
	t.on.Store(s)
	return nil
}

// Savepoint implements [jobs.Tx].
func (t *callersTx) Savepoint(ctx context.Context, statement string) error {
	if t.isNil() {
		return errNilTx
	}
	_, err := t.conn.Exec(ctx, control(statement), once()...)
	return translate(err)
}

var errForeignTx = errors.New("the transaction was not made by postgres.Tx or postgres.SQLTx: make it with one of them")

var errNilTx = errors.New("the transaction is nil: begin one first")

// transactions implements the part of the engine for callers' transactions.
type transactions struct {
	conns *connections
	hub   *hub
	ready func(context.Context) error // checks the schema
}

// SQLTx implements [engine.Transactions].
func (transactions) SQLTx(tx *sql.Tx) jobs.Tx { return SQLTx(tx) }

// Join implements [engine.Transactions].
func (j transactions) Join(tx jobs.Tx) (db.Querier, error) {
	t, ok := tx.Handle().(*callersTx)
	if !ok {
		return nil, errForeignTx
	}
	if t.isNil() {
		return nil, errNilTx
	}
	if tx, ok := t.conn.(pgx.Tx); ok {
		if err := checkConnEncoding(tx.Conn()); err != nil {
			return nil, err
		}
	}
	if j.conns.self.Load() == nil { // also locates the queue
		if err := j.conns.locateApart(context.Background()); err != nil {
			return nil, fmt.Errorf("read the file of the queue's database: %w", err)
		}
	}
	return j.conns.querier(callersConn{t, j}, false), nil
}

// callersConn is the connection of a caller's transaction, which is checked before its first statement. It translates its errors.
type callersConn struct {
	tx *callersTx
	by transactions
}

// mean adds its meaning to an error. The transaction cannot continue after a duplicate id, but the next one can.
func (c callersConn) mean(err error) error {
	if sequenceOf(err) != "" {
		c.by.hub.run(func() { sequences{c.by.conns}.mendSequences(c.by.hub.ctx) })
	}
	return translate(err)
}

func (c callersConn) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := c.by.conns.reaches(ctx, c.tx, nil); err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := c.tx.conn.Exec(ctx, sql, args...)
	return tag, c.mean(err)
}

func (c callersConn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := c.by.conns.reaches(ctx, c.tx, nil); err != nil {
		return nil, err
	}
	rows, err := c.tx.conn.Query(ctx, sql, args...)
	if err != nil {
		return rows, c.mean(err)
	}
	return callersRows{rows, c}, nil
}

func (c callersConn) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := c.by.conns.reaches(ctx, c.tx, nil); err != nil {
		return failedRow{err}
	}
	return callersRow{c.tx.conn.QueryRow(ctx, sql, args...), c}
}

type callersRows struct {
	pgx.Rows
	conn callersConn
}

func (r callersRows) Err() error { return r.conn.mean(r.Rows.Err()) }

type callersRow struct {
	pgx.Row
	conn callersConn
}

func (r callersRow) Scan(values ...any) error { return r.conn.mean(r.Row.Scan(values...)) }

// AnnounceCommit implements [engine.Store]. The notification becomes a part of the transaction; ends cause none. In the same round trip it
// checks the isolation level: a snapshot that is older than a move of the queue does not show the row that closes the queue, and a job
// would be left behind.
func (j transactions) AnnounceCommit(ctx context.Context, tx jobs.Tx, signals core.Signal, queue string) error {
	t, ok := tx.Handle().(*callersTx)
	if !ok {
		return errForeignTx
	}
	notifies := signals&core.WorkReady != 0 && !j.conns.options.silent
	if t.looked.Load() && t.on.Load() == j.conns && !notifies {
		return nil
	}
	var level, encoding, position, nothing string
	var found identity
	var err error
	values := append(append([]any{&level, &encoding}, found.values()...), &position)
	if !notifies {
		err = t.conn.QueryRow(ctx, control("isolation"), once()...).Scan(values...)
	} else {
		// The server drops duplicates. (This code cannot: an earlier one may have been rolled back with a savepoint.) The
		// message has no token, because this process must be notified of the commit too.
		text := notification("", core.WorkReady, queue)
		err = t.conn.QueryRow(ctx, control("isolation_notify"), once(j.conns.names.channel(), text)...).Scan(append(values, &nothing)...)
	}
	if err == nil {
		err = checkClientEncoding(encoding)
	}
	if err == nil {
		err = j.conns.reaches(ctx, t, &found)
	}
	if err != nil {
		return translate(err)
	}
	if level == "read committed" || level == "read uncommitted" { // the two are the same in PostgreSQL
		t.looked.Store(true)
		return nil
	}
	return &jobs.InvalidError{
		Field: "the transaction's isolation level", Value: strings.ToUpper(level),
		Must: "be READ COMMITTED to add or change jobs: another does not see that the queue was closed by a move since it began",
	}
}

// ownTx is a transaction of [jobs.Client.Tx], on a connection of the pool.
type ownTx struct {
	*callersTx
	tx    pgx.Tx
	store *connections
	over  func() // releases its connection
}

// BeginOwn implements [engine.Store].
func (j transactions) BeginOwn(ctx context.Context) (engine.OwnTx, error) {
	if err := j.ready(ctx); err != nil {
		return nil, core.EndFirst(ctx, err)
	}
	conn, err := j.conns.lend(func() (*pgxpool.Conn, error) { return j.conns.pool.Acquire(ctx) })
	if err != nil {
		return nil, core.EndFirst(ctx, j.conns.explain(ctx, err))
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		conn.Release()
		return nil, core.EndFirst(ctx, j.conns.explain(ctx, err))
	}
	own := &ownTx{&callersTx{conn: tx}, tx, j.conns, conn.Release}
	own.on.Store(j.conns)
	return own, nil
}

// Commit implements [engine.OwnTx].
func (t *ownTx) Commit(ctx context.Context) error {
	defer t.over()
	ctx, cancel := core.Linger(ctx)
	defer cancel()
	synchronous, life := false, ""
	if conn := t.tx.Conn(); !hears(conn) {
		var err error
		if synchronous, life, err = durability(ctx, conn); err != nil {
			return errors.Join(core.EndFirst(ctx, translate(err)), t.tx.Rollback(ctx))
		}
	}
	err := core.EndFirst(ctx, translate(t.commit(ctx)))
	switch {
	case errors.Is(err, errUnreplicated), lost(err), err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
	case err == nil && synchronous:
		return outcomes{t.store}.confirm(ctx, life)
	}
	return err
}

// commit returns errUnreplicated when the server has committed, but has given up waiting for its standbys.
func (t *ownTx) commit(ctx context.Context) error {
	conn := t.tx.Conn()
	forgetWait(conn)
	if err := t.tx.Commit(ctx); err != nil {
		return err
	}
	if unreplicated(conn) {
		return errUnreplicated
	}
	return nil
}

// Rollback implements [engine.OwnTx].
func (t *ownTx) Rollback(ctx context.Context) error {
	defer t.over()
	if err := t.tx.Rollback(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, pgx.ErrTxClosed) && !lost(err) {
		return translate(err)
	}
	return nil
}
