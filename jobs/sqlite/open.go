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

// Durability is the level of failure that an acknowledged write survives.
type Durability int

const (
	// Normal survives the death of any process. A power loss may take the last commits, and leaves the rest
	// consistent (PRAGMA synchronous=NORMAL).
	Normal Durability = iota
	// Full survives a power loss too, at the cost of one fsync for each group of writes (PRAGMA synchronous=FULL).
	Full
	// NoSync survives the death of any process too, and writes without waiting for the disk. A power loss may damage the database
	// (PRAGMA synchronous=OFF). It is for tests, whose databases live no longer than they run.
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
	pages        int64         // for tests: the database size at which SQLite reports a full disk
	remaking     bool          // for migrations: see dsn
	tempFiles    bool          // temporary tables and sorts use files
	walLarge     int64         // the WAL size from which on it is logged
	glanceEvery  time.Duration // interval at which a busy writer checks that the files still exist
}

// WithDurability sets the failures that an acknowledged write survives. The default is [Normal].
func WithDurability(d Durability) Option { return func(o *options) { o.durability = d } }

// MustExist makes Open fail, instead of creating an empty database, when there is no file.
func MustExist() Option { return func(o *options) { o.mustExist = true } }

// MigrateEmpty makes Open create the tables in an empty database, such as a new one, and complete an interrupted first
// migration. Of several processes that open the file at once, one does so and the others wait. It does not change a
// database that holds anything else, whatever its schema.
func MigrateEmpty() Option { return func(o *options) { o.migrateEmpty = true } }

// WithLogger sets the logger of the engine's rare messages, such as a failed watch on the directory. The default is
// slog.Default. The engine calls the logger's handler in a separate goroutine.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithPolling makes the store poll the database for writes of other processes, every 25 ms or more often, instead of waiting for file
// system events: for tests that open many databases for a short time, since ending such a wait takes the system some milliseconds. Where
// there are no such events the store polls anyway, and logs it.
func WithPolling() Option { return func(o *options) { o.polling = true } }

// WithObserver adds an observer of the store and of the clients and runners that use it. It may be given several times.
func WithObserver(observer *jobs.Observer) Option {
	return func(o *options) { o.observer = jobs.Observers(o.observer, observer) }
}

// WithClock makes the store read the time from a function, for tests in which a clock is wrong or is set. Leases and due
// times follow it. Each call runs in its own goroutine. After a panic, runtime.Goexit or a second without an answer the
// store uses the system's time plus the last difference that it saw.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = callback.Clock(now) } }

// openBackend implements Open.
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

// newBackend implements New.
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
	tellUnsafeReads(o.logger, path) // after the first lock: a file system may have only POSIX locks
	if o.migrateEmpty {
		if err := s.schema.migrateEmpty(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// usablePath returns the path of the database file without links, after it has checked the file and its file system.
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

// checkFile checks the database file, which may be missing unless it must exist.
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

// openPool returns a pool that keeps its connections: one to write, or several that only read.
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

// resolve follows links, also to a file that does not exist yet: processes that name one file differently must agree on
// its lock files.
func resolve(path string) (string, error) {
	const most = 40 // the kernel's limit
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
			return path, nil // no link, or no file
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

// lastWrite returns the time of the last write to a database by any process: to its WAL, or by a checkpoint.
func lastWrite(path string) time.Time {
	var last time.Time
	for _, file := range []string{path + "-wal", path} {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// dsn returns a DSN with every pragma, because an executed pragma reaches only one connection of a pool.
func dsn(path string, o options, read bool) string {
	foreignKeys := "1" // an application's tables may refer to the queue's
	if o.remaking {
		foreignKeys = "0" // otherwise rebuilding a table would delete the rows that refer to the rows of the dropped old one
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
