package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"github.com/sqluice/sqluice/jobs"
)

// wrapped is a driver around modernc's, such as one that traces statements. change may alter a statement's arguments; nil alters nothing.
type wrapped struct {
	inner  driver.Driver
	change func(query string, args []driver.NamedValue) (string, []driver.NamedValue)
}

func (d wrapped) Open(name string) (driver.Conn, error) {
	conn, err := d.inner.Open(name)
	if err != nil {
		return nil, err
	}
	return wrappedConn{conn, d}, nil
}

// wrappedConn hides the type of the connection beneath it.
type wrappedConn struct {
	driver.Conn
	driver wrapped
}

func (c wrappedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c wrappedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query, args = c.changed(query, args)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c wrappedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, args = c.changed(query, args)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c wrappedConn) changed(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
	if c.driver.change == nil {
		return query, args
	}
	return c.driver.change(query, args)
}

// connector opens connections of a driver without a registered name.
type connector struct {
	driver driver.Driver
	name   string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }
func (c connector) Driver() driver.Driver                        { return c.driver }

// around returns a pool on a file, with a wrapped driver.
func around(t *testing.T, path string, change func(string, []driver.NamedValue) (string, []driver.NamedValue)) *sql.DB {
	t.Helper()
	pool := sql.OpenDB(connector{wrapped{&sqlite.Driver{}, change}, "file:" + path + "?_txlock=immediate&_pragma=busy_timeout(30000)"})
	t.Cleanup(func() { must(t, pool.Close()) })
	return pool
}

func enqueueIn(t *testing.T, client *jobs.Client, pool *sql.DB) error {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), nil)
	must(t, err)
	if _, err := client.With(Tx(tx)).Enqueue(t.Context(), "k", json.RawMessage("1")); err != nil {
		must(t, tx.Rollback())
		return err
	}
	return tx.Commit()
}

func TestAWrappedDriverIsTaken(t *testing.T) {
	store, client := queue(t)
	pool := around(t, store.path, nil)
	must(t, enqueueIn(t, client, pool))
	pool.SetMaxOpenConns(1)
	own, err := newBackend(t.Context(), pool)
	must(t, err)
	must(t, own.Close())
	var attached int
	must(t, pool.QueryRow("SELECT count(*) FROM pragma_database_list WHERE name <> 'main'").Scan(&attached))
	if attached != 0 {
		t.Errorf("%d databases stay attached to the application's connection", attached)
	}
}

// Another library has other options. One of the same build does not see this copy's in-memory databases, which only New checks.
func TestADriverOfAnotherSQLiteIsRefused(t *testing.T) {
	store, client := queue(t)
	otherBuild := func(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
		return strings.Replace(query, "sqlite_source_id()", "'of another day'", 1), args
	}
	otherCopy := func(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
		if strings.HasPrefix(query, "ATTACH") {
			args = slices.Clone(args)
			args[0].Value = "file:/elsewhere?vfs=memdb"
		}
		return query, args
	}
	unable := func(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
		return strings.Replace(query, "ATTACH ?", "ATTACH 'file:/x?vfs=none' || ?", 1), args
	}
	for name, c := range map[string]struct {
		change     func(string, []driver.NamedValue) (string, []driver.NamedValue)
		newError   string
		passesAsTx bool
	}{
		"another build":                  {change: otherBuild, newError: remedy},
		"another copy of the same build": {change: otherCopy, newError: remedy, passesAsTx: true},
		"one that cannot be asked":       {change: unable, newError: "no such vfs", passesAsTx: true},
	} {
		pool := around(t, store.path, c.change)
		if _, err := newBackend(t.Context(), pool); err == nil || !strings.Contains(err.Error(), c.newError) || !strings.Contains(err.Error(), "sqlite.wrapped") {
			t.Errorf("%s: New: %v", name, err)
		}
		if err := enqueueIn(t, client, pool); c.passesAsTx && err != nil || !c.passesAsTx && (err == nil || !strings.Contains(err.Error(), remedy)) {
			t.Errorf("%s: Tx: %v", name, err)
		}
	}
}
