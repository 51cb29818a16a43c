package sqlite

import (
	"context"
	"database/sql"
	"errors"

	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
)

// writes are the writer's statements, prepared on a connection that they keep. A transaction is begun and ended by
// statements of theirs: one of database/sql's starts a goroutine that waits for its end, and the driver parses its BEGIN
// and its COMMIT each time, which is a third of what it takes to add a job.
type writes struct {
	*dbsqlite.Queries
	conn                    *sql.Conn
	begin, commit, rollback *sql.Stmt
}

func prepareWrites(ctx context.Context, pool *sql.DB) (w *writes, err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w = &writes{conn: conn}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if w.Queries, err = dbsqlite.Prepare(ctx, conn); err != nil {
		return w, err
	}
	for _, s := range []struct {
		stmt **sql.Stmt
		name string
	}{{&w.begin, "begin"}, {&w.commit, "commit"}, {&w.rollback, "rollback"}} {
		if *s.stmt, err = conn.PrepareContext(ctx, control(s.name)); err != nil {
			return w, err
		}
	}
	return w, nil
}

// Close gives the connection back to the pool.
func (w *writes) Close() error {
	var errs []error
	if w.Queries != nil {
		errs = append(errs, w.Queries.Close())
	}
	for _, stmt := range []*sql.Stmt{w.begin, w.commit, w.rollback} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(append(errs, w.conn.Close())...)
}
