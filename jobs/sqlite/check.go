package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	lib "modernc.org/sqlite/lib"
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
	synchronous := "1"
	if o.durability == Full {
		synchronous = "2"
	}
	for _, setting := range []struct{ name, want string }{{"synchronous", synchronous}, {"busy_timeout", "5000"}} {
		have, err := readPragma(ctx, pool, setting.name)
		if err != nil {
			return err
		}
		if have != setting.want {
			return fmt.Errorf("pragma %s is %s, not %s", setting.name, have, setting.want)
		}
	}
	return nil
}

// useWAL turns WAL on for good, which takes a lock that SQLite does not wait for: the caller keeps other processes
// away. It is for databases that hold, or are to hold, a queue: not for any file that happens to be opened.
func useWAL(ctx context.Context, pool *sql.DB) error {
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
