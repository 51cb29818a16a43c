package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// replace puts an empty queue where another was.
func replace(t *testing.T, path string) {
	t.Helper()
	other, _ := queueAt(t, filepath.Join(t.TempDir(), "other.db"))
	must(t, other.Close())
	must(t, os.Rename(other.Path(), path))
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
			spoil(t, store.Path())
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
		})
	}
}

func TestFileReplacedDuringAWrite(t *testing.T) {
	store, _ := queue(t)
	err := store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		return errors.Join(add("lost")(ctx, q), os.Remove(store.Path()))
	})
	if !errors.Is(err, jobs.ErrReplaced) {
		t.Errorf("a write into a file that was deleted meanwhile is acknowledged: %v", err)
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
	must(t, os.Remove(store.Path()))
	if err := receive(t, "the runner's end", done); !errors.Is(err, jobs.ErrReplaced) {
		t.Errorf("Run gives %v", err)
	}
}
