package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/jobs"
)

// oldest is the first SQLite without the WAL-reset bug, which can corrupt a database that several processes write.
const (
	oldest       = "3.51.3"
	oldestNumber = 3_051_003
)

// LibraryVersion is the version of SQLite that is compiled in.
const LibraryVersion = lib.SQLITE_VERSION

// remedy is the end of errors about connections that run in another copy of SQLite than the queue's.
const remedy = "two builds of SQLite in one process break each other's locks on a file. " +
	`Open the pool with modernc.org/sqlite, as sql.Open("sqlite", path), or give the queue a file of its own with sqlite.Open`

// rowQuerier is a pool or one of its connections.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// build returns the source id of the SQLite that a connection runs in, and whether it has some compile options that modernc.org/sqlite
// has and not all other drivers have. The source id alone is not enough: several drivers have the newest.
func build(ctx context.Context, on rowQuerier) (string, error) {
	return ask[string](ctx, on, "library")
}

// checkLibrary returns an error unless a pool's connections run in the same copy of SQLite as the queue's. It checks the type of the
// driver, or else SQLite itself: the driver may be wrapped, for example for traces.
func checkLibrary(ctx context.Context, pool *sql.DB) error {
	if _, ok := pool.Driver().(*sqlite.Driver); ok {
		return nil
	}
	isOurs, err := sharesLibrary(ctx, pool)
	if err != nil {
		return fmt.Errorf("find out whether the pool's driver, %T, runs in modernc.org/sqlite, as the queue: %w. If it does not, know that %s", pool.Driver(), err, remedy)
	}
	if !isOurs {
		return fmt.Errorf("the pool's driver, %T, runs in another build of SQLite than the queue, which uses modernc.org/sqlite: %s", pool.Driver(), remedy)
	}
	return nil
}

// meetingPage is the page size of the in-memory database in which sharesLibrary looks for another connection. No new database has it.
const meetingPage = 512

// sharesLibrary reports whether a pool's connections run in the same copy of SQLite as the queue's. A named in-memory database proves it:
// only the connections of one copy share it. The builds are compared before, because some have no such databases.
//
// The proof attaches a database to a connection for a moment, which is allowed on an idle one, but not on a caller's transaction: see
// [callersTx.reaches]. A function that is registered with modernc.org/sqlite would prove the same, but would stay in all later connections
// of the process.
func sharesLibrary(ctx context.Context, pool *sql.DB) (isOurs bool, err error) {
	name := "file:/sqluice-" + rand.Text() + "?vfs=memdb"
	meeting, err := sql.Open("sqlite", fmt.Sprintf("%s&_pragma=page_size(%d)&_pragma=user_version(1)", name, meetingPage))
	if err != nil {
		return false, err
	}
	meeting.SetMaxOpenConns(1) // the database ends with its last connection
	defer func() { err = errors.Join(err, meeting.Close()) }()
	ours, err := build(ctx, meeting)
	if err != nil {
		return false, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if theirs, err := build(ctx, conn); err != nil || theirs != ours {
		return false, err
	}
	if _, err := conn.ExecContext(ctx, control("attach_library"), name); err != nil {
		return false, translate(err)
	}
	var size int
	err = conn.QueryRowContext(ctx, control("library_page_size")).Scan(&size)
	if _, detached := conn.ExecContext(context.WithoutCancel(ctx), control("detach_library")); detached != nil {
		err = errors.Join(err, detached)
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // makes the pool close it
	}
	return err == nil && size == meetingPage, translate(err)
}

// checkConnection reads the settings back: SQLite reports no error for a pragma that it does not know or cannot follow.
func checkConnection(ctx context.Context, pool *sql.DB, o options) error {
	if lib.SQLITE_VERSION_NUMBER < oldestNumber {
		return fmt.Errorf("SQLite %s is too old: %s or newer is needed", LibraryVersion, oldest)
	}
	for _, setting := range []struct{ name, want string }{{"synchronous", o.durability.synchronous()}, {"busy_timeout", "5000"}, {"foreign_keys", "1"}} {
		have, err := ask[string](ctx, pool, setting.name)
		if err != nil {
			return err
		}
		if have != setting.want {
			return fmt.Errorf("pragma %s is %s, not %s", setting.name, have, setting.want)
		}
	}
	return checkEncoding(ctx, pool)
}

// checkEncoding returns an error unless the database stores texts in UTF-8. UTF-16 cannot hold the same texts, and
// SQLite counts its bytes differently from the CHECKs of the tables.
func checkEncoding(ctx context.Context, pool *sql.DB) error {
	have, err := ask[string](ctx, pool, "encoding")
	if err == nil && have != "UTF-8" {
		return fmt.Errorf("the database's encoding is %s and must be UTF-8: SQLite fixes it with the first table, so use another file", have)
	}
	return err
}

const (
	// walWait is the time that useWAL waits for other connections to end their transactions, and walEvery the interval of its checks.
	walWait  = 10 * time.Second
	walEvery = 5 * time.Millisecond
)

// useWAL turns WAL on for good. The caller holds the lock of migrations; other connections may still be reading, and
// SQLite itself does not wait for them. Use it only for databases that hold, or will hold, a queue.
func useWAL(ctx context.Context, pool *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, walWait)
	defer cancel()
	for {
		err := tryWAL(ctx, pool)
		if !errors.Is(err, jobs.ErrBusy) {
			return err
		}
		if !outage.Sleep(ctx, walEvery) {
			return err
		}
	}
}

