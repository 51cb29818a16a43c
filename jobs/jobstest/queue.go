package jobstest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Queue is a client on a queue of one test, with the queue's clock. Make one with [New]. Its client, Now and Advance may be used
// concurrently; the methods that run jobs are called by one goroutine at a time.
type Queue struct {
	*jobs.Client

	tb      testing.TB
	store   jobs.Store
	clock   *clock
	config  jobs.Config
	options []jobs.ClientOption
	watched time.Time // all schedules were served until then
}

// Option is an option of [New] and [Crash].
type Option func(*options)

type options struct {
	start  time.Time
	config jobs.Config
	client []jobs.ClientOption
	points int        // the bound of Crash
	store  jobs.Store // the store of On; nil for a new file
}

// StartAt sets the clock, to March 1973 or later. Without it the clock starts at the system's time.
func StartAt(t time.Time) Option { return func(o *options) { o.start = t } }

// WithConfig sets the config of the runners, such as its middleware. Queues is replaced: jobs of all queues run, one of each queue at
// a time. Without a Logger the runner's messages are dropped.
func WithConfig(c jobs.Config) Option { return func(o *options) { o.config = c } }

// WithClient sets options of the client.
func WithClient(opts ...jobs.ClientOption) Option {
	return func(o *options) { o.client = append(o.client, opts...) }
}

// On makes New use a store that the test has opened, such as one of PostgreSQL for handlers that end their jobs by postgres.SQLTx. New
// migrates its schema. The test closes the store after its last use of the queue. Give each test a separate database or schema: other
// workers of the same queue use another clock. [Crash] makes its own queues, and refuses On.
func On(store jobs.Store) Option { return func(o *options) { o.store = store } }

// New returns a queue in a new SQLite file, or in the store of [On]. The file is closed and removed when the test ends.
func New(tb testing.TB, opts ...Option) *Queue {
	tb.Helper()
	o := settings(opts)
	if o.store != nil {
		checkStart(tb, o)
		if _, err := jobs.New(o.store).Migrate(tb.Context()); err != nil {
			tb.Fatalf("jobstest: make a queue: %v", err)
		}
		return queueOn(tb, o.store, o, nil)
	}
	return newQueue(tb, filepath.Join(tb.TempDir(), "jobs.db"), o, nil)
}

func settings(opts []Option) options {
	o := options{start: time.Now()}
	for _, opt := range opts {
		opt(&o)
	}
	if o.config.Logger == nil {
		o.config.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// newQueue returns a queue in a new file. watch, unless nil, returns the store for the client.
func newQueue(tb testing.TB, path string, o options, watch func(engine.Store) engine.Store) *Queue {
	tb.Helper()
	checkStart(tb, o)
	image, err := migrated()
	if err == nil {
		err = os.WriteFile(path, image, 0o600)
	}
	if err != nil {
		tb.Fatalf("jobstest: make a queue: %v", err)
	}
	store, err := sqlite.Open(tb.Context(), path, sqlite.WithLogger(o.config.Logger), sqlite.WithDurability(sqlite.NoSync), sqlite.WithPolling())
	if err != nil {
		tb.Fatalf("jobstest: make a queue: %v", err)
	}
	q := queueOn(tb, store, o, watch)
	tb.Cleanup(q.close)
	return q
}

// checkStart ends the test if the clock starts at a time that no row can have.
func checkStart(tb testing.TB, o options) {
	tb.Helper()
	if o.start.Before(core.Earliest) {
		tb.Fatalf("jobstest: the clock starts at %s, before the first time that the queue keeps: set StartAt to %s or later",
			o.start.Format(time.RFC3339), core.Earliest.Format(time.RFC3339))
	}
}

// queueOn returns a queue in a store. watch is as for newQueue.
func queueOn(tb testing.TB, store jobs.Store, o options, watch func(engine.Store) engine.Store) *Queue {
	q := &Queue{tb: tb, store: store, clock: &clock{now: o.start.Truncate(time.Microsecond)}, config: o.config, options: o.client}
	q.watched = q.clock.read()
	seen := q.port()
	if watch != nil {
		seen = watch(seen)
	}
	q.Client = jobs.New(engine.SealStore(seen), o.client...)
	return q
}

// port returns the store, with the queue's clock.
func (q *Queue) port() engine.Store { return clocked{engine.StoreOf(q.store), q.clock} }

func (q *Queue) close() {
	if err := q.store.Close(); err != nil {
		q.tb.Errorf("jobstest: close the queue: %v", err)
	}
}

// Path returns the path of the database's file, for a program under test that opens it by itself, with its own clock. On another engine
// than SQLite ([On]) the test fails.
func (q *Queue) Path() string {
	q.tb.Helper()
	file, ok := q.store.(interface{ Path() string })
	if !ok {
		q.tb.Fatal("jobstest: the queue is in a store that is no SQLite file: open its database with what the test gave to On")
	}
	return file.Path()
}

// DB opens the database's file as an application does that has its own tables beside the queue's, for transactions that include the queue.
// It is closed when the test ends. Each transaction begins with the write lock. On another engine than SQLite the test fails, as for
// [Queue.Path].
func (q *Queue) DB() *sql.DB {
	q.tb.Helper()
	db, err := sql.Open("sqlite", dsn(q.Path()))
	if err != nil {
		q.tb.Fatalf("jobstest: open %s: %v", q.Path(), err)
	}
	q.tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			q.tb.Errorf("jobstest: close %s: %v", q.Path(), err)
		}
	})
	return db
}

