package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// replace replaces a queue with an empty one.
func replace(t *testing.T, path string) {
	t.Helper()
	other, _ := queueAt(t, filepath.Join(t.TempDir(), "other.db"))
	must(t, other.Close())
	must(t, os.Rename(other.path, path))
}

func TestFileDeletedOrReplaced(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, string){
		"deleted":  func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"moved":    func(t *testing.T, path string) { must(t, os.Rename(path, path+".old")) },
		"replaced": replace,
	} {
		t.Run(name, func(t *testing.T) {
			store, client := queue(t)
			enqueue(t, client, "k")
			spoil(t, store.path)
			if _, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}")); !errors.Is(err, jobs.ErrReplaced) {
				t.Errorf("an enqueue gives %v", err)
			}
			err := store.Write(t.Context(), func(context.Context, db.Querier) error {
				t.Error("a write ran on a file that is gone")
				return nil
			})
			if !errors.Is(err, jobs.ErrReplaced) {
				t.Errorf("a write gives %v", err)
			}
			checkMakesNoFile(t, store, client, name == "replaced")
		})
	}
}

// checkMakesNoFile makes all calls that open the database's path again, which no longer leads to the store's file.
func checkMakesNoFile(t *testing.T, store *backend, client *jobs.Client, another bool) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	for name, call := range map[string]func() error{
		"Backup":      func() error { return client.Backup(t.Context(), copied) },
		"BackupTo":    func() error { return client.BackupTo(t.Context(), io.Discard) },
		"Migrate":     func() error { _, err := client.Migrate(t.Context()); return err },
		"MigrateDown": func() error { _, err := store.Migrations().MigrateDown(t.Context()); return err },
		"BeginOwn":    func() error { _, err := store.Transactions().BeginOwn(t.Context()); return err },
	} {
		if err := call(); !errors.Is(err, jobs.ErrReplaced) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	for _, path := range []string{store.path, copied} {
		if _, err := os.Stat(path); err == nil && !(another && path == store.path) {
			t.Errorf("there is a file %s", path)
		}
	}
}

// A process that writes without a pause checks now and then, also the WAL and its index.
func TestABusyWriterLooksNowAndThen(t *testing.T) {
	for _, file := range []string{"", "-wal", "-shm"} {
		store, client := queue(t, func(o *options) { o.glanceEvery = glanceEvery })
		enqueue(t, client, "k")
		must(t, os.Remove(store.path+file))
		deadline := time.Now().Add(time.Minute)
		for {
			_, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}"))
			if errors.Is(err, jobs.ErrReplaced) {
				break
			}
			must(t, err)
			if time.Now().After(deadline) {
				t.Fatalf("after a minute nothing told that jobs.db%s is gone", file)
			}
		}
	}
}

func TestFileReplacedDuringAWrite(t *testing.T) {
	store, _ := queue(t)
	err := store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		return errors.Join(add("lost")(ctx, q), os.Remove(store.path))
	})
	if !errors.Is(err, jobs.ErrReplaced) || !errors.Is(err, jobs.ErrUnknownOutcome) {
		t.Errorf("a write into a file that was deleted meanwhile gives %v", err)
	}
}

func TestIdleRunnerNoticesReplacedFile(t *testing.T) {
	store, client := queue(t)
	runner, err := jobs.NewRunner(client, jobs.Config{Lease: time.Second, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error { return nil })
	done := make(chan error, 1)
	go func() { done <- runner.Run(context.WithoutCancel(t.Context())) }()
	ended(t, client, enqueue(t, client, "k"))
	must(t, os.Remove(store.path))
	if err := receive(t, "the runner's end", done); !errors.Is(err, jobs.ErrReplaced) {
		t.Errorf("Run gives %v", err)
	}
}

// A file that is moved away during a commit, and then back, holds the transaction: no caller, also of the same group, may get
// the result that the write failed.
func TestFileMovedDuringAWriteAndBack(t *testing.T) {
	store, _ := queue(t)
	away := store.path + ".away"
	leading, lead := make(chan struct{}), make(chan struct{})
	results := make(chan error, 2)
	go func() {
		results <- store.Write(t.Context(), func(context.Context, db.Querier) error {
			close(leading)
			<-lead
			return nil
		})
	}()
	receive(t, "the leader", leading)
	go func() {
		results <- store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			return errors.Join(add("moved")(ctx, q), os.Rename(store.path, away))
		})
	}()
	go func() { results <- store.Write(t.Context(), add("shares")) }()
	eventually(t, "two wait", func() bool {
		return queued(store) == 2
	})
	close(lead)
	must(t, receive(t, "the leader's end", results))
	told := []error{receive(t, "an end", results), receive(t, "an end", results)}
	must(t, os.Rename(away, store.path))
	if there := added(t, store); !there["moved"] || !there["shares"] {
		t.Errorf("there is %v, not all of one transaction", there)
	}
	for _, err := range told {
		if !errors.Is(err, jobs.ErrUnknownOutcome) {
			t.Errorf("a writer whose row is there was told %v", err)
		}
	}
}

