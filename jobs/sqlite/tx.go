package sqlite

import (
	"database/sql"

	"github.com/sqluice/sqluice/db"
	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
	"github.com/sqluice/sqluice/jobs"
)

// Tx lets a client or [jobs.CompleteTx] work inside the caller's transaction on the queue's database file. Begin the
// transaction with _txlock=immediate in the pool's DSN, or with a write: a transaction that reads first and writes
// later fails with SQLITE_BUSY when another connection wrote between.
func Tx(tx *sql.Tx) jobs.Tx { return callersTx{dbsqlite.New(tx)} }

type callersTx struct{ queries *dbsqlite.Queries }

func (t callersTx) Querier() db.Querier { return t.queries }