func tryWAL(ctx context.Context, pool *sql.DB) error {
	mode, err := ask[string](ctx, pool, "journal_mode")
	if err != nil || mode == "wal" {
		return err
	}
	if mode, err = ask[string](ctx, pool, "use_wal"); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the journal mode stays %s: WAL is needed", mode)
	}
	return nil
}

// ask returns the one value of a statement of sql/control.
func ask[T any](ctx context.Context, on rowQuerier, name string) (value T, err error) {
	err = translate(on.QueryRowContext(ctx, control(name)).Scan(&value))
	return value, err
}

// Importing this package turns on the locks of open file descriptions: after the first lock of any SQLite file in the process,
// which may be an application's and precede the first Open, it is too late. No code reads the variable.
var _ = lockByHandle()

// lockByHandle makes SQLite use the locks of open file descriptions: with POSIX locks, any other code of this process that closes the file
// would drop them. Some systems have no such locks, or the application has chosen already: see unsafeReads.
func lockByHandle() error {
	_, err := sqlite.OFDLocking(true)
	if errors.Is(err, sqlite.ErrOFDLockingTooLate) || errors.Is(err, sqlite.ErrOFDLockingUnavailable) {
		return nil
	}
	return err
}

// unsafeReads returns what a program must not do if its process has POSIX locks, and "" if it has others.
func unsafeReads() string {
	if runtime.GOOS == "windows" || sqlite.OFDLockingEnabled() {
		return ""
	}
	return "SQLite's locks in this process end when any code of it opens and closes the database's file, as to copy it or to compute a checksum; " +
		"other processes then damage what is written: read a backup in its place, and call sqlite.OFDLocking(false) nowhere"
}

// tellUnsafeReads logs the text of unsafeReads: as a warning where the system has better locks.
func tellUnsafeReads(log *slog.Logger, path string) {
	level := slog.LevelInfo
	if runtime.GOOS == "linux" {
		level = slog.LevelWarn
	}
	if text := unsafeReads(); text != "" {
		log.Log(context.Background(), level, "sqlite: the database must not be read as a file", "database", path, "reason", text)
	}
}

// turnWALOn turns WAL on in a database whose schema another tool made, such as the goose command or a backup. The caller has just read
// by the pool's connection, which knows the mode of its last transaction.
func turnWALOn(ctx context.Context, pool *sql.DB, side sideFolder) error {
	mode, err := ask[string](ctx, pool, "journal_mode")
	if err != nil || mode == "wal" {
		return err
	}
	unlock, err := side.lock(ctx, migrateFile)
	if err != nil {
		return err
	}
	defer unlock()
	if err := useWAL(ctx, pool); err != nil {
		return err
	}
	// The WAL exists from the next transaction on.
	return translate(pool.QueryRowContext(ctx, control("schema_version")).Scan(new(string), new(string)))
}
