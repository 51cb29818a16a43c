package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// Durability is what an acknowledged write survives.
type Durability int

const (
	// Normal survives the death of any process. A power loss may take the last commits, and leaves the rest
	// consistent (PRAGMA synchronous=NORMAL).
	Normal Durability = iota
	// Full survives a power loss too, at the price of one fsync for each group of writes (PRAGMA synchronous=FULL).
	Full
	// NoSync survives the death of any process too, and writes without waiting for the disk. After a power loss the database may be
	// damaged (PRAGMA synchronous=OFF). It is for tests, whose databases live no longer than they run.
	NoSync
)

// synchronous returns the value of SQLite's pragma.
func (d Durability) synchronous() string {
	switch d {
	case Full:
		return "2"
	case NoSync:
		return "0"
	default:
		return "1"
	}
}

// Option changes how a database is opened.
type Option func(*options)

type options struct {
	durability   Durability
	mustExist    bool
	migrateEmpty bool
	logger       *slog.Logger
	observer     *jobs.Observer
	now          func() time.Time
	polling      bool
	pages        int64         // for tests: the size of the database at which SQLite says that the disk is full
	remaking     bool          // for migrations: see dsn
	tempFiles    bool          // temporary tables and sorts lie in files
	walLarge     int64         // the size of a WAL that is logged
	glanceEvery  time.Duration // how often a busy writer looks whether the files are still there
}

// WithDurability chooses what an acknowledged write survives; [Normal] without it.
func WithDurability(d Durability) Option { return func(o *options) { o.durability = d } }

// MustExist makes Open fail, instead of making an empty database, when there is no file.
func MustExist() Option { return func(o *options) { o.mustExist = true } }

// MigrateEmpty makes Open create the tables in a database that holds nothing, as a new one, and complete a first
// migration that was cut off. Of several processes that open the file at once, one does so and the others wait. A
// database that holds anything else is left as it is, whatever its schema.
func MigrateEmpty() Option { return func(o *options) { o.migrateEmpty = true } }

// WithLogger takes the engine's rare messages, such as a watch on the directory that does not work; they go to
// slog.Default without it. A goroutine of its own gives them to the logger's handler.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithPolling has the store ask the database whether another process has written to it, up to every 25 ms, in place of waiting for events of
// the file system: for tests that open many databases for a short time, as the end of such a wait takes the system some milliseconds. It
// also polls, and logs that, where there are no such events.
func WithPolling() Option { return func(o *options) { o.polling = true } }

// WithObserver has the store, and the clients and runners that use it, tell what they do. It may be given several times.
func WithObserver(observer *jobs.Observer) Option {
	return func(o *options) { o.observer = jobs.Observers(o.observer, observer) }
}

// WithClock has the store take the time from a function, for tests in which a clock is wrong or is set. Leases and due times
// go by it. Each call has a goroutine of its own. After a panic, runtime.Goexit or a second without an answer the store
// takes the system's time plus the difference that it saw last.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = callback.Clock(now) } }

// openBackend does what Open does.
func openBackend(ctx context.Context, path string, opts ...Option) (*backend, error) {
	o := options{logger: slog.Default(), now: time.Now, walLarge: walLarge, glanceEvery: glanceEvery}
	for _, opt := range opts {
		opt(&o)
	}
	o.logger = callback.Logger(o.logger)
	store, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return store, nil
}

// newBackend does what New does.
func newBackend(ctx context.Context, pool *sql.DB, opts ...Option) (*backend, error) {
	if err := checkLibrary(ctx, pool); err != nil {
		return nil, err
	}
	var path string
	if err := pool.QueryRowContext(ctx, control("database_file")).Scan(&path); err != nil {
		return nil, fmt.Errorf("find the pool's database file: %w", translate(err))
	}
	if path == "" {
		return nil, errors.New("the pool's database is in memory: the queue needs a file")
	}
	return openBackend(ctx, path, opts...)
}