// A commit goes to the WAL. When a person deletes the WAL, or the index that processes share, the store keeps files open that no
// other process will open: it returns an error and writes nothing more. Close copies the WAL's contents to the database.
func TestFileBesideDeleted(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm"} {
		t.Run(suffix, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			store, err := openBackend(t.Context(), path, func(o *options) { o.glanceEvery = 0 })
			must(t, err)
			client := jobs.New(store)
			_, err = client.Migrate(t.Context())
			must(t, err)
			enqueue(t, client, "k")
			must(t, os.Remove(path+suffix))
			_, err = client.Enqueue(t.Context(), "k", json.RawMessage("{}"))
			if !errors.Is(err, jobs.ErrReplaced) || !errors.Is(err, jobs.ErrUnknownOutcome) {
				t.Errorf("the first enqueue gives %v", err)
			}
			_, err = client.Enqueue(t.Context(), "k", json.RawMessage("{}"))
			if !errors.Is(err, jobs.ErrReplaced) || errors.Is(err, jobs.ErrUnknownOutcome) {
				t.Errorf("the next one gives %v", err)
			}
			must(t, store.Close())
			_, client = queueAt(t, path, MustExist())
			if list, err := inspect.New(client).List(t.Context(), inspect.Filter{}); err != nil || len(list) != 2 {
				t.Errorf("the jobs are %v, %v", list, err)
			}
		})
	}
}

// The first process that notices a deleted WAL copies the acknowledged writes in it to the database: the copy must not depend on
// a last process that would make it on closing.
func TestWhatADeletedWALHolds(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm"} {
		t.Run(suffix, func(t *testing.T) {
			store, client := queue(t)
			other := plain(t, store.path) // stays open: the store's connections are not the last
			want := scan[int64](t, other, "count_jobs") + 1
			enqueue(t, client, "k")
			must(t, os.Remove(store.path+suffix))
			if _, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}")); !errors.Is(err, jobs.ErrReplaced) {
				t.Errorf("an enqueue gives %v", err)
			}
			text, err := os.ReadFile(store.path) // without any WAL
			must(t, err)
			alone := filepath.Join(t.TempDir(), "jobs.db")
			must(t, os.WriteFile(alone, text, 0o600))
			if n := scan[int64](t, plain(t, alone), "count_jobs"); n < want {
				t.Errorf("the database alone has %d jobs", n)
			}
		})
	}
}

// After any change to one of the files of a database, the next write detects it, also right after another one.
func TestTheNextWriteFindsOut(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, string){
		"deleted":     func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"moved":       func(t *testing.T, path string) { must(t, os.Rename(path, path+".old")) },
		"replaced":    replace,
		"WAL deleted": func(t *testing.T, path string) { must(t, os.Remove(path+"-wal")) },
		"WAL moved":   func(t *testing.T, path string) { must(t, os.Rename(path+"-wal", path+".old")) },
		"WAL replaced": func(t *testing.T, path string) {
			must(t, os.WriteFile(path+".new", nil, 0o600))
			must(t, os.Rename(path+".new", path+"-wal"))
		},
		"index deleted": func(t *testing.T, path string) { must(t, os.Remove(path+"-shm")) },
		"folder moved":  func(t *testing.T, path string) { must(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".old")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			must(t, os.Mkdir(dir, 0o700))
			store, client := queueAt(t, filepath.Join(dir, "jobs.db"))
			enqueue(t, client, "k")
			spoil(t, store.path)
			if _, err := client.Enqueue(t.Context(), "k", json.RawMessage("{}")); !errors.Is(err, jobs.ErrReplaced) {
				t.Errorf("an enqueue gives %v", err)
			}
		})
	}
}
