package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	dbpostgres "github.com/sqluice/sqluice/db/postgres"
	"github.com/sqluice/sqluice/jobs"
)

// Tx lets a client or [jobs.CompleteTx] work inside the caller's transaction. It may be of any pool or connection on the
// queue's database, in READ COMMITTED mode.
func Tx(tx pgx.Tx) jobs.Tx { return &callersTx{conn: tx} }

// SQLTx is [Tx] for services that use database/sql over pgx.
func SQLTx(tx *sql.Tx) jobs.Tx { return &callersTx{conn: sqlTx{tx}} }

type callersTx struct{ conn dbpostgres.DBTX }

func (t *callersTx) Handle() any { return t }

// Join implements [jobs.Store]. The doorbell is part of the transaction: it rings when that is committed.
func (s *Store) Join(tx jobs.Tx) (db.Querier, error) {
	t, ok := tx.Handle().(*callersTx)
	if !ok {
		return nil, errors.New("the transaction is not one made by postgres.Tx or postgres.SQLTx")
	}
	return s.querier(t.conn, false, func(ctx context.Context, queue string) error {
		// The server drops those that are alike. (Not here: one before may have gone with a savepoint.) The message has no
		// token, because this process must hear of the commit too.
		_, err := t.conn.Exec(ctx, control("notify"), once(s.names.channel(), fmt.Sprintf("/%d/%s", jobs.WorkReady, queue))...)
		return err
	}), nil
}