func dsn(path string) string {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{
		"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "synchronous(0)"},
	}.Encode()}
	return name.String()
}

// Now returns the queue's time, which stands still.
func (q *Queue) Now() time.Time { return q.clock.read() }

// Advance moves the queue's clock on by d. This runs nothing, except in a [jobs.Runner] that the test has started, which looks for due jobs
// at once, and for schedules within a second. (Its worker may be shown as gone until then.)
func (q *Queue) Advance(d time.Duration) {
	q.tb.Helper()
	if d < 0 {
		q.tb.Fatalf("jobstest: Advance by %s: the clock goes only forward", d)
	}
	q.advanceTo(q.clock.read().Add(d))
}

func (q *Queue) advanceTo(t time.Time) {
	q.clock.set(t)
	engine.StoreOf(q.store).Announce(core.WorkReady)
}

// clock stands until it is set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// set sets the clock, but not back.
func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t = t.Truncate(time.Microsecond); t.After(c.now) {
		c.now = t
	}
}

// clocked is a store with another clock.
type clocked struct {
	engine.Store
	clock *clock
}

func (s clocked) Now() time.Time                      { return s.clock.read() }
func (s clocked) NowWithin(context.Context) time.Time { return s.clock.read() }

// Read implements [engine.Store]. It opens another connection only during a write: most tests need none, and opening one takes a
// seventh of a test's time.
func (s clocked) Read(ctx context.Context, fn engine.Func) error {
	if done, err := engine.ReadByWriter(ctx, s.Store, fn); done {
		return err
	}
	return s.Store.Read(ctx, fn)
}

// Inspect implements [engine.Store]. In a test all reads are short.
func (s clocked) Inspect(ctx context.Context, fn engine.Func) error { return s.Read(ctx, fn) }

// ClockStands implements [engine.ClockStands].
func (clocked) ClockStands() bool { return true }

// migrated returns the bytes of a database with the newest schema and no jobs. A process creates the schema once: that takes longer than
// most tests of handlers do.
var migrated = sync.OnceValues(func() (image []byte, err error) {
	folder, err := os.MkdirTemp("", "jobstest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path, ctx := filepath.Join(folder, "jobs.db"), context.Background()
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	_, err = jobs.New(store).Migrate(ctx)
	if err := errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// plain returns an unobserved client, with the options of the queue's.
func (q *Queue) plain() *jobs.Client { return jobs.New(engine.SealStore(q.port()), q.options...) }
