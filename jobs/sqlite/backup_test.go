package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sqluice/sqluice/internal/test/faultvfs"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A backup under load is a state that existed: of jobs enqueued together it holds all or none.
func TestBackupUnderLoad(t *testing.T) {
	_, client := queue(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var enqueuers sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		enqueuers.Wait()
	})
	busy := make(chan struct{}, 1)
	three := []json.RawMessage{json.RawMessage("1"), json.RawMessage("2"), json.RawMessage("3")}
	for range 3 {
		enqueuers.Go(func() {
			for ctx.Err() == nil {
				if _, err := client.EnqueueMany(ctx, "k", three); err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				select {
				case busy <- struct{}{}:
				default: // already signalled
				}
			}
		})
	}
	for range 3 {
		for range 20 {
			receive(t, "an enqueue", busy)
		}
		copyPath := filepath.Join(t.TempDir(), "copy.db")
		must(t, client.Backup(t.Context(), copyPath))
		copied := plain(t, copyPath)
		if result := scan[string](t, copied, "integrity_check"); result != "ok" {
			t.Errorf("the copy is damaged: %s", result)
		}
		if n := scan[int](t, copied, "count_jobs"); n == 0 || n%3 != 0 {
			t.Errorf("the copy holds %d jobs, not some times three", n)
		}
		_, again := queueAt(t, copyPath, MustExist())
		enqueue(t, again, "k") // it is a separate queue
	}
}

// A backup is a database without a WAL: the first process that opens it may only have the right to read.
func TestABackupIsRead(t *testing.T) {
	_, client := queue(t)
	enqueue(t, client, "k")
	path := filepath.Join(t.TempDir(), "copy.db")
	must(t, client.Backup(t.Context(), path))
	store, err := openBackend(t.Context(), path, MustExist())
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	if list, err := inspect.New(jobs.New(store)).List(t.Context(), inspect.Filter{}); err != nil || len(list) != 1 {
		t.Errorf("the backup holds %v, %v", list, err)
	}
}

func TestBackupRefusesAFileThatIsThere(t *testing.T) {
	_, client := queue(t)
	path := filepath.Join(t.TempDir(), "there")
	must(t, os.WriteFile(path, []byte("precious"), 0o600))
	if err := client.Backup(t.Context(), path); !errors.Is(err, os.ErrExist) {
		t.Errorf("the backup gives %v", err)
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != "precious" {
		t.Errorf("the file holds %q, %v", kept, err)
	}
	if err := client.Backup(t.Context(), filepath.Join(path, "below", "a file")); err == nil {
		t.Error("a backup into nowhere succeeds")
	}
}

// A failed backup leaves no file, which could be mistaken for one and would block the next backup.
func TestABackupThatFailsLeavesNothing(t *testing.T) {
	disk, store, client := failing(t)
	path := filepath.Join(filepath.Dir(store.path), "backup.db")
	disk.Arm(faultvfs.Plan{Kind: faultvfs.Write, At: 3, For: 1000, Fault: faultvfs.Full})
	if err := client.Backup(t.Context(), path); !errors.Is(err, jobs.ErrFull) {
		t.Fatalf("the backup gives %v", err)
	}
	disk.Disarm()
	left, err := filepath.Glob(path + "*")
	must(t, err)
	if len(left) > 0 {
		t.Errorf("the backup left %v", left)
	}
	must(t, client.Backup(t.Context(), path))
	_, backup := queueAt(t, path, MustExist())
	if _, err := backup.Get(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// SQLite deletes a file beside a database that has the name of its journal or WAL, whatever it holds.
func TestBackupRefusesNamesOfSQLite(t *testing.T) {
	store, _ := queue(t)
	for _, suffix := range []string{"-wal", "-shm", "-journal", "-sqluice"} {
		path := filepath.Join(t.TempDir(), "other.db"+suffix)
		if err := store.Upkeep().Backup(t.Context(), path); err == nil || !strings.Contains(err.Error(), suffix) {
			t.Errorf("a backup to %s gives %v", path, err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s exists: %v", path, err)
		}
	}
}

// A program that wants to read the database reads a copy, of which no file remains.
func TestBackupTo(t *testing.T) {
	store, client := queue(t)
	id := enqueue(t, client, "k")
	path := filepath.Join(t.TempDir(), "copy.db")
	file, err := os.Create(path)
	must(t, err)
	hash := sha256.New()
	must(t, client.BackupTo(t.Context(), io.MultiWriter(file, hash)))
	must(t, file.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], hash.Sum(nil)) {
		t.Error("two writers got different copies")
	}
	_, copied := queueAt(t, path, MustExist())
	if _, err := copied.Get(t.Context(), id); err != nil {
		t.Error(err)
	}
	no := errors.New("no")
	if err := client.BackupTo(t.Context(), refusing{no}); !errors.Is(err, no) {
		t.Errorf("a writer that fails gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := client.BackupTo(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context gives %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(store.path), ".sqluice-backup-*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// refusing is a writer that fails.
type refusing struct{ error }

func (r refusing) Write([]byte) (int, error) { return 0, r.error }

// A backup and a restore remove the files of killed processes beside the path, and nothing that a live process uses.
func TestAbandonedDraftsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "jobs.db")
	store, _ := queue(t)
	elsewhere := t.TempDir()
	must(t, os.WriteFile(filepath.Join(elsewhere, draftLock), nil, 0o600))
	for i, begin := range []func() error{
		func() error { return store.Upkeep().Backup(t.Context(), target) },
		func() error {
			_, err := Restore(t.Context(), target, filepath.Join(dir, "restored.db"))
			return err
		},
	} {
		killed, live := filepath.Join(dir, backupPrefix+"1"), filepath.Join(dir, restorePrefix+"2")
		unlocked, link := filepath.Join(dir, backupPrefix+"3"), filepath.Join(dir, backupPrefix+"4")
		for _, folder := range []string{killed, live, unlocked} {
			must(t, os.Mkdir(folder, 0o700))
			must(t, os.WriteFile(filepath.Join(folder, "jobs.db"), []byte("a copy"), 0o600))
		}
		must(t, os.WriteFile(filepath.Join(killed, draftLock), nil, 0o600)) // the system has freed the lock
		lock, held, err := lockDraft(live)
		must(t, err)
		if !held {
			t.Fatal("the lock of a new folder is not held")
		}
		if err := os.Symlink(elsewhere, link); err != nil {
			t.Skip("no links here: ", err)
		}
		must(t, begin())
		list, err := filepath.Glob(filepath.Join(dir, ".sqluice-*"))
		must(t, err)
		if want := []string{unlocked, link, live}; !slices.Equal(list, want) {
			t.Errorf("case %d: left is %q, not %q", i, list, want)
		}
		for _, path := range []string{filepath.Join(live, "jobs.db"), filepath.Join(unlocked, "jobs.db"), filepath.Join(elsewhere, draftLock)} {
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
		must(t, lock.Close())
		for _, folder := range list {
			must(t, os.RemoveAll(folder))
		}
	}
}

// A folder whose lock another process took first, or removed, is not used.
func TestDraftThatAnotherProcessRemoves(t *testing.T) {
	if _, held, err := lockDraft(filepath.Join(t.TempDir(), "gone")); held || err != nil {
		t.Errorf("of a folder that is gone: %v, %v", held, err)
	}
}
