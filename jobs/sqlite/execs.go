package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// execs are the statements of a connection, of which those without rows go to the driver itself: by way of database/sql each
// costs as much again as a lock of SQLite's. Only one caller may use it at a time.
type execs struct {
	*statements
	conn *sql.Conn
	kept map[string]driver.Stmt // by their text
	args []driver.NamedValue    // of the statement that runs, for their memory
	last execResult             // of the last statement
}

func newExecs(stmts *statements, conn *sql.Conn) *execs {
	return &execs{statements: stmts, conn: conn, kept: map[string]driver.Stmt{}}
}

// ExecContext ignores the end of ctx once the statement is prepared: a statement that has begun must not be cancelled half-way.
// The result is valid until the next call. Its LastInsertId returns sql.ErrNoRows when the statement inserted no row, where SQLite gives the id of an earlier one.
func (e *execs) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	defer func() {
		clear(e.args) // keeps no payload
		e.args = e.args[:0]
	}()
	for i, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	err := e.conn.Raw(func(conn any) error {
		stmt, err := e.prepared(ctx, conn, query)
		if err != nil {
			return err
		}
		result, err := stmt.ExecContext(context.Background(), e.args)
		if err != nil {
			return err
		}
		if e.last.rows, err = result.RowsAffected(); err != nil {
			return err
		}
		e.last.id, err = result.LastInsertId()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &e.last, nil
}

// prepare prepares a statement ahead of its first use.
func (e *execs) prepare(ctx context.Context, query string) error {
	return e.conn.Raw(func(conn any) error {
		_, err := e.prepared(ctx, conn, query)
		return err
	})
}

// prepared returns the statement of a text on the driver's connection.
func (e *execs) prepared(ctx context.Context, conn any, query string) (driver.StmtExecContext, error) {
	stmt := e.kept[query]
	if stmt == nil {
		preparer, ok := conn.(driver.ConnPrepareContext)
		if !ok {
			return nil, fmt.Errorf("the driver's connection is a %T", conn)
		}
		var err error
		if stmt, err = preparer.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
		e.kept[query] = stmt
	}
	exec, ok := stmt.(driver.StmtExecContext)
	if !ok {
		return nil, fmt.Errorf("the driver's statement is a %T", stmt)
	}
	return exec, nil
}

// close closes all prepared statements. The caller must not use them afterwards.
func (e *execs) close() error {
	err := e.conn.Raw(func(any) error {
		var errs []error
		for _, stmt := range e.kept {
			errs = append(errs, stmt.Close())
		}
		return errors.Join(errs...)
	})
	return errors.Join(err, e.statements.close())
}

type execResult struct{ id, rows int64 }

func (r *execResult) RowsAffected() (int64, error) { return r.rows, nil }

func (r *execResult) LastInsertId() (int64, error) {
	if r.rows == 0 {
		return 0, sql.ErrNoRows
	}
	return r.id, nil
}
