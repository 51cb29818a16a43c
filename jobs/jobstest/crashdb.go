package jobstest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
)

// errOldDriver is returned for a driver without contexts.
var errOldDriver = errors.New("jobstest: the database's driver has no contexts (ConnBeginTx, StmtExecContext, StmtQueryContext)")

// connector opens connections whose statements are points of a [CrashRun].
type connector struct {
	run    *CrashRun
	driver driver.Driver
	open   func(ctx context.Context) (driver.Conn, error)
}

// newConnector returns a connector that opens connections as sql.Open does.
func newConnector(run *CrashRun, driverName, dsn string) (*connector, error) {
	pool, err := sql.Open(driverName, dsn) // only for the driver: it opens no connection
	if err != nil {
		return nil, err
	}
	c := &connector{run: run, driver: pool.Driver()}
	c.open = func(context.Context) (driver.Conn, error) { return c.driver.Open(dsn) }
	if d, ok := c.driver.(driver.DriverContext); ok {
		under, err := d.OpenConnector(dsn)
		if err != nil {
			return nil, errors.Join(err, pool.Close())
		}
		c.open = under.Connect
	}
	return c, pool.Close()
}

// Driver implements [driver.Connector].
func (c *connector) Driver() driver.Driver { return c.driver }

// Connect implements [driver.Connector].
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if p := c.run.process(ctx); p.isDead() {
		return nil, p.point("connect")
	}
	under, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	conn := &conn{run: c.run, under: under}
	c.run.track(conn)
	return conn, nil
}

// conn is a connection whose statements are points. The death of its process closes it.
type conn struct {
	run   *CrashRun
	mu    sync.Mutex // held while a call uses the driver's connection
	under driver.Conn
	tx    driver.Tx
	gone  bool
}

// use makes a call of the driver, between two points if what is not empty.
func (c *conn) use(ctx context.Context, what string, call func() error) error {
	locked := func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.gone {
			return driver.ErrBadConn
		}
		return call()
	}
	if what == "" {
		return locked()
	}
	return c.run.process(ctx).around(what, locked)
}

