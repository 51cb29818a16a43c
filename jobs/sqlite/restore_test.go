package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// idsAt returns the ids of the jobs of a database that no process has open.
func idsAt(t *testing.T, path string) (ids []int64) {
	t.Helper()
	store, err := openBackend(t.Context(), path)
	must(t, err)
	list, err := inspect.New(jobs.New(store)).List(t.Context(), inspect.Filter{})
	must(t, err)
	must(t, store.Close())
	for _, job := range list {
		ids = append(ids, job.ID)
	}
	return ids
}

// backedUp creates a queue with one job, a backup of it, and another job after it.
func backedUp(t *testing.T) (path, backup string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "jobs.db")
	backup = filepath.Join(t.TempDir(), "copy.db")
	store, err := openBackend(t.Context(), path)
	must(t, err)
	client := jobs.New(store)
	_, err = client.Migrate(t.Context())
	must(t, err)
	_, err = client.Enqueue(t.Context(), "k", json.RawMessage("1"))
	must(t, err)
	must(t, client.Backup(t.Context(), backup))
	_, err = client.Enqueue(t.Context(), "k", json.RawMessage("2"))
	must(t, err)
	must(t, store.Close())
	must(t, os.Chmod(path, 0o640))
	return path, backup
}

func TestRestore(t *testing.T) {
	path, backup := backedUp(t)
	kept, err := Restore(t.Context(), backup, path)
	must(t, err)
	if ids := idsAt(t, path); len(ids) != 1 {
		t.Errorf("the database has the jobs %v", ids)
	}
	if ids := idsAt(t, kept); len(ids) != 2 {
		t.Errorf("the one before has the jobs %v", ids)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	for _, name := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Lstat(path + name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	if list, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".sqluice-restore-*")); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// A file at the path is not replaced: a service that started meanwhile has created it. The error names where the database is.
func TestRestoreOverANewFile(t *testing.T) {
	path, backup := backedUp(t)
	_, err := replaceWith(filepath.Join(t.TempDir(), "none"), path)
	if !errors.Is(err, fs.ErrNotExist) || len(idsAt(t, path)) != 2 {
		t.Errorf("without a copy: %v, and the database has the jobs %v", err, idsAt(t, path))
	}
	must(t, withCopy(backup, path, nil, func(draft string) error {
		if list, err := filepath.Glob(path + ".before-restore-*"); err != nil || len(list) > 0 {
			t.Errorf("before the copy is complete the database is moved: %v, %v", list, err)
		}
		if err := nameFile(draft, path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a file at the path is replaced: %v", err)
		}
		return nil
	}))
	if ids := idsAt(t, path); len(ids) != 2 {
		t.Errorf("the database has the jobs %v", ids)
	}
}

// Copying a file over the old one leaves this state after a crash: SQLite takes the old WAL for the new file's.
func TestRestoreAfterACrash(t *testing.T) {
	path, backup := backedUp(t)
	store, err := openBackend(t.Context(), path)
	must(t, err)
	_, err = jobs.New(store).Enqueue(t.Context(), "k", json.RawMessage("3"))
	must(t, err)
	crashed := filepath.Join(t.TempDir(), "jobs.db")
	for _, suffix := range []string{"", "-wal"} { // as the files of a killed process are
		data, err := os.ReadFile(path + suffix)
		must(t, err)
		must(t, os.WriteFile(crashed+suffix, data, 0o600))
	}
	must(t, store.Close())
	kept, err := Restore(t.Context(), backup, crashed)
	must(t, err)
	if ids := idsAt(t, crashed); len(ids) != 1 {
		t.Errorf("the database has the jobs %v", ids)
	}
	if ids := idsAt(t, kept); len(ids) != 3 {
		t.Errorf("the one before has the jobs %v", ids)
	}
}

// besideStaleWAL returns the path of a copy of a backup, beside a copy of the WAL of its source database.
func besideStaleWAL(t *testing.T, path, backup string) (crashed string) {
	t.Helper()
	crashed = filepath.Join(t.TempDir(), "jobs.db")
	for from, to := range map[string]string{backup: crashed, path + "-wal": crashed + "-wal"} {
		data, err := os.ReadFile(from)
		must(t, err)
		must(t, os.WriteFile(to, data, 0o600))
	}
	before := time.Now().Add(-time.Minute)
	must(t, os.Chtimes(crashed+"-wal", before, before))
	return crashed
}

// A backup was copied over a database beside the WAL of a killed process: the error names the WAL.
func TestACopyBesideAStaleWALIsNamed(t *testing.T) {
	path, backup := backedUp(t)
	store, err := openBackend(t.Context(), path)
	must(t, err)
	_, err = jobs.New(store).EnqueueMany(t.Context(), "k", slices.Repeat([]json.RawMessage{json.RawMessage("3")}, 2000))
	must(t, err)
	crashed := besideStaleWAL(t, path, backup)
	must(t, store.Close())
	store, err = openBackend(t.Context(), crashed)
	if err == nil {
		t.Fatal("it was opened", store.Close())
	}
	if !errors.Is(err, errCorrupt) || !strings.Contains(err.Error(), crashed+"-wal was older than the database") {
		t.Errorf("the error is %v", err)
	}
	_, err = Restore(t.Context(), backup, crashed)
	must(t, err)
	if ids := idsAt(t, crashed); len(ids) != 1 {
		t.Errorf("the database has the jobs %v", ids)
	}
}

// The same for a database that can be opened: a statement that meets the damage names the file. The WAL is that of a database with
// three tables more, whose pages have other places: the page of pauses overwrites that of the index of moves, which CheckOpen reads.
func TestAStaleWALIsNamedByStatements(t *testing.T) {
	_, backup := backedUp(t)
	path, other := filepath.Join(t.TempDir(), "other.db"), filepath.Join(t.TempDir(), "jobs.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE orders (id INTEGER PRIMARY KEY); CREATE TABLE customers (id INTEGER PRIMARY KEY); CREATE TABLE items (id INTEGER PRIMARY KEY)")
	must(t, errors.Join(err, db.Close()))
	store, err := openBackend(t.Context(), path)
	must(t, err)
	_, err = jobs.New(store).Migrate(t.Context())
	must(t, err)
	must(t, errors.Join(store.Upkeep().Backup(t.Context(), other), store.Close()))
	store, err = openBackend(t.Context(), other)
	must(t, err)
	_, err = jobs.New(store).PauseKind(t.Context(), "q", "k")
	must(t, err)
	crashed := besideStaleWAL(t, other, backup)
	must(t, store.Close())
	store, err = openBackend(t.Context(), crashed)
	must(t, err)
	err = jobs.New(store).CheckOpen(t.Context())
	if !errors.Is(err, errCorrupt) || !strings.Contains(err.Error(), crashed+"-wal was older than the database") {
		t.Errorf("the error is %v", err)
	}
	must(t, store.Close())
}

func TestRestoreOverADamagedFile(t *testing.T) {
	path, backup := backedUp(t)
	must(t, os.WriteFile(path, []byte("no database, but of some length"), 0o600))
	must(t, os.WriteFile(path+"-wal", []byte("no WAL"), 0o600))
	kept, err := Restore(t.Context(), backup, path)
	must(t, err)
	if ids := idsAt(t, path); len(ids) != 1 {
		t.Errorf("the database has the jobs %v", ids)
	}
	for _, suffix := range []string{"", "-wal"} {
		if data, err := os.ReadFile(kept + suffix); err != nil || !strings.HasPrefix(string(data), "no ") {
			t.Errorf("%s holds %q, %v", kept+suffix, data, err)
		}
	}
}

func TestRestoreWhereNothingIs(t *testing.T) {
	_, backup := backedUp(t)
	path := filepath.Join(t.TempDir(), "new.db")
	if kept, err := Restore(t.Context(), backup, path); err != nil || kept != "" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	if ids := idsAt(t, path); len(ids) != 1 {
		t.Errorf("the database has the jobs %v", ids)
	}
}

// A restore that is refused changes nothing.
func TestRestoreIsRefused(t *testing.T) {
	path, backup := backedUp(t)
	refused := func(what, backup, path, says string, busy bool) {
		t.Helper()
		kept, err := Restore(t.Context(), backup, path)
		if err == nil || kept != "" || !strings.Contains(err.Error(), says) || errors.Is(err, jobs.ErrBusy) != busy {
			t.Errorf("%s: kept %q, %v", what, kept, err)
		}
	}
	write := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	refused("no backup", filepath.Join(t.TempDir(), "none"), path, "no such file", false)
	refused("a folder", t.TempDir(), path, "not a regular file", false)
	refused("no database", write("text.db", "this is a text, and not a database at all"), path, "text.db", false)
	refused("itself", path, path, "itself", false)
	empty := filepath.Join(t.TempDir(), "empty.db")
	exec(t, plain(t, empty), "foreign_table")
	refused("no queue", empty, path, "no queue", false)
	data, err := os.ReadFile(backup)
	must(t, err)
	torn := write("torn.db", string(data[:len(data)-8192]))
	refused("a torn file", torn, path, "torn.db", false)
	open := write("open.db", string(data))
	must(t, os.WriteFile(open+"-wal", []byte("x"), 0o600))
	refused("a file that is in use", open, path, "open.db-wal", false)

	store, err := openBackend(t.Context(), path)
	must(t, err)
	must(t, jobs.New(store).CheckSchema(t.Context()))
	refused("a database that is open", backup, path, "another process", true)
	_, release, err := store.WorkerLocks().HoldWorkerLock(t.Context())
	must(t, err)
	refused("a worker that lives", backup, path, "worker lives", true)
	must(t, release(false))
	must(t, store.Close())
	if ids := idsAt(t, path); len(ids) != 2 {
		t.Errorf("the database has the jobs %v", ids)
	}
}
