package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// hang is the time after which a waiting test fails: no test depends on how long anything takes.
const hang = 2 * time.Minute

// queue opens and migrates a database in a folder of the test's own.
func queue(t *testing.T, opts ...Option) (*backend, *jobs.Client) {
	t.Helper()
	return queueAt(t, filepath.Join(t.TempDir(), "jobs.db"), opts...)
}

func queueAt(t *testing.T, path string, opts ...Option) (*backend, *jobs.Client) {
	t.Helper()
	always := func(o *options) { o.glanceEvery = 0 } // a test deletes a file and writes at once
	store, err := openBackend(t.Context(), path, append([]Option{always}, opts...)...)
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	client := jobs.New(store)
	_, err = client.Migrate(t.Context())
	must(t, err)
	return store, client
}

// plain opens the file as any other program does. Its transactions take the write lock at once.
func plain(t *testing.T, path string) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(30000)")
	must(t, err)
	t.Cleanup(func() { must(t, pool.Close()) })
	return pool
}

// statement returns the text of a file in testdata, or else of one of the package.
func statement(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".sql"))
	if errors.Is(err, fs.ErrNotExist) {
		return control(name)
	}
	must(t, err)
	return string(text)
}

func exec(t *testing.T, pool *sql.DB, name string, args ...any) {
	t.Helper()
	_, err := pool.ExecContext(t.Context(), statement(t, name), args...)
	must(t, err)
}

// scan returns the single value that a statement returns.
func scan[T any](t *testing.T, pool *sql.DB, name string, args ...any) T {
	t.Helper()
	var v T
	must(t, pool.QueryRowContext(t.Context(), statement(t, name), args...).Scan(&v))
	return v
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(hang):
		t.Fatalf("given up waiting for %s", what)
		panic("not reached")
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("given up waiting until %s", what)
		}
	}
}

func enqueue(t *testing.T, client *jobs.Client, kind string) int64 {
	t.Helper()
	receipt, err := client.Enqueue(t.Context(), kind, json.RawMessage("{}"))
	must(t, err)
	return receipt.ID
}

func ended(t *testing.T, client *jobs.Client, id int64) jobs.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	job, err := client.Wait(ctx, id)
	must(t, err)
	return job
}

// work runs a runner until the test ends or stop is called, which returns Run's error.
func work(t *testing.T, client *jobs.Client, config jobs.Config, handlers map[string]func(context.Context, jobs.Job) error) (stop func() error) {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	runner, err := jobs.NewRunner(client, config)
	must(t, err)
	for kind, handler := range handlers {
		jobs.Kind[json.RawMessage]{Name: kind}.Handle(runner, func(ctx context.Context, job jobs.Job, _ json.RawMessage) error {
			return handler(ctx, job)
		})
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	var once sync.Once
	var result error
	stop = func() error {
		once.Do(func() {
			cancel()
			result = receive(t, "the runner's end", done)
		})
		return result
	}
	t.Cleanup(func() { _ = stop() }) // a test that needs its error calls stop itself
	return stop
}

func nothing(context.Context, jobs.Job) error { return nil }

// journal records log lines.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, r.Message)
	return nil
}

func (j *journal) holds(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(strings.Join(j.lines, "\n"), text)
}

func handlersOf(kind string) map[string]func(context.Context, jobs.Job) error {
	return map[string]func(context.Context, jobs.Job) error{kind: nothing}
}

// dataVersionOf returns a number that changes when another connection has committed.
func dataVersionOf(t *testing.T, pool *sql.DB) int64 {
	t.Helper()
	var version int64
	must(t, pool.QueryRowContext(t.Context(), control("data_version")).Scan(&version))
	return version
}
