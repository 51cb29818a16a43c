package sql_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// gooseVariable names the environment variable that holds the goose command, which `make goose-check` builds.
const gooseVariable = "SQLUICE_GOOSE"

// TestGooseCommand migrates as a deploy pipeline does, with the real command on the folders of migrations, and then
// looks at the database as the library does.
func TestGooseCommand(t *testing.T) {
	command := os.Getenv(gooseVariable)
	if command == "" {
		t.Skipf("%s is not set: make goose-check runs this", gooseVariable)
	}
	goose := func(t *testing.T, engine, driver, database string, args ...string) {
		t.Helper()
		args = append([]string{"-table", testdb.VersionTable, "-dir", filepath.Join("migrations", engine), driver, database}, args...)
		output, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput()
		t.Logf("goose %s %s\n%s", engine, args[len(args)-1], output)
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(t *testing.T, store jobs.Store, want int64) {
		t.Helper()
		found, err := port.StoreOf(store).Migrations().Schema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want < 0 {
			want = found.Want
		}
		if found.Have != want {
			t.Errorf("the library finds version %d, not %d", found.Have, want)
		}
	}
	upAndDown := func(t *testing.T, engine, driver, database string, store jobs.Store) {
		t.Helper()
		goose(t, engine, driver, database, "up")
		check(t, store, -1)
		goose(t, engine, driver, database, "status")
		goose(t, engine, driver, database, "down-to", "0")
		check(t, store, 0)
		goose(t, engine, driver, database, "up")
		check(t, store, -1)
		if _, err := jobs.New(store).Enqueue(t.Context(), "k", []byte("{}")); err != nil {
			t.Error(err)
		}
	}
	// An owner's migration is there before the project's newest one: the command runs that one with -allow-missing alone.
	besideOwn := func(t *testing.T, engine, driver, database string, store jobs.Store) {
		t.Helper()
		folder := t.TempDir()
		run := func(args ...string) (string, error) {
			args = append([]string{"-table", testdb.VersionTable, "-dir", folder}, args...)
			output, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput()
			return string(output), err
		}
		files, err := os.ReadDir(filepath.Join("migrations", engine))
		if err != nil {
			t.Fatal(err)
		}
		newest := files[len(files)-1].Name()
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join("migrations", engine, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if file.Name() == newest {
				own := "-- +goose Up\nALTER TABLE sqluice_jobs ADD COLUMN region TEXT;\n-- +goose Down\nALTER TABLE sqluice_jobs DROP COLUMN region;\n"
				if err := os.WriteFile(filepath.Join(folder, "20261128120000_region.sql"), []byte(own), 0o600); err != nil {
					t.Fatal(err)
				}
				if output, err := run(driver, database, "up"); err != nil {
					t.Fatalf("up with the owner's migration: %v\n%s", err, output)
				}
			}
			if err := os.WriteFile(filepath.Join(folder, file.Name()), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if output, err := run(driver, database, "up"); err == nil || !strings.Contains(output, "missing migrations") || !strings.Contains(output, newest) {
			t.Errorf("up without the flag gives %v\n%s", err, output)
		}
		if output, err := run("-allow-missing", driver, database, "up"); err != nil {
			t.Errorf("up with -allow-missing: %v\n%s", err, output)
		}
		check(t, store, -1)
		if err := jobs.New(store).CheckSchema(t.Context()); err != nil {
			t.Error(err)
		}
	}
	t.Run("sqlite beside a migration of the owner", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		besideOwn(t, "sqlite", "sqlite3", path, testdb.OpenSQLite(t, path))
	})
	t.Run("postgres beside a migration of the owner", func(t *testing.T) {
		url := shared.Postgres(t).Database(t)
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		besideOwn(t, "postgres", "postgres", url, store)
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		goose(t, "sqlite", "sqlite3", path, "up")
		goose(t, "sqlite", "sqlite3", path, "down-to", "0")
		store := testdb.OpenSQLite(t, path, sqlite.MustExist())
		upAndDown(t, "sqlite", "sqlite3", path, store)
	})
	t.Run("postgres", func(t *testing.T) {
		url := shared.Postgres(t).Database(t)
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		upAndDown(t, "postgres", "postgres", url, store)
	})
}
