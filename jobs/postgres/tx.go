package postgres

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
	"github.com/sqluice/sqluice/jobs"
)

// Tx lets a client or [jobs.CompleteTx] work inside the caller's transaction. It may be of any pool or connection on the
// queue's database. Adding and changing jobs needs READ COMMITTED, PostgreSQL's default: at another isolation level it is a
// [jobs.InvalidError], because a queue that was closed by a move would seem open. Reading and CompleteTx work at any.
func Tx(tx pgx.Tx) jobs.Tx { return &callersTx{conn: tx} }

// SQLTx is [Tx] for services that use database/sql over pgx.
func SQLTx(tx *sql.Tx) jobs.Tx { return &callersTx{conn: sqlTx{tx}} }

type callersTx struct {
	conn   dbpostgres.DBTX
	looked atomic.Bool // at the isolation level, which was found right, and which no transaction changes after its first statement
}

func (t *callersTx) Handle() any { return t }

// Savepoint implements [jobs.Tx].
func (t *callersTx) Savepoint(ctx context.Context, statement string) error {
	_, err := t.conn.Exec(ctx, control(statement), once()...)
	return translate(err)
}

// Join implements [jobs.Store].
func (s *Store) Join(tx jobs.Tx) (db.Querier, error) {
	t, ok := tx.Handle().(*callersTx)
	if !ok {
		return nil, errors.New("the transaction is not one made by postgres.Tx or postgres.SQLTx")
	}
	if tx, ok := t.conn.(pgx.Tx); ok {
		if err := checkConnEncoding(tx.Conn()); err != nil {
			return nil, err
		}
	}
	return joined{s.querier(t.conn, false, nil), s, t}, nil
}
