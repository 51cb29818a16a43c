package sqlite

import (
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
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
	}
	return "1"
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

// readers is the number of connections that read at once for runners.
const readers = 4

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
