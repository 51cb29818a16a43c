package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/jobs"
)

// oldest is the first SQLite without the WAL-reset bug, which can corrupt a database that several processes write.
const oldest = "3.51.3"

// LibraryVersion is the version of the SQLite that is compiled in.
const LibraryVersion = lib.SQLITE_VERSION

// checkConnection reads the settings back: SQLite says nothing about a pragma that it does not know or cannot follow.
func checkConnection(ctx context.Context, pool *sql.DB, o options) error {
	if older(LibraryVersion, oldest) {
		return fmt.Errorf("SQLite %s is too old: %s or newer is needed", LibraryVersion, oldest)
	}
	for _, setting := range []struct{ name, want string }{{"synchronous", o.durability.synchronous()}, {"busy_timeout", "5000"}, {"foreign_keys", "1"}} {
		have, err := readPragma(ctx, pool, setting.name)
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
// SQLite counts bytes of it otherwise than the CHECKs of the tables do.
func checkEncoding(ctx context.Context, pool *sql.DB) error {
	have, err := readPragma(ctx, pool, "encoding")
	if err != nil {
		return err
	}
	if have != "UTF-8" {
		return fmt.Errorf("the database's encoding is %s and must be UTF-8: SQLite fixes it with the first table, so use another file", have)
	}
	return nil
}

const (
	// walWait is how long useWAL waits for other connections to end their transactions, and walEvery how often it looks.
	walWait  = 10 * time.Second
	walEvery = 5 * time.Millisecond
)

// useWAL turns WAL on for good. The caller holds the lock of migrations; other connections may still be reading, and
// SQLite does not wait for those by itself. It is for databases that hold, or will hold, a queue and for no others.
func useWAL(ctx context.Context, pool *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, walWait)
	defer cancel()
	for {
		err := tryWAL(ctx, pool)
		if !errors.Is(err, jobs.ErrBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(walEvery):
		}
	}
}

func tryWAL(ctx context.Context, pool *sql.DB) error {
	mode, err := readPragma(ctx, pool, "journal_mode")
	if err != nil || mode == "wal" {
		return err
	}
	if mode, err = readPragma(ctx, pool, "use_wal"); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the journal mode stays %s: WAL is needed", mode)
	}
	return nil
}

func readPragma(ctx context.Context, pool *sql.DB, name string) (value string, err error) {
	if err := pool.QueryRowContext(ctx, control(name)).Scan(&value); err != nil {
		return "", translate(err)
	}
	return value, nil
}

// older compares dotted versions; what is no number counts as 0.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if x, y := part(as, i), part(bs, i); x != y {
			return x < y
		}
	}
	return false
}

func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, err := strconv.Atoi(parts[i])
	if err != nil {
		return 0
	}
	return n
}

// Importing this package turns on the locks of open file descriptions: from the first lock of any SQLite file in the process on,
// which may be an application's and come before the first Open, it is too late. No code reads the variable.
var _ = lockByHandle()

// lockByHandle makes SQLite use the locks of open file descriptions: a close of the file by any other code of this process
// would drop POSIX locks. Some systems have no such locks, and the application may have chosen already: see unsafeReads.
func lockByHandle() error {
	_, err := sqlite.OFDLocking(true)
	if errors.Is(err, sqlite.ErrOFDLockingTooLate) || errors.Is(err, sqlite.ErrOFDLockingUnavailable) {
		return nil
	}
	return err
}

// unsafeReads returns what a program must not do because its process has POSIX locks; empty when it has others.
func unsafeReads() string {
	if runtime.GOOS == "windows" || sqlite.OFDLockingEnabled() {
		return ""
	}
	return "SQLite's locks in this process end when any code of it opens and closes the database's file, as to copy it or to compute a checksum; " +
		"other processes then damage what is written: read a backup in its place, and call sqlite.OFDLocking(false) nowhere"
}

// tellUnsafeReads logs unsafeReads: as a warning where the system has better locks.
func tellUnsafeReads(log *slog.Logger, path string) {
	level := slog.LevelInfo
	if runtime.GOOS == "linux" {
		level = slog.LevelWarn
	}
	if text := unsafeReads(); text != "" {
		log.Log(context.Background(), level, "sqlite: the database must not be read as a file", "database", path, "reason", text)
	}
}
