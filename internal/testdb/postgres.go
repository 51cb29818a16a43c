package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver called pgx
)

// PostgresVariable names the environment variable that holds the URL of a server to use instead of a temporary one.
// Its user must be allowed to create databases.
const PostgresVariable = "SQLUICE_TEST_POSTGRES"

// Postgres is a server in which tests make databases of their own.
type Postgres struct {
	url string
}

// StartPostgres returns the server of [PostgresVariable], or else starts one from the local binaries that stops, and
// whose files are removed, when the test ends. Without either the test is skipped, and fails where CI=true.
func StartPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	if url := os.Getenv(PostgresVariable); url != "" {
		return &Postgres{url: url}
	}
	folder, err := postgresBinaries()
	if err != nil {
		unavailable(tb, err)
	}
	return &Postgres{url: startCluster(tb, folder)}
}

// unavailable ends a test that cannot be run here.
func unavailable(tb testing.TB, err error) {
	tb.Helper()
	const remedy = "install PostgreSQL or set " + PostgresVariable + " to a server's URL"
	if os.Getenv("CI") == "true" {
		tb.Fatalf("no PostgreSQL to test with, which CI must have: %v; %s", err, remedy)
	}
	tb.Skipf("NOT TESTED on PostgreSQL: %v; %s", err, remedy)
}

// Database makes an empty database, which is dropped when the test ends, and returns its URL.
func (p *Postgres) Database(tb testing.TB) string {
	tb.Helper()
	return p.create(tb, "template0")
}

func (p *Postgres) create(tb testing.TB, template string) string {
	tb.Helper()
	name := "sqluice_" + strings.ToLower(rand.Text())
	p.administer(tb, tb.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template)
	tb.Cleanup(func() {
		p.administer(tb, context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
	})
	parsed, err := url.Parse(p.url)
	if err != nil {
		tb.Fatalf("%s: %v", PostgresVariable, err)
	}
	parsed.Path = "/" + name
	return parsed.String()
}

// Pool makes an empty database and returns a pool on it, which is closed when the test ends.
func (p *Postgres) Pool(tb testing.TB) *sql.DB {
	tb.Helper()
	return open(tb, "pgx", p.Database(tb))
}

func (p *Postgres) administer(tb testing.TB, ctx context.Context, statement string) {
	tb.Helper()
	if err := execOnce(ctx, p.url, statement); err != nil {
		tb.Fatal(err)
	}
}

func execOnce(ctx context.Context, url, statement string) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return conn.Close(ctx)
}

// Template makes a database, fills it with fill, and returns its name for [Postgres.Copy]: to copy one costs less than to
// migrate for every test.
func (p *Postgres) Template(tb testing.TB, fill func(url string)) (name string) {
	tb.Helper()
	url := p.Database(tb)
	fill(url)
	return databaseName(tb, url)
}

// Copy makes a database like a template, which is dropped when the test ends, and returns its URL.
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
