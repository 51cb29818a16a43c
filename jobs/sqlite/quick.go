package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
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
		stmt, err := preparer.PrepareContext(ctx, control(name))
		if err != nil {
			return err // beside it the driver gives a nil pointer, which is not a nil interface
		}
		q.stmt = stmt
		return nil
	})
	return q, err
}

// exec ignores the caller's context: a statement that has begun must not be cancelled half-way.
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

// read is exec for a statement with one row of one number.
func (q quick) read(args []driver.NamedValue) (value int64, err error) {
	err = q.conn.Raw(func(any) (err error) {
		stmt, ok := q.stmt.(driver.StmtQueryContext)
		if !ok {
			return fmt.Errorf("the driver's statement is a %T", q.stmt)
		}
		rows, err := stmt.QueryContext(context.Background(), args)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		var row [1]driver.Value
		if err := rows.Next(row[:]); err != nil {
			return err
		}
		value, ok = row[0].(int64)
		if !ok {
			return fmt.Errorf("a number is a %T", row[0])
		}
		return nil
	})
	return value, err
}

func (q quick) close() error {
	if q.stmt == nil {
		return nil
	}
	return q.conn.Raw(func(any) error { return q.stmt.Close() })
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
