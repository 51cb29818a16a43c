package costs

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"testing"

	driver "modernc.org/sqlite"

	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
	"github.com/sqluice/sqluice/internal/test/testdb"
)

func TestSQLite(t *testing.T) {
	// How often notes are added up in a drain depends on the clock, and so on the drain's duration.
	measure(t, engine{name: "sqlite", lab: onSQLite{}.lab, claim: onSQLite{}.claim, logMore: 0.01})
}

type onSQLite struct{}

func (onSQLite) lab(t *testing.T) *lab {
	t.Helper()
	store := testdb.SQLite(t)
	l := newLab(store, func() int64 { return 0 })
	l.keepLog = func(t *testing.T) { keepLog(t, store.Path()) }
	l.crashed = func(t *testing.T, enqueue func()) {
		t.Helper()
		enqueue()
		_, err := testdb.PlainSQLite(t, store.Path()).ExecContext(t.Context(), `UPDATE sqluice_jobs SET crashes = 1`)
		must(t, err)
	}
	l.logged = func(t *testing.T) int64 {
		t.Helper()
		info, err := os.Stat(store.Path() + "-wal")
		must(t, err)
		return info.Size()
	}
	return l
}

// keepLog makes the write-ahead log grow and never begin anew, whatever is checkpointed: a reader stays in it.
func keepLog(t *testing.T, path string) {
	t.Helper()
	conn, err := testdb.PlainSQLite(t, path).Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close()) })
	_, err = conn.ExecContext(t.Context(), `BEGIN DEFERRED`)
	must(t, err)
	var n int
	must(t, conn.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM sqluice_jobs`).Scan(&n))
	before := logHeader(t, path)
	t.Cleanup(func() {
		if after := logHeader(t, path); !bytes.Equal(after, before) {
			t.Errorf("the write-ahead log has begun anew: %x, %x before", after, before)
		}
		_, err := conn.ExecContext(context.Background(), `ROLLBACK`)
		must(t, err)
	})
}

// logHeader returns the header of the current log; another log would begin with another one.
func logHeader(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path + "-wal")
	must(t, err)
	defer file.Close()
	header := make([]byte, 32)
	_, err = file.ReadAt(header, 0)
	must(t, err)
	return header
}

// claim counts the database pages that each statement of a cycle reads.
func (onSQLite) claim(t *testing.T, besides ...string) []figure {
	t.Helper()
	pool := testdb.PlainSQLite(t, testdb.SQLite(t).Path())
	for _, statement := range append([]string{"sqlite.wanted.sql"}, besides...) {
		_, err := pool.ExecContext(t.Context(), read(t, statement))
		must(t, err)
	}
	conn, err := pool.Conn(t.Context())
	must(t, err)
	defer func() { must(t, conn.Close()) }()
	q := dbsqlite.New(conn)
	// The first statement reads the schema, which is no part of a claim.
	_, err = q.GetNextRunAfter(t.Context())
	must(t, err)
	var list []figure
	for _, step := range steps() {
		before := pages(t, conn)
		got, err := step.run(t.Context(), q)
		if err != nil || got != step.want {
			t.Fatalf("%s gave %d rows, want %d: %v", step.name, got, step.want, err)
		}
		list = append(list, figure{step.name, float64(pages(t, conn) - before)})
	}
	return list
}

// pages returns how many pages a connection has read so far.
func pages(t *testing.T, conn *sql.Conn) int {
	t.Helper()
	total := 0
	must(t, conn.Raw(func(c any) error {
		for _, op := range []driver.DBStatusOp{driver.DBStatusCacheHit, driver.DBStatusCacheMiss} {
			n, _, err := c.(driver.DBStatus).Status(op, false)
			if err != nil {
				return err
			}
			total += n
		}
		return nil
	}))
	return total
}
