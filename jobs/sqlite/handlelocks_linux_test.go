package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"github.com/sqluice/sqluice/jobs"
)

// lockingVariable names the role of a process of this test. The first lock in a process determines how SQLite locks.
const lockingVariable = "SQLUICE_TEST_LOCKING"

// playsLocking runs this binary again as another process, in a role with the database in a folder.
func playsLocking(t *testing.T, part, folder string) {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	command := osexec.CommandContext(t.Context(), program, "-test.run=^TestLockingPart$", "-test.v")
	command.Env = append(os.Environ(), lockingVariable+"="+part, "TEST_FOLDER="+folder)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", part, err, output)
	}
}

// A program that has opened other SQLite files before the queue's has locks that a read of the file does not drop; and if it turned
// them off, the store says so.
func TestLocksOfHandles(t *testing.T) {
	playsLocking(t, "first another file", t.TempDir())
	playsLocking(t, "turned off", t.TempDir())
}

// TestLockingPart is not a test by itself.
func TestLockingPart(t *testing.T) {
	folder := os.Getenv("TEST_FOLDER")
	switch os.Getenv(lockingVariable) {
	case "first another file":
		openAnother(t, folder)
		readTheFile(t, folder)
	case "turned off":
		_, err := sqlite.OFDLocking(false)
		must(t, err)
		openAnother(t, folder)
		log := &journal{}
		store, err := Open(t.Context(), filepath.Join(folder, "jobs.db"), WithLogger(slog.New(log)))
		must(t, err)
		if health := store.Health(); len(health) != 1 || !strings.Contains(health[0], "backup") {
			t.Errorf("the store's health is %q", health)
		}
		must(t, store.Close()) // waits for the log
		if !log.holds("must not be read as a file") {
			t.Error("the log says nothing")
		}
	case "write":
		if n := scan[int](t, plain(t, filepath.Join(folder, "jobs.db")), "count_jobs"); n != 1 {
			t.Errorf("%d jobs are there, not 1", n)
		}
	default:
		t.Skip("it is a part of TestLocksOfHandles")
	}
}

// openAnother uses a SQLite file that is not the queue's.
func openAnother(t *testing.T, folder string) {
	exec(t, plain(t, filepath.Join(folder, "another.db")), "create_filler")
}

// readTheFile reads the database file of a queue in an application's pool, and then lets another process use it. Without locks of
// handles that process may be the last to close it, and remove the WAL.
func readTheFile(t *testing.T, folder string) {
	path := filepath.Join(folder, "jobs.db")
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	must(t, err)
	t.Cleanup(func() { must(t, pool.Close()) })
	must(t, pool.PingContext(t.Context()))
	store, err := New(t.Context(), pool)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	if health := store.Health(); len(health) > 0 || !sqlite.OFDLockingEnabled() {
		t.Errorf("the locks are handles': %t; the store's health is %q", sqlite.OFDLockingEnabled(), health)
	}
	client := jobs.New(store)
	_, err = client.Migrate(t.Context())
	must(t, err)
	id := enqueue(t, client, "k")
	_, err = os.ReadFile(path)
	must(t, err)
	playsLocking(t, "write", folder)
	if _, err := client.Enqueue(t.Context(), "k", json.RawMessage("1")); err != nil {
		t.Errorf("an enqueue after the read gives %v", err)
	}
	if _, err := client.Get(context.Background(), id); err != nil {
		t.Error(err)
	}
}
