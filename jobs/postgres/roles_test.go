package postgres

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/internal/test/gates"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// roles creates a database in which one role has migrated and another has the documented grants.
func roles(t *testing.T) (owner, worker string) {
	t.Helper()
	cluster := testdb.StartCluster(t, nil) // roles belong to a whole server
	address := cluster.Database(t)
	exec(t, dial(t, address), "roles")
	owner, worker = as(t, address, "queue_owner"), as(t, address, "queue_worker")
	migrated(t, owner, WithSchema("queue"))
	for range 2 {
		exec(t, dial(t, owner), "grants")
	}
	return owner, worker
}

// as returns a URL with another user.
func as(t *testing.T, address, user string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	must(t, err)
	parsed.User = url.User(user)
	return parsed.String()
}

// A role without the right to change the tables can do all that clients and workers do, and can change no table.
func TestRoles(t *testing.T) {
	t.Parallel()
	_, worker := roles(t)
	store, client := open(t, worker, WithSchema("queue"))
	lifeOfJobs(t, store, client)

	names, err := client.Migrate(t.Context()) // as programs do at their start: there is nothing to do
	must(t, err)
	want(t, "migrations", len(names), 0)
	conn := dial(t, worker)
	for _, ddl := range []string{"create_table", "drop_table", "truncate", "disable_trigger", "create_schema"} {
		_, err := conn.Exec(t.Context(), sqlFile(t, ddl))
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != codePrivilege {
			t.Errorf("%s gives %v", ddl, err)
		}
	}
	if _, err := store.Migrations().MigrateDown(t.Context()); !errors.Is(err, errMigrator) || !strings.Contains(err.Error(), "docs/postgres.md") {
		t.Errorf("to undo a migration gives %v", err)
	}
	for _, opts := range [][]Option{{WithSchema("other")}, {}} { // neither create a schema, nor tables in public
		_, client := open(t, worker, opts...)
		if _, err := client.Migrate(t.Context()); !errors.Is(err, errMigrator) || strings.Contains(err.Error(), "what a worker's role needs") {
			t.Errorf("to migrate gives %v", err)
		}
	}
	must(t, client.CheckSchema(t.Context()))
	wantDrained(t, client, 1)
}

// The tests run the documented statements.
func TestGrantsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "postgres.md"))
	must(t, err)
	for _, name := range []string{"roles", "grants"} {
		for line := range strings.Lines(sqlFile(t, name)) {
			if !strings.Contains(string(page), line) {
				t.Errorf("docs/postgres.md does not have the line of %s.sql: %s", name, line)
			}
		}
	}
}

// A role from which policies hide rows is refused with the name of the table, for every table.
func TestRowSecurityIsRefused(t *testing.T) {
	t.Parallel()
	owner, worker := roles(t)
	conn := dial(t, owner)
	for _, table := range []string{"sqluice_jobs", "sqluice_pauses", "sqluice_migrations"} {
		exec(t, conn, "hide_rows", table)
		_, client := open(t, worker, WithSchema("queue"))
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
		for what, err := range map[string]error{"an enqueue": err, "a check": client.CheckSchema(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), "row-level security") || !strings.Contains(err.Error(), table) || !strings.Contains(err.Error(), "queue_worker") {
				t.Errorf("%s, %s: %v", table, what, err)
			}
		}
		exec(t, conn, "show_rows", table)
		_, err = client.Enqueue(t.Context(), "k", []byte("{}"))
		must(t, err)

		// Beside a worker, which checks the schema each second.
		exec(t, conn, "hide_rows", table)
		for n := 0; err == nil && n <= lookAgain; n++ {
			err = client.CheckSchema(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "row-level security") {
			t.Errorf("a worker is not told of %s: %v", table, err)
		}
		exec(t, conn, "show_rows", table)
	}
}

// moving matches the statements of `sqluice copy`, which only the owner runs.
var moving = regexp.MustCompile(`^(CloseQueue|OpenQueue|Import\w+)$`)