func open(ctx context.Context, path string, o options) (*backend, error) {
	path, err := usablePath(path, o.mustExist)
	if err != nil {
		return nil, err
	}
	if err := lockByHandle(); err != nil {
		return nil, err
	}
	suspect, side := suspectWAL{olderWAL(path), time.Now()}, sideFolderOf(path)
	pools, err := openPools(path, o)
	if err != nil {
		return nil, err
	}
	o.mustExist = true
	pools.side, pools.suspect = side, suspect
	s := &backend{path: path, side: side, options: o, pools: pools, locks: workerLocks{side}}
	s.sealed = engine.SealStore(s)
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(suspect.name(err), pools.closeDB())
	}
	s.upkeep = upkeep{backups{s.files, o}, recounts{s.files, side, o, s.Now, pools.ready, s.Write}, s.writer}
	s.schema = &schema{suspect: suspect, files: s.files, side: side, options: o, readDB: pools.readDB, idle: s.writer.idle, forget: pools.forget}
	tellUnsafeReads(o.logger, path) // after the first lock: a file system may have no others
	if o.migrateEmpty {
		if err := s.schema.migrateEmpty(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// usablePath returns the path of the database file without links, after checks of the file and its file system.
func usablePath(path string, mustExist bool) (string, error) {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return "", errors.New("a path to a file is needed, not a memory database or a URI")
	}
	path, err := resolve(path)
	if err != nil {
		return "", err
	}
	if err := checkFile(path, mustExist); err != nil {
		return "", err
	}
	return path, checkFileSystem(filepath.Dir(path))
}

// checkFile looks at the database file, which may be missing unless it must exist.
func checkFile(path string, mustExist bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return errors.New("it is a directory")
	case err == nil && !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case err != nil && mustExist:
		return fmt.Errorf("there is no such database: %w", os.ErrNotExist)
	}
	if err == nil {
		if err := checkSingleName(path, info); err != nil {
			return err
		}
	}
	return checkNotStale(path)
}

// openPool makes a pool that keeps its connections: one to write, or several that only read.
func openPool(path string, o options, read bool) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", dsn(path, o, read))
	if err != nil {
		return nil, err
	}
	most := 1
	if read {
		most = readers
	}
	pool.SetMaxOpenConns(most)
	pool.SetMaxIdleConns(most)
	return pool, nil
}

// resolve follows links, also those that lead to a file that is still to be made: processes that name one file
// differently must agree on its lock files.
func resolve(path string) (string, error) {
	const most = 40 // as the kernel has it
	for range most {
		dir, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, or nothing there
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		path = target
	}
	return "", errors.New("too many links")
}

// connect makes the first connection. It changes nothing in an existing file, which may belong to another application.
func (s *backend) connect(ctx context.Context) error {
	if err := checkConnection(ctx, s.pools.writeDB, s.options); err != nil {
		return err
	}
	var err error
	if s.build, err = build(ctx, s.pools.writeDB); err != nil {
		return err
	}
	if s.files, err = findMain(s.path, s.options); err != nil {
		return err
	}
	s.writer = newWriter(s.files, func() (*gate, error) { return openGate(s.side, s.path) }, s.options.logger)
	if o := s.options.observer; o != nil {
		s.writer.committed = o.Committed
	}
	s.pools.files, s.pools.writer = s.files, s.writer
	s.hub = newHub(s)
	s.writer.changed = s.hub.changed
	return nil
}

// openGate opens the lock file that writers of all processes take in turn.
func openGate(side sideFolder, path string) (*gate, error) {
	file, err := side.open(gateFile)
	if err != nil {
		return nil, err
	}
	return newGate(file, func() time.Time { return lastWrite(path) }), nil
}

// lastWrite returns when any process last wrote to a database: to its WAL, or by a checkpoint.
func lastWrite(path string) time.Time {
	var last time.Time
	for _, file := range []string{path + "-wal", path} {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// dsn carries every pragma, because one that is executed reaches only one connection of a pool.
func dsn(path string, o options, read bool) string {
	foreignKeys := "1" // an application's tables may refer to the queue's
	if o.remaking {
		foreignKeys = "0" // a table is made anew and the old one dropped, with which the rows that refer to its rows would go
	}
	tempStore := "memory"
	if o.tempFiles {
		tempStore = "file"
	}
	values := url.Values{
		"_txlock":   {"immediate"},
		"_error_rc": {"1"},
		"_dqs":      {"0"},
		"mode":      {"rwc"},
		"_pragma": {
			"busy_timeout(5000)", "synchronous(" + o.durability.synchronous() + ")",
			// A long reader lets the WAL grow; without a limit the file keeps that size for ever.
			"journal_size_limit(67108864)", "wal_autocheckpoint(1000)", "temp_store(" + tempStore + ")",
			"foreign_keys(" + foreignKeys + ")",
		},
	}
	if o.mustExist {
		values.Set("mode", "rw")
	}
	if read {
		values.Set("_txlock", "deferred")
		values.Add("_pragma", "query_only(1)")
	}
	if o.pages > 0 {
		values.Add("_pragma", fmt.Sprintf("max_page_count(%d)", o.pages))
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: values.Encode()}
	return name.String()
}
