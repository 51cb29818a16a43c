package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sqluice/sqluice/db"
	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
	"github.com/sqluice/sqluice/jobs"
)

// Tx lets a client or [jobs.CompleteTx] work inside the caller's transaction on the queue's database file. Begin the
// transaction with _txlock=immediate in the pool's DSN, or with a write: a transaction that reads first and writes
// later fails with SQLITE_BUSY when another connection wrote between.
func Tx(tx *sql.Tx) jobs.Tx { return callersTx{tx} }

type callersTx struct{ tx *sql.Tx }

func (t callersTx) Handle() any { return t }

// Savepoint implements [jobs.Tx].
func (t callersTx) Savepoint(ctx context.Context, statement string) error {
	_, err := t.tx.ExecContext(ctx, control(statement))
	return translate(err)
}

// Join implements [jobs.Store]. Listeners see a commit in the file itself.
func (s *Store) Join(tx jobs.Tx) (db.Querier, error) {
	t, ok := tx.Handle().(callersTx)
	if !ok {
		return nil, errors.New("the transaction is not one made by sqlite.Tx")
	}
	return dbsqlite.New(t.tx), nil
}
