package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite"
)

// faultyDatabase expects all kinds of commands to exit with 1 and to name the file and the fault.
func faultyDatabase(c *cli, fault string) {
	c.t.Helper()
	for _, args := range [][]string{
		{"enqueue", "k"}, {"list"}, {"stats"}, {"work", "--drain", "--exec", execFlag(c.t, "k", "echo")},
	} {
		c.fails(exitFailure, []string{c.db, fault}, args...)
	}
}

func TestFaultyDatabases(t *testing.T) {
	write := func(c *cli, text string) {
		c.t.Helper()
		if err := os.WriteFile(c.db, []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	t.Run("a folder", func(t *testing.T) {
		c := newCLI(t)
		c.db = t.TempDir()
		faultyDatabase(c, "directory")
	})
	t.Run("a text file", func(t *testing.T) {
		c := newCLI(t)
		text := strings.Repeat("This is no database.\n", 1000)
		write(c, text)
		faultyDatabase(c, "not a SQLite database")
		if after, err := os.ReadFile(c.db); err != nil || string(after) != text {
			t.Errorf("the file was changed: %v", err)
		}
	})
	t.Run("truncated", func(t *testing.T) {
		c := newCLI(t)
		c.enqueue("k")
		if err := os.Truncate(c.db, 5000); err != nil {
			t.Fatal(err)
		}
		faultyDatabase(c, "damaged")
	})
	t.Run("empty", func(t *testing.T) {
		c := newCLI(t)
		write(c, "")
		c.fails(exitFailure, []string{"no sqluice schema", "sqluice up"}, "list")
		c.enqueue("k") // it holds nothing: the same as no file
		write(c, "")
		if err := os.WriteFile(c.db+"-wal", []byte("jobs"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.fails(exitFailure, []string{c.db + "-wal", "left by a database that is gone"}, "enqueue", "k")
	})
	t.Run("of another program", func(t *testing.T) {
		c := newCLI(t)
		raw(t, c, "CREATE TABLE notes (text TEXT)")
		for _, args := range [][]string{{"enqueue", "k"}, {"work", "--drain", "--exec", execFlag(t, "k", "echo")}, {"list"}} {
			c.fails(exitFailure, []string{"no sqluice schema", "sqluice up"}, args...)
		}
		c.ok("up")
		c.enqueue("k")
	})
	t.Run("read-only", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write to read-only files")
		}
		c := newCLI(t)
		c.enqueue("k")
		if err := os.Chmod(c.db, 0o400); err != nil {
			t.Fatal(err)
		}
		c.fails(exitFailure, []string{"read-only"}, "enqueue", "k")
	})
	t.Run("of a newer schema", func(t *testing.T) {
		c := newCLI(t)
		c.enqueue("k")
		raw(t, c, "INSERT INTO sqluice_migrations (version_id, is_applied) VALUES (999, 1)")
		raw(t, c, "INSERT INTO sqluice_schema_versions (version, runs_from) VALUES (999, 999)")
		for _, args := range [][]string{{"enqueue", "k"}, {"list"}, {"up"}} {
			c.fails(exitFailure, []string{"version 999", "newer"}, args...)
		}
		if s := get[schemaStatus](c, "status"); s.State != "newer" || s.Schema != 999 {
			t.Errorf("status is %+v", s)
		}
	})
}

func TestALockedDatabaseIsAFailureAndLosesNothing(t *testing.T) {
	c := newCLI(t)
	c.enqueue("k")
	pool := open(t, c)
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.fails(exitFailure, []string{"locked by another program"}, "enqueue", "k")
	c.ok("list") // readers do not care
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if id := c.enqueue("k"); id != "2" {
		t.Errorf("the next job is %s", id)
	}
}

// open opens the database beside the command, with transactions that exclude other writers.
func open(t *testing.T, c *cli) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+c.db+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

func raw(t *testing.T, c *cli, statement string) {
	t.Helper()
	if _, err := open(t, c).ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestAFileSizeLimitIsAFailureAndPasses(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	limited := []string{fileLimit + "=400000"}
	payload := `"` + strings.Repeat("x", 100_000) + `"`
	added := 0
	for {
		p := c.startWith(limited, "enqueue", "k", payload)
		if err := p.waited(); err != nil {
			p.wantExit(exitFailure)
			if text := p.errs.String(); strings.Contains(text, "goroutine ") || !strings.Contains(text, "enqueue k") {
				t.Errorf("standard error is %q", text)
			}
			break
		}
		if added++; added > 100 {
			t.Fatal("the limit has no effect")
		}
	}
	c.enqueue("k", payload)
	if list := strings.Count(c.ok("list"), "pending"); list != added+1 {
		t.Errorf("there are %d jobs, want %d", list, added+1)
	}
}

func TestBackupWhileOthersWrite(t *testing.T) {
	c := newCLI(t)
	c.enqueue("k")
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if a := c.runWith(strings.NewReader("1\n2\n"), "enqueue", "k", "--stdin"); a.code != exitOK {
					t.Errorf("%+v", a)
					return
				}
			}
		}
	})
	copied := &cli{t, c.db + ".copy"}
	a := c.run("backup", copied.db)
	close(stop)
	writer.Wait()
	if a.code != exitOK || !strings.Contains(a.out, copied.db) {
		t.Fatalf("%+v", a)
	}
	if s := get[schemaStatus](copied, "status"); s.State != "up to date" {
		t.Errorf("the copy's status is %+v", s)
	}
	// Each transaction adds two jobs, so a consistent copy has an even number.
	if n := strings.Count(copied.ok("list", "--limit", "1000"), "pending"); n%2 != 1 {
		t.Errorf("the copy has %d jobs", n)
	}
	copied.drain(execFlag(t, "k", "echo"))
	c.fails(exitFailure, []string{copied.db, "exists"}, "backup", copied.db)
	c.fails(exitFailure, []string{c.db + ".missing"}, "backup", c.db+".missing/copy")
}

// restore keeps the old database and prints its name. It refuses a file that is no backup, by name, and changes nothing.
func TestRestore(t *testing.T) {
	c := newCLI(t)
	first := c.enqueue("k")
	backup := filepath.Join(t.TempDir(), "backup.db")
	c.ok("backup", backup)
	c.enqueue("k")
	c.fails(exitFailure, []string{c.db, backup + ".missing"}, "restore", backup+".missing")
	c.fails(exitFailure, []string{"it is the database itself"}, "restore", c.db)
	out := c.ok("restore", backup)
	_, kept, found := strings.Cut(strings.TrimSpace(out), "the database before is ")
	if !found || !strings.HasPrefix(out, "restored "+c.db+" from "+backup) {
		t.Fatalf("restore says %q", out)
	}
	if list := c.ok("list"); strings.Count(list, "pending") != 1 || !strings.Contains(list, first) {
		t.Errorf("the database has %s", list)
	}
	if list := (&cli{t, kept}).ok("list"); strings.Count(list, "pending") != 2 {
		t.Errorf("%s has %s", kept, list)
	}
	c.fails(exitUsage, []string{"pg_restore"}, "--db", "postgres://localhost/x", "restore", backup)
}
