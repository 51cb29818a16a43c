package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/db"
)

// quick is a statement without rows that runs often: begin, commit, and the insert of one job. It goes to the driver directly.
// By way of database/sql each run costs as much again as a lock of SQLite's.
type quick struct {
	conn *sql.Conn
	stmt driver.Stmt
}

func prepareQuick(ctx context.Context, conn *sql.Conn, name string) (q quick, err error) {
	q.conn = conn
	err = conn.Raw(func(c any) error {
		preparer, ok := c.(driver.ConnPrepareContext)
		if !ok {
			return fmt.Errorf("the driver's connection is a %T", c)
		}
		var err error
		q.stmt, err = preparer.PrepareContext(ctx, control(name))
		return err
	})
	return q, err
}

// exec does not heed a context: what began is not to be cancelled half-way.
func (q quick) exec(args []driver.NamedValue) (result driver.Result, err error) {
	err = q.conn.Raw(func(any) error {
		stmt, ok := q.stmt.(driver.StmtExecContext)
		if !ok {
			return fmt.Errorf("the driver's statement is a %T", q.stmt)
		}
		var err error
		result, err = stmt.ExecContext(context.Background(), args)
		return err
	})
	return result, err
}

func (q quick) close() error {
	if q.stmt == nil {
		return nil
	}
	return q.conn.Raw(func(any) error { return q.stmt.Close() })
}

// EnqueueKeylessJob adds the job by a statement that does nothing else: it returns no rows, for which SQLite would make a
// temporary table, and has no list of rows to add, for which it would make another. What that one does not add, because the
// queue is closed by a move or somebody's own index or trigger forbids it, goes the usual way, which finds out why.
func (w *writes) EnqueueKeylessJob(ctx context.Context, arg db.EnqueueKeylessJobParams) (int64, error) {
	w.args = arguments(w.args[:0], arg.Kind, arg.Queue, arg.Payload, arg.Status, arg.Priority, arg.RunAfter, arg.MaxAttempts, arg.Timeout,
		optional(arg.UserID), optional(arg.Tags), optional(arg.Metadata), arg.Now, arg.Now)
	result, err := w.enqueue.exec(w.args)
	clear(w.args) // keeps no payload
	if refused(err) {
		return w.Queries.EnqueueKeylessJob(ctx, arg)
	}
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil {
		return 0, err
	} else if n != 1 {
		return w.Queries.EnqueueKeylessJob(ctx, arg)
	}
	return result.LastInsertId()
}

// refused reports whether a constraint kept a statement from doing anything.
func refused(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_CONSTRAINT
}

func arguments(list []driver.NamedValue, values ...driver.Value) []driver.NamedValue {
	for i, v := range values {
		list = append(list, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return list
}

func optional(s *string) driver.Value {
	if s == nil {
		return nil
	}
	return *s
}
