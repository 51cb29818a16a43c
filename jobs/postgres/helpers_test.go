package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// hang is the time after which a waiting test fails: no test depends on how long anything takes.
const hang = 2 * time.Minute

// site is a server and a migrated database on it, to be copied: that costs less than migrating for every test.
type site struct {
	server   *testdb.Postgres
	template string
}

func newSite(t *testing.T, server *testdb.Postgres) *site {
	t.Helper()
	return &site{server, server.Migrated(t, func(url string) (jobs.Store, error) { return Open(t.Context(), url) })}
}

// queue makes a migrated database and opens it.
func (s *site) queue(t *testing.T, opts ...Option) (*backend, *jobs.Client, string) {
	t.Helper()
	url := s.server.Copy(t, s.template)
	store, client := open(t, url, opts...)
	return store, client, url
}

// open opens a database, whatever its schema. It discards the engine's log.
func open(t *testing.T, url string, opts ...Option) (*backend, *jobs.Client) {
	t.Helper()
	store, err := openBackend(t.Context(), url, append([]Option{WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	must(t, err)
	t.Cleanup(func() { shut(t, store) })
	return store, jobs.New(store)
}

// shut closes a store. It fails, instead of blocking, when a handler that never ends has one of its connections.
func shut(t *testing.T, store *backend) {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- store.Close() }()
	must(t, receive(t, "the store's end", closed))
}

// migrated opens an empty database and migrates it.
func migrated(t *testing.T, url string, opts ...Option) (*backend, *jobs.Client) {
	t.Helper()
	store, client := open(t, url, opts...)
	_, err := client.Migrate(t.Context())
	must(t, err)
	return store, client
}

// with adds parameters, each as name=value, to a URL.
func with(url string, parameters ...string) string {
	for _, p := range parameters {
		separator := "?"
		if strings.Contains(url, "?") {
			separator = "&"
		}
		url += separator + p
	}
	return url
}

// databaseOf returns the name of the database in a URL.
func databaseOf(t *testing.T, url string) string {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	must(t, err)
	return config.Database
}

// dial returns a connection such as another program has.
func dial(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // the server may be gone by then
	return conn
}

// sqlFile returns the text of a file in testdata, with the values for @name, quoted where they are names.
func sqlFile(t *testing.T, file string, names ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file+".sql"))
	must(t, err)
	for i, name := range names {
		text = []byte(strings.ReplaceAll(string(text), fmt.Sprintf("@name%d", i+1), pgx.Identifier{name}.Sanitize()))
	}
	return string(text)
}

// exec runs the statements of a file.
func exec(t *testing.T, conn *pgx.Conn, file string, names ...string) {
	t.Helper()
	_, err := conn.PgConn().Exec(t.Context(), sqlFile(t, file, names...)).ReadAll()
	must(t, err)
}

// run runs one statement of a file with its values.
func run(t *testing.T, conn *pgx.Conn, file string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sqlFile(t, file), args...)
	must(t, err)
}

// scan returns the single value that a statement returns.
func scan[T any](t *testing.T, conn *pgx.Conn, file string, args ...any) T {
	t.Helper()
	var v T
	must(t, conn.QueryRow(t.Context(), sqlFile(t, file), args...).Scan(&v))
	return v
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want[T comparable](t *testing.T, what string, have, want T) {
	t.Helper()
	if have != want {
		t.Errorf("%s is %v, not %v", what, have, want)
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
	for end := time.Now().Add(hang); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("given up waiting until %s", what)
		}
	}
}

func enqueue(t *testing.T, client *jobs.Client, kind string, opts ...jobs.EnqueueOption) int64 {
	t.Helper()
	receipt, err := client.Enqueue(t.Context(), kind, json.RawMessage("{}"), opts...)
	must(t, err)
	return receipt.ID
}

// enqueueMany adds n jobs of the kind "k" at once.
func enqueueMany(t *testing.T, client *jobs.Client, n int) []int64 {
	t.Helper()
	payloads := make([]json.RawMessage, n)
	for i := range payloads {
		payloads[i] = json.RawMessage("{}")
	}
	ids, err := receipts.IDs(client.EnqueueMany(t.Context(), "k", payloads))
	must(t, err)
	return ids
}

func get(t *testing.T, client *jobs.Client, id int64) jobs.Job {
	t.Helper()
	job, err := client.Get(t.Context(), id)
	must(t, err)
	return job
}

func ended(t *testing.T, client *jobs.Client, id int64) jobs.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	job, err := client.Wait(ctx, id)
	must(t, err)
	return job
}

// wantDone waits for a job's end and compares its attempts.
func wantDone(t *testing.T, client *jobs.Client, id int64, attempt int) {
	t.Helper()
	job := ended(t, client, id)
	if job.Status != jobs.StatusDone || job.Attempt != attempt {
		t.Errorf("job %d is %s after attempt %d, not done after %d: %s", id, job.Status, job.Attempt, attempt, job.LastError)
	}
}

type handlers map[string]func(context.Context, jobs.Job) error

func nothing(context.Context, jobs.Job) error { return nil }

func newRunner(t *testing.T, client *jobs.Client, config jobs.Config, handlers handlers) *jobs.Runner {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Ahead == 0 {
		config.Ahead = -1 // many of these tests count attempts, and the release of a prefetched job adds one
	}
	runner, err := jobs.NewRunner(client, config)
	must(t, err)
	for kind, handler := range handlers {
		kind := jobs.Kind[json.RawMessage]{Name: kind, RetryDelay: func(jobs.Job, error) time.Duration { return 0 }}
		kind.Handle(runner, func(ctx context.Context, job jobs.Job, _ json.RawMessage) error { return handler(ctx, job) })
	}
	return runner
}

// work runs a runner until the test ends or stop is called, which returns Run's error.
func work(t *testing.T, client *jobs.Client, config jobs.Config, handlers handlers) (stop func() error) {
	t.Helper()
	runner := newRunner(t, client, config, handlers)
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

// drain runs a runner until no work is left.
func drain(t *testing.T, client *jobs.Client, config jobs.Config, handlers handlers) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	must(t, newRunner(t, client, config, handlers).Drain(ctx))
	must(t, ctx.Err())
}

// journal records log lines.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	return nil
}

// count returns the number of lines that contain a text.
func (j *journal) count(text string) int {
	n := 0
	for _, line := range j.all() {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

// claimIn claims in a transaction as an exchange does, at a time of the test's own. committed records the claim after the commit.
func claimIn(ctx context.Context, store *backend, q db.Querier, arg db.ClaimJobsParams) (rows []db.ClaimJobsRow, committed func(), err error) {
	v, err := store.cursors.from(arg.Queue, arg.Kinds, func(cursors string) (_ int, err error) {
		arg.Cursors = cursors
		rows, err = q.ClaimJobs(ctx, arg)
		return len(rows), err
	})
	return rows, func() { store.cursors.claimed(v, arg.Now, rows) }, err
}
