package sqlite

import (
	"context"
	"database/sql"
	"errors"

	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
	"github.com/sqluice/sqluice/db/sqliteonly"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// writes are the writer's statements, prepared on a connection that they keep. A transaction is begun and ended by
// statements of theirs: one of database/sql's starts a goroutine that waits for its end, and the driver parses its BEGIN
// and its COMMIT each time, which is a third of what it takes to add a job.
type writes struct {
	*dbsqlite.Queries
	only  *sqliteonly.Queries
	conn  *sql.Conn
	stmts *execs
	batch engine.Batch // empty between two statements
}

func prepareWrites(ctx context.Context, pool *sql.DB) (w *writes, err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	stmts := newExecs(newStatements(conn), conn)
	w = &writes{
		Queries: dbsqlite.New(stmts), only: sqliteonly.New(stmts), conn: conn, stmts: stmts, batch: engine.Batch{MaxPayload: batchPayload},
	}
	if err := w.waitFor(ctx, "wait_briefly"); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	for _, name := range []string{"begin", "commit", "rollback"} {
		if err := w.stmts.prepare(ctx, control(name)); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	if _, err := w.stmts.PrepareContext(ctx, control("data_version")); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// exec runs a statement of sql/control that begins or ends a transaction.
func (w *writes) exec(name string) error {
	_, err := w.stmts.ExecContext(context.Background(), control(name))
	return err
}

// salvage brings to the database what is in a WAL that was deleted: what was acknowledged may be nowhere else. The last process
// that closes the database would do it, but of two that close it at once neither need be the last.
func (w *writes) salvage() error {
	_, err := w.conn.ExecContext(context.Background(), control("checkpoint"))
	return translate(err)
}

// waitFor sets how long SQLite waits for a lock on the connection. A wait of SQLite's cannot be ended, so the writer's are short, and
// are repeated: see [writer.begin].
func (w *writes) waitFor(ctx context.Context, name string) error {
	_, err := w.conn.ExecContext(ctx, control(name))
	return err
}

// Close gives the connection back to the pool.
func (w *writes) Close() error {
	return errors.Join(w.stmts.close(), w.waitFor(context.Background(), "wait_long"), w.conn.Close())
}
