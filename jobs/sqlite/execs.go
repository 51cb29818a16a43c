package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"modernc.org/sqlite"
)

// execs runs the statements of a connection, those without rows on the driver itself: database/sql would add to each the
// cost of one of SQLite's locks. Only one caller may use it at a time.
type execs struct {
	*statements
	conn *sql.Conn
	kept map[string]preparedExec // the prepared statements by SQL text
	args []driver.NamedValue     // the arguments of the running statement; the memory is reused
	last execResult              // the result of the last statement

	committing bool // a commit has begun since it was last cleared
}

// preparedExec is a prepared statement.
type preparedExec struct {
	stmt  driver.StmtExecContext
	close func() error
	order []int // index of the argument for each of its placeholders
}

func newExecs(stmts *statements, conn *sql.Conn) *execs {
	return &execs{statements: stmts, conn: conn, kept: map[string]preparedExec{}}
}

// ExecContext ignores the end of ctx once the statement is prepared: a running statement must not be cancelled half-way. The result is
// valid until the next call. Its LastInsertId returns sql.ErrNoRows when the statement inserted no row, where SQLite returns the id of an
// earlier one.
func (e *execs) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	defer func() {
		clear(e.args) // so that it keeps no payload
		e.args = e.args[:0]
	}()
	err := e.conn.Raw(func(conn any) error {
		x, err := e.prepared(ctx, conn, query)
		if err != nil {
			return err
		}
		for i, from := range x.order {
			value, err := driver.DefaultParameterConverter.ConvertValue(args[from])
			if err != nil {
				return err
			}
			e.args = append(e.args, driver.NamedValue{Ordinal: i + 1, Value: value})
		}
		result, err := x.stmt.ExecContext(context.Background(), e.args)
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

// watchCommits makes SQLite set committing when it begins a commit.
func (e *execs) watchCommits() error {
	return e.conn.Raw(func(conn any) error {
		hooks, ok := conn.(sqlite.HookRegisterer)
		if !ok {
			return fmt.Errorf("the driver's connection is a %T", conn)
		}
		hooks.RegisterCommitHook(func() int32 {
			e.committing = true
			return 0 // let it commit
		})
		return nil
	})
}

// prepare prepares a statement before its first use.
func (e *execs) prepare(ctx context.Context, query string) error {
	return e.conn.Raw(func(conn any) error {
		_, err := e.prepared(ctx, conn, query)
		return err
	})
}

// prepared returns the prepared statement of a text on the driver's connection.
func (e *execs) prepared(ctx context.Context, conn any, query string) (preparedExec, error) {
	x, ok := e.kept[query]
	if ok {
		return x, nil
	}
	preparer, ok := conn.(driver.ConnPrepareContext)
	if !ok {
		return x, fmt.Errorf("the driver's connection is a %T", conn)
	}
	text, order := unnumbered(query)
	stmt, err := preparer.PrepareContext(ctx, text)
	if err != nil {
		return x, err
	}
	x = preparedExec{close: stmt.Close, order: order}
	if x.stmt, ok = stmt.(driver.StmtExecContext); !ok {
		return x, errors.Join(fmt.Errorf("the driver's statement is a %T", stmt), stmt.Close())
	}
	e.kept[query] = x
	return x, nil
}

var placeholder = regexp.MustCompile(`\?\d+`)

// unnumbered returns a statement whose placeholders have no numbers, and the argument index of each. For each placeholder with a
// number the driver looks up its name at each run. A generated statement has question marks nowhere else.
func unnumbered(query string) (text string, order []int) {
	text = placeholder.ReplaceAllStringFunc(query, func(number string) string {
		n, _ := strconv.Atoi(number[1:]) // digits, few of them
		order = append(order, n-1)
		return "?"
	})
	return text, order
}

// close closes all prepared statements. The caller must not use them afterwards.
func (e *execs) close() error {
	err := e.conn.Raw(func(any) error {
		var errs []error
		for _, x := range e.kept {
			errs = append(errs, x.close())
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
