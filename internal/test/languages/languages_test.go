package languages

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver "pgx"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// programs holds the languages of the examples: the commands of their programs, and the tools that they need.
var programs = []struct {
	language, suffix, command string
	check                     []string // that the command must run
}{
	{"python", ".py", "python3", []string{"-c", "import psycopg, sqlite3"}},
	{"node", ".mjs", "node", []string{"--version"}},
	{"ruby", ".rb", "ruby", []string{"-e", `require "sqlite3"; require "pg"`}},
	{"php", ".php", "php", []string{"-r", `new ReflectionExtension("pdo_sqlite"); new ReflectionExtension("pdo_pgsql");`}},
}

const folder = "../../../examples/languages"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An order and its job are there after the commit, and neither after an error; the job's handler gets the payload.
func TestProgramsEnqueueInTheirTransaction(t *testing.T) {
	for _, p := range programs {
		t.Run(p.language, func(t *testing.T) {
			t.Parallel()
			command := testdb.Program(t, p.command, p.check...)
			place := filepath.Join(folder, p.language)
			if p.language == "node" {
				place = modules(t)
			}
			t.Run("sqlite", func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "app.db")
				store, err := sqlite.Open(t.Context(), path)
				must(t, err)
				defer func() { must(t, store.Close()) }()
				db, err := sql.Open("sqlite", path)
				must(t, err)
				test(t, store, db, "sqlite", command, filepath.Join(place, "order_sqlite"+p.suffix), path)
			})
			t.Run("postgres", func(t *testing.T) {
				t.Parallel()
				server := testdb.StartPostgres(t)
				url := server.Database(t)
				store, err := postgres.Open(t.Context(), url)
				must(t, err)
				defer func() { must(t, store.Close()) }()
				db, err := sql.Open("pgx", url)
				must(t, err)
				if p.language == "php" {
					config, err := pgx.ParseConfig(url)
					must(t, err)
					url = fmt.Sprintf("pgsql:host=%s;port=%d;dbname=%s;user=%s;password=%s", config.Host, config.Port, config.Database, config.User, config.Password)
				}
				test(t, store, db, "postgres", command, filepath.Join(place, "order_postgres"+p.suffix), url)
			})
		})
	}
}

func test(t *testing.T, store jobs.Store, db *sql.DB, engine, command, program, database string) {
	t.Helper()
	defer func() { must(t, db.Close()) }()
	client := jobs.New(store)
	_, err := client.Migrate(t.Context())
	must(t, err)
	schema, err := os.ReadFile(filepath.Join("testdata", engine+".sql"))
	must(t, err)
	_, err = db.ExecContext(t.Context(), string(schema))
	must(t, err)
	for customer, works := range map[string]bool{"Ada": true, "nobody": false, `O'Hara "é" \`: true} {
		output, err := exec.CommandContext(t.Context(), command, program, database, customer).CombinedOutput()
		if works {
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
		} else if !errors.As(err, new(*exec.ExitError)) {
			t.Errorf("the program that fails: %v\n%s", err, output)
		}
	}
	rows := customers(t, db)
	if want := []string{"Ada", `O'Hara "é" \`}; !slices.Equal(rows, want) {
		t.Errorf("the orders are %q", rows)
	}
	type receipt struct {
		Order    int
		Customer string
	}
	var mu sync.Mutex
	var got []string
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	jobs.Kind[receipt]{Name: "receipt"}.Handle(runner, func(_ context.Context, _ jobs.Job, args receipt) error {
		mu.Lock()
		defer mu.Unlock()
		if args.Order == 0 {
			t.Errorf("the job is %+v", args)
		}
		got = append(got, args.Customer)
		return nil
	})
	must(t, runner.Drain(t.Context()))
	slices.Sort(got)
	if !slices.Equal(got, rows) {
		t.Errorf("the jobs are of %q", got)
	}
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{})
	must(t, err)
	if len(list) != len(rows) {
		t.Errorf("there are %d jobs", len(list))
	}
	for _, job := range list {
		if strings.Contains(job.UniqueKey, ".") {
			t.Errorf("the unique key %q is that of a number, and not of its text", job.UniqueKey)
		}
	}
}

// customers returns those of all orders, sorted.
func customers(t *testing.T, db *sql.DB) (list []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/customers.sql")
	must(t, err)
	rows, err := db.QueryContext(t.Context(), string(text))
	must(t, err)
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		list = append(list, name)
	}
	must(t, errors.Join(rows.Err(), rows.Close()))
	slices.Sort(list)
	return list
}

// modules returns a folder with the programs for Node.js and the packages that package-lock.json pins, none of whose scripts runs.
func modules(t *testing.T) string {
	t.Helper()
	place := t.TempDir()
	must(t, os.CopyFS(place, os.DirFS(filepath.Join(folder, "node"))))
	command := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
	command.Dir = place
	if output, err := command.CombinedOutput(); err != nil {
		if os.Getenv("CI") != "true" {
			t.Skipf("NOT TESTED: npm ci: %v\n%s", err, output)
		}
		t.Fatalf("npm ci: %v\n%s", err, output)
	}
	return place
}
