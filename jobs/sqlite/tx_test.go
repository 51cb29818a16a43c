package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A transaction on another file, with a queue with the same ids, is refused by each call that it may join.
func TestATransactionOnAnotherFileIsRefused(t *testing.T) {
	_, client := queue(t)
	other, otherClient := queue(t)
	pool := plain(t, other.path)
	calls := map[string]func(jobs.Tx, jobs.Job) error{
		"enqueue": func(tx jobs.Tx, _ jobs.Job) error {
			_, err := client.With(tx).Enqueue(t.Context(), "k", json.RawMessage("1"))
			return err
		},
		"cancel": func(tx jobs.Tx, job jobs.Job) error {
			_, err := client.With(tx).Cancel(t.Context(), job.ID)
			return err
		},
		"get": func(tx jobs.Tx, job jobs.Job) error {
			_, err := client.With(tx).Get(t.Context(), job.ID)
			return err
		},
		"complete": func(tx jobs.Tx, job jobs.Job) error { return jobs.CompleteTx(t.Context(), tx, job, nil) },
	}
	for name, call := range calls {
		for _, c := range []*jobs.Client{client, otherClient} {
			_, err := c.Enqueue(t.Context(), "k", json.RawMessage("1"))
			must(t, err)
		}
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		jobs.Kind[int]{Name: "k"}.Handle(runner, func(ctx context.Context, job jobs.Job, _ int) error {
			tx, err := pool.BeginTx(ctx, nil)
			must(t, err)
			defer func() { must(t, tx.Rollback()) }()
			if err := call(Tx(tx), job); err == nil || !strings.Contains(err.Error(), other.path) || !strings.Contains(err.Error(), "begin it there") {
				t.Errorf("%s: %v", name, err)
			}
			return nil
		})
		must(t, runner.Drain(t.Context()))
	}
}

// While the caller's transaction has the lock, a call outside of it fails as documented, and writes nothing.
func TestACallBesideTheCallersOwnTransaction(t *testing.T) {
	t.Parallel()
	store, client := queue(t)
	pool := plain(t, store.path)
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	jobs.Kind[int]{Name: "k", MaxAttempts: 1}.Handle(runner, func(ctx context.Context, job jobs.Job, _ int) error {
		tx, err := pool.BeginTx(ctx, nil)
		must(t, err)
		defer func() { must(t, tx.Rollback()) }()
		_, err = client.With(Tx(tx)).Enqueue(ctx, "inside", json.RawMessage("1"))
		must(t, err)
		for name, err := range map[string]error{
			"enqueue":  func() error { _, err := client.Enqueue(ctx, "outside", json.RawMessage("1")); return err }(),
			"progress": job.SetProgress(ctx, 1),
		} {
			if !errors.Is(err, jobs.ErrBusy) || !strings.Contains(err.Error(), "an open transaction of this one") {
				t.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
	receipt, err := client.Enqueue(t.Context(), "k", json.RawMessage("1"))
	must(t, err)
	must(t, runner.Drain(t.Context()))
	job, err := client.Get(t.Context(), receipt.ID)
	must(t, err)
	if job.Status != jobs.StatusDone {
		t.Errorf("the job is %s: %s", job.Status, job.LastError)
	}
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{})
	must(t, err)
	if len(list) != 1 {
		t.Errorf("there are %d jobs", len(list))
	}
}

// The application's own file, with the queue's attached to the connection: the transaction reaches the queue.
func TestATransactionThatAttachesTheQueue(t *testing.T) {
	store, client := queue(t)
	pool := plain(t, filepath.Join(t.TempDir(), "application.db"))
	pool.SetMaxOpenConns(1) // an attached database belongs to one connection
	add := func() error {
		tx, err := pool.BeginTx(t.Context(), nil)
		must(t, err)
		if _, err := client.With(Tx(tx)).Enqueue(t.Context(), "k", json.RawMessage("1")); err != nil {
			must(t, tx.Rollback())
			return err
		}
		return tx.Commit()
	}
	if err := add(); err == nil || !strings.Contains(err.Error(), "reaches no queue") {
		t.Errorf("without it: %v", err)
	}
	exec(t, pool, "attach", store.path)
	must(t, add())
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{})
	must(t, err)
	if len(list) != 1 {
		t.Errorf("the queue has %d jobs", len(list))
	}
}
