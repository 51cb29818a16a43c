package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver called pgx

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// PostgresVariable names the environment variable that holds the URL of a server to use instead of a temporary one.
// Its user must be allowed to create databases.
const PostgresVariable = "SQLUICE_TEST_POSTGRES"

// Postgres is a server in which tests make their databases.
type Postgres struct {
	url     string
	cluster *Cluster // the temporary server; nil for a given one

	mu    sync.Mutex
	admin *pgx.Conn // for databases that come and go; nil before the first
}

// StartPostgres returns the server of [PostgresVariable], or else that of a [Cluster]. Without either the test is
// skipped, and fails where CI=true.
func StartPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	if url := os.Getenv(PostgresVariable); url != "" {
		p := &Postgres{url: url}
		tb.Cleanup(func() { p.leave(tb) })
		return p
	}
	return StartCluster(tb, nil).Postgres
}

// unavailable ends a test that cannot run here.
func unavailable(tb testing.TB, err error) {
	tb.Helper()
	notTested(tb, "PostgreSQL", err, "install PostgreSQL or set "+PostgresVariable+" to a server's URL")
}

// notTested ends a test without a server.
func notTested(tb testing.TB, server string, err error, remedy string) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf("no %s to test with, which CI must have: %v; %s", server, err, remedy)
	}
	tb.Skipf("NOT TESTED on %s: %v; %s", server, err, remedy)
}

// URL leads to the server's administrative database, as a user who may do everything there.
func (p *Postgres) URL() string { return p.url }

// Database makes an empty database, which is dropped when the test ends, and returns its URL.
func (p *Postgres) Database(tb testing.TB) string {
	tb.Helper()
	return p.create(tb, "template0")
}

// Encoded makes an empty database that stores texts in an encoding, dropped when the test ends, and returns its URL.
func (p *Postgres) Encoded(tb testing.TB, encoding string) string {
	tb.Helper()
	return p.create(tb, "template0 ENCODING '"+encoding+"' LC_COLLATE 'C' LC_CTYPE 'C'")
}

func (p *Postgres) create(tb testing.TB, template string) string {
	tb.Helper()
	name := "sqluice_" + strings.ToLower(rand.Text())
	if err := p.administer(tb.Context(), func(conn *pgx.Conn) string { return creation(conn, name, template) }); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if p.cluster != nil && p.cluster.running == nil {
			return // the database goes with the files of the server that was stopped
		}
		if err := p.administer(context.Background(), func(*pgx.Conn) string { return "DROP DATABASE " + name + " WITH (FORCE)" }); err != nil {
			tb.Error(err)
		}
	})
	parsed, err := url.Parse(p.url)
	if err != nil {
		tb.Fatalf("%s: %v", PostgresVariable, err)
	}
	parsed.Path = "/" + name
	return parsed.String()
}

// Pool makes an empty database and returns a pool on it, which is closed when the test ends. The pool prepares no
// statements by itself, so that the schema can change.
func (p *Postgres) Pool(tb testing.TB) *sql.DB {
	tb.Helper()
	parsed, err := url.Parse(p.Database(tb))
	if err != nil {
		tb.Fatal(err)
	}
	query := parsed.Query()
	query.Set("default_query_exec_mode", "exec")
	parsed.RawQuery = query.Encode()
	return open(tb, "pgx", parsed.String())
}

// administer runs a statement in the administrative database. All statements share one connection, because a connection for each would
// be a quarter of all connections of the tests. After the server was away it connects again.
func (p *Postgres) administer(ctx context.Context, statement func(*pgx.Conn) string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for fresh := false; ; {
		if p.admin == nil || p.admin.IsClosed() {
			conn, err := pgx.Connect(ctx, p.url)
			if err != nil {
				return fmt.Errorf("connect to PostgreSQL: %w", err)
			}
			p.admin, fresh = conn, true
		}
		text := statement(p.admin)
		_, err := p.admin.Exec(ctx, text)
		if err == nil {
			return nil
		}
		if fresh || !p.admin.IsClosed() {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
}

// leave closes the administrative connection.
func (p *Postgres) leave(tb testing.TB) {
	tb.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.admin == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.admin.Close(ctx); err != nil {
		tb.Errorf("close the administrative connection: %v", err)
	}
	p.admin = nil
}

// creation returns the statement that makes a database. A server from version 15 on copies files: its default, which writes each page
// to the WAL, takes twice as long.
func creation(conn *pgx.Conn, name, template string) string {
	statement := "CREATE DATABASE " + name + " TEMPLATE " + template
	major, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), ".")
	if n, err := strconv.Atoi(major); err == nil && n >= 15 {
		statement += " STRATEGY FILE_COPY"
	}
	return statement
}

// Template makes a database, fills it with fill, and returns its name for [Postgres.Copy]: a copy is cheaper than a
// migration for every test. Where the server supports it, texts sort by the order of a language there, as in most real
// databases, and not by their bytes.
func (p *Postgres) Template(tb testing.TB, fill func(url string)) (name string) {
	tb.Helper()
	template := "template0"
	if p.hasLanguages(tb) {
		template += " LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
	}
	url := p.create(tb, template)
	fill(url)
	return databaseName(tb, url)
}

// Migrated is Template for databases with the newest schema, by a store that open opens.
func (p *Postgres) Migrated(tb testing.TB, open func(url string) (jobs.Store, error)) (name string) {
	tb.Helper()
	return p.Template(tb, func(url string) {
		store, err := open(url)
		if err == nil {
			_, err = engine.StoreOf(store).Migrations().Migrate(tb.Context())
			err = errors.Join(err, store.Close())
		}
		if err != nil {
			tb.Fatalf("migrate %s: %v", url, err)
		}
	})
}

// hasLanguages reports whether a database can have the order of a language: from PostgreSQL 15 on, if it was built so.
func (p *Postgres) hasLanguages(tb testing.TB) (has bool) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), p.url)
	if err != nil {
		tb.Fatal(err)
	}
	err = conn.QueryRow(tb.Context(), `SELECT CAST(current_setting('server_version_num') AS BIGINT) >= 150000
		AND EXISTS (SELECT 1 FROM pg_collation AS c WHERE c.collprovider = 'i')`).Scan(&has)
	if err := errors.Join(err, conn.Close(tb.Context())); err != nil {
		tb.Fatal(err)
	}
	return has
}

// Copy makes a database from a template. It is dropped when the test ends. Copy returns its URL.
func (p *Postgres) Copy(tb testing.TB, template string) string {
	tb.Helper()
	return p.create(tb, template)
}

func databaseName(tb testing.TB, text string) string {
	tb.Helper()
	parsed, err := url.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimPrefix(parsed.Path, "/")
}
