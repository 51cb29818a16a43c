package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/groupcommit"

	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
	"github.com/sqluice/sqluice/db/sqliteonly"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// batchPayload is the largest payload in bytes that joins a list: adding a larger one to it, and extracting it again, costs more
// than the list saves.
const batchPayload = 768

// writes holds the writer's statements, prepared on its connection. It begins and ends transactions by such statements:
// a transaction of database/sql starts a goroutine that waits for its end, and the driver parses its BEGIN and its
// COMMIT each time, which is a third of the time to add a job.
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
	if err := w.stmts.watchCommits(); err != nil {
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

// salvage copies the contents of a deleted WAL to the database: acknowledged writes may be nowhere else. The last process to
// close the database would do it, but if two close it at once, neither need be the last.
func (w *writes) salvage() error {
	_, err := w.conn.ExecContext(context.Background(), control("checkpoint"))
	return translate(err)
}

// waitFor sets the time that SQLite waits for a lock on the connection. A wait of SQLite cannot be ended, so the writer's are short
// and repeated: see [writer.begin].
func (w *writes) waitFor(ctx context.Context, name string) error {
	_, err := w.conn.ExecContext(ctx, control(name))
	return err
}

// Close returns the connection to the pool.
func (w *writes) Close() error {
	return errors.Join(w.stmts.close(), w.waitFor(context.Background(), "wait_long"), w.conn.Close())
}

// write is one caller's work in a transaction.
type write struct {
	fn     func(context.Context, db.Querier) error // nil for an insert
	insert engine.Insert
	ids    []int64  // the ids of the inserted jobs
	id     [1]int64 // backs ids if there is one job
}

// isOneStatement reports whether the work is a single statement, whose time no observer asks for: that of one which commits itself
// includes the commit.
func (w *write) isOneStatement() bool {
	return w.fn == nil && w.insert.Payloads == nil && w.insert.Claim == nil && w.insert.Ran == nil
}

type member = groupcommit.Member[*write]