// die undoes the transaction and closes the connection, as the server or the file does when a process ends. If wait is false, it skips a
// connection that is in use.
func (c *conn) die(wait bool) (done bool, err error) {
	if !wait && !c.mu.TryLock() {
		return false, nil
	}
	if wait {
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	if c.gone {
		return true, nil
	}
	c.gone = true
	if c.tx != nil {
		err = c.tx.Rollback()
	}
	return true, errors.Join(err, c.under.Close())
}

func (c *conn) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

func (c *conn) Close() error {
	_, err := c.die(true)
	c.run.untrack(c)
	return err
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool { return !c.isGone() }

// ResetSession implements [driver.SessionResetter].
func (c *conn) ResetSession(ctx context.Context) error {
	return c.use(ctx, "", func() error {
		if under, ok := c.under.(driver.SessionResetter); ok {
			return under.ResetSession(ctx)
		}
		return nil
	})
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if under, ok := c.under.(driver.NamedValueChecker); ok {
		return under.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// BeginTx implements [driver.ConnBeginTx].
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	under, ok := c.under.(driver.ConnBeginTx)
	if !ok {
		return nil, errOldDriver
	}
	err := c.use(ctx, "", func() (err error) { // a begin changes nothing: the point after the previous call is as good
		c.tx, err = under.BeginTx(ctx, opts)
		return err
	})
	return &transaction{c, ctx}, err
}

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements [driver.ConnPrepareContext].
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s := &statement{conn: c, query: query}
	err := c.use(ctx, "", func() (err error) {
		if under, ok := c.under.(driver.ConnPrepareContext); ok {
			s.under, err = under.PrepareContext(ctx, query)
		} else {
			s.under, err = c.under.Prepare(query)
		}
		return err
	})
	return s, err
}

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	under, ok := c.under.(driver.ExecerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	err = c.use(ctx, label("exec", query), func() (err error) {
		result, err = under.ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	under, ok := c.under.(driver.QueryerContext)
	if !ok {
		return nil, driver.ErrSkip
	}
	r := &rows{}
	return r, c.use(ctx, label("query", query), func() error { return r.read(under.QueryContext(ctx, query, args)) })
}

// transaction is a transaction whose commit is a point.
type transaction struct {
	conn *conn
	ctx  context.Context
}

func (t *transaction) Commit() error {
	return t.conn.use(t.ctx, "commit", func() error {
		tx := t.conn.tx
		t.conn.tx = nil
		return tx.Commit()
	})
}

// Rollback does nothing after the death of the process, which has undone the transaction.
func (t *transaction) Rollback() error {
	return t.conn.use(t.ctx, "", func() error {
		tx := t.conn.tx
		t.conn.tx = nil
		if tx == nil {
			return nil
		}
		return tx.Rollback()
	})
}

// statement is a prepared statement whose uses are points.
type statement struct {
	conn  *conn
	query string
	under driver.Stmt
}

func (s *statement) Close() error {
	return s.conn.use(context.Background(), "", s.under.Close)
}

func (s *statement) NumInput() int { return s.under.NumInput() }

// CheckNamedValue implements [driver.NamedValueChecker].
func (s *statement) CheckNamedValue(v *driver.NamedValue) error {
	if under, ok := s.under.(driver.NamedValueChecker); ok {
		return under.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}

func (s *statement) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

func (s *statement) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

// ExecContext implements [driver.StmtExecContext].
func (s *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (result driver.Result, err error) {
	under, ok := s.under.(driver.StmtExecContext)
	if !ok {
		return nil, errOldDriver
	}
	err = s.conn.use(ctx, label("exec", s.query), func() (err error) {
		result, err = under.ExecContext(ctx, args)
		return err
	})
	return result, err
}

// QueryContext implements [driver.StmtQueryContext].
func (s *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	under, ok := s.under.(driver.StmtQueryContext)
	if !ok {
		return nil, errOldDriver
	}
	r := &rows{}
	return r, s.conn.use(ctx, label("query", s.query), func() error { return r.read(under.QueryContext(ctx, args)) })
}

func named(args []driver.Value) []driver.NamedValue {
	list := make([]driver.NamedValue, len(args))
	for i, v := range args {
		list[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return list
}

// rows holds all rows of a query, read before it returns, so that a statement that writes has taken effect by then.
type rows struct {
	columns []string
	types   []string
	list    [][]driver.Value
}

// read reads and closes the driver's result.
func (r *rows) read(from driver.Rows, err error) error {
	if err != nil {
		return err
	}
	r.columns = from.Columns()
	if typed, ok := from.(driver.RowsColumnTypeDatabaseTypeName); ok {
		for i := range r.columns {
			r.types = append(r.types, typed.ColumnTypeDatabaseTypeName(i))
		}
	}
	for {
		row := make([]driver.Value, len(r.columns))
		if err = from.Next(row); err != nil {
			break
		}
		for i, v := range row {
			if data, ok := v.([]byte); ok {
				row[i] = slices.Clone(data)
			}
		}
		r.list = append(r.list, row)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, from.Close())
}

func (r *rows) Columns() []string { return r.columns }

// ColumnTypeDatabaseTypeName implements [driver.RowsColumnTypeDatabaseTypeName].
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	if i >= len(r.types) {
		return ""
	}
	return r.types[i]
}

func (r *rows) Next(row []driver.Value) error {
	if len(r.list) == 0 {
		return io.EOF
	}
	copy(row, r.list[0])
	r.list = r.list[1:]
	return nil
}

func (r *rows) Close() error { return nil }

// labelMost is the number of bytes of a statement in the name of a point.
const labelMost = 60

// label names a statement: by the name that sqlc gave it, or by its beginning.
func label(verb, query string) string {
	if name, ok := strings.CutPrefix(query, "-- name: "); ok {
		name, _, _ = strings.Cut(name, " ")
		return verb + " " + name
	}
	text := strings.Join(strings.Fields(query), " ")
	if len(text) > labelMost {
		text = strings.ToValidUTF8(text[:labelMost], "") + "..."
	}
	return verb + " " + text
}