// Every statement can be run with the grants, and none of these can be left out.
func TestGrantsAreMinimal(t *testing.T) {
	t.Parallel()
	owner, worker := roles(t)
	root, err := gates.Root()
	must(t, err)
	statements, err := gates.Statements(filepath.Join(root, "db", "postgres"))
	must(t, err)
	names := &namespace{schema: "queue"}
	statements = append(statements, gates.Statement{Name: "schema_versions", SQL: control("schema_versions")})
	conn := dial(t, worker)
	excluded := 0
	for _, s := range statements {
		if moving.MatchString(s.Name) {
			excluded++
			continue
		}
		if strings.HasPrefix(s.SQL, "LOCK") { // SQL cannot prepare it
			continue
		}
		_, err := conn.Exec(t.Context(), "PREPARE "+s.Name+" AS "+names.qualify(s.SQL))
		must(t, err)
	}
	want(t, "statements of moves", excluded, 15)
	// refused returns the number of statements that the role may not run. EXPLAIN needs the same rights.
	refused := func() (n int) {
		for _, s := range statements {
			if moving.MatchString(s.Name) {
				continue
			}
			execute := "EXPLAIN EXECUTE " + s.Name
			if s.Args > 0 {
				execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", s.Args), ", ") + ")"
			}
			if strings.HasPrefix(s.SQL, "LOCK") {
				execute = "DO $$ BEGIN " + strings.TrimSpace(names.qualify(s.SQL)) + "; END $$"
			}
			_, err := conn.Exec(t.Context(), execute, pgx.QueryExecModeSimpleProtocol)
			var e *pgconn.PgError
			if errors.As(err, &e) && e.Code == codePrivilege {
				n++
			} else {
				must(t, err)
			}
		}
		return n
	}
	want(t, "refused statements", refused(), 0)
	for table, privileges := range map[string]string{
		"sqluice_jobs": "SELECT INSERT UPDATE DELETE", "sqluice_workers": "SELECT INSERT UPDATE DELETE",
		"sqluice_job_errors": "SELECT INSERT UPDATE", "sqluice_moves": "SELECT", "sqluice_kind_settings": "SELECT", "sqluice_job_audit": "SELECT INSERT DELETE", "sqluice_sensitive_fields": "SELECT INSERT DELETE", "sqluice_migrations": "SELECT",
		"sqluice_schedules": "SELECT INSERT UPDATE DELETE", "sqluice_schedule_ticks": "SELECT INSERT UPDATE DELETE", "sqluice_pauses": "SELECT INSERT UPDATE DELETE", "sqluice_declarations": "SELECT INSERT UPDATE DELETE", "sqluice_retentions": "SELECT INSERT UPDATE DELETE", "sqluice_unique_keys": "SELECT INSERT UPDATE DELETE",
		"sqluice_limits": "SELECT INSERT UPDATE DELETE", "sqluice_limit_keys": "SELECT INSERT UPDATE", "sqluice_lanes": "SELECT INSERT UPDATE DELETE", "sqluice_declared_limits": "SELECT",
	} {
		for privilege := range strings.FieldsSeq(privileges) {
			admin := dial(t, owner)
			_, err := admin.Exec(t.Context(), "REVOKE "+privilege+" ON queue."+table+" FROM queue_worker")
			must(t, err)
			if refused() == 0 {
				t.Errorf("%s on %s is granted and not needed", privilege, table)
			}
			exec(t, admin, "grants")
		}
	}
	want(t, "refused statements in the end", refused(), 0)
}

// A missing privilege is named, with a link to the documentation.
func TestMissingPrivilege(t *testing.T) {
	t.Parallel()
	owner, worker := roles(t)
	admin := dial(t, owner)
	for _, test := range []struct{ revoke, text string }{
		{"INSERT ON queue.sqluice_jobs", "permission denied for table sqluice_jobs"},
		{"UPDATE ON queue.sqluice_workers", "permission denied for table sqluice_workers"},
		{"SELECT ON queue.sqluice_migrations", "permission denied for table sqluice_migrations"},
		{"USAGE ON SCHEMA queue", "schema"},
	} {
		t.Run(test.revoke, func(t *testing.T) {
			_, err := admin.Exec(t.Context(), "REVOKE "+test.revoke+" FROM queue_worker")
			must(t, err)
			defer exec(t, admin, "grants")
			_, client := open(t, worker, WithSchema("queue"))
			_, enqueueErr := client.Enqueue(t.Context(), "k", []byte("{}"))
			runErr := newRunner(t, client, jobs.Config{}, handlers{"k": nothing}).Drain(t.Context())
			err = errors.Join(enqueueErr, runErr)
			if !errors.Is(err, errPrivilege) || !strings.Contains(err.Error(), test.text) || errors.Is(err, jobs.ErrUnavailable) {
				t.Errorf("the errors are %v", err)
			}
		})
	}
	_, client := open(t, worker, WithSchema("queue"))
	wantDrained(t, client, 1)
}
