package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
)

// writes are the writer's statements, prepared on a connection that they keep. A transaction is begun and ended by
// statements of theirs: one of database/sql's starts a goroutine that waits for its end, and the driver parses its BEGIN
// and its COMMIT each time, which is a third of what it takes to add a job.
type writes struct {
	*dbsqlite.Queries
	conn  *sql.Conn
	stmts *statements
	alike alike

	begin, commit, rollback, enqueue, enqueueClaimed, isClaimed quick
	args                                                        []driver.NamedValue // of the last of these, for their memory
	version                                                     *sql.Stmt

	busy      bool // the last claim gave many jobs
	filled    int  // for how many claims the columns are read that most jobs leave empty
	uncounted bool // ids do not follow from how many rows are added
}

func prepareWrites(ctx context.Context, pool *sql.DB) (w *writes, err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	stmts := newStatements(conn)
	w = &writes{conn: conn, stmts: stmts}
	w.Queries = dbsqlite.New(following{stmts, w})
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	for _, s := range []struct {
		stmt *quick
		name string
	}{{&w.begin, "begin"}, {&w.commit, "commit"}, {&w.rollback, "rollback"}, {&w.enqueue, "enqueue"}, {&w.enqueueClaimed, "enqueue_claimed"}, {&w.isClaimed, "is_claimed"}} {
		if *s.stmt, err = prepareQuick(ctx, conn, s.name); err != nil {
			return w, err
		}
	}
	w.version, err = stmts.PrepareContext(ctx, control("data_version"))
	return w, err
}

// salvage brings to the database what is in a WAL that was deleted: what was acknowledged may be nowhere else. The last process
// that closes the database would do it, but of two that close it at once neither need be the last.
func (w *writes) salvage() error {
	_, err := w.conn.ExecContext(context.Background(), control("checkpoint"))
	return translate(err)
}

// Close gives the connection back to the pool.
func (w *writes) Close() error {
	var errs []error
	for _, stmt := range []quick{w.begin, w.commit, w.rollback, w.enqueue, w.enqueueClaimed, w.isClaimed} {
		errs = append(errs, stmt.close())
	}
	return errors.Join(append(errs, w.stmts.close(), w.conn.Close())...)
}
