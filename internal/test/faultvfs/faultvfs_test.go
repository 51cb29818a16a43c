package faultvfs_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/internal/test/faultvfs"
)

// The tests read database files without SQLite, which would drop locks of the other kind.
func TestMain(m *testing.M) {
	if _, err := sqlite.OFDLocking(true); err != nil && !errors.Is(err, sqlite.ErrOFDLockingUnavailable) {
		panic(err)
	}
	os.Exit(m.Run())
}

func install(t *testing.T, dir string) *faultvfs.FS {
	t.Helper()
	fs, err := faultvfs.Install(dir)
	must(t, err)
	t.Cleanup(func() { must(t, fs.Remove()) })
	return fs
}

// words opens a database with one table and one connection.
func words(t *testing.T, dir, pragmas string) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "words.db")+"?_pragma=journal_mode(wal)"+pragmas)
	must(t, err)
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { must(t, pool.Close()) })
	return pool
}

func created(t *testing.T, dir, pragmas string) *sql.DB {
	t.Helper()
	pool := words(t, dir, pragmas)
	must(t, run(t, pool, "create"))
	return pool
}

func run(t *testing.T, pool *sql.DB, name string, args ...any) error {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".sql"))
	must(t, err)
	_, err = pool.ExecContext(t.Context(), string(text), args...)
	return err
}

func count(t *testing.T, pool *sql.DB) (n int) {
	t.Helper()
	text, err := os.ReadFile("testdata/count.sql")
	must(t, err)
	must(t, pool.QueryRowContext(t.Context(), string(text)).Scan(&n))
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func TestOnlyTheFolderIsCovered(t *testing.T) {
	inside, outside := t.TempDir(), t.TempDir()
	fs := install(t, inside)
	pool := created(t, outside, "")
	fs.Arm(faultvfs.Plan{At: 1, For: 1000})
	must(t, run(t, pool, "insert", "kept"))
	if seen := fs.Disarm(); seen.Hits != 0 || seen.Ops[faultvfs.Any] != 0 {
		t.Errorf("files of another folder went through the layer: %+v", seen)
	}
}

// Each fault reaches the caller under its name, leaves nothing behind, and ends as planned.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		plan faultvfs.Plan
		want int
	}{
		"Write": {faultvfs.Plan{Kind: faultvfs.Write, At: 1}, lib.SQLITE_IOERR_WRITE},
		"Full":  {faultvfs.Plan{Kind: faultvfs.Write, At: 1, Fault: faultvfs.Full}, lib.SQLITE_FULL},
		"Short": {faultvfs.Plan{Kind: faultvfs.Write, At: 2, Fault: faultvfs.Short}, lib.SQLITE_FULL},
		"Sync":  {faultvfs.Plan{Kind: faultvfs.Sync, At: 1}, lib.SQLITE_IOERR_FSYNC},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fs := install(t, dir)
			pool := created(t, dir, "&_pragma=synchronous(full)")
			must(t, run(t, pool, "insert", "before"))
			fs.Arm(test.plan)
			if err := run(t, pool, "insert", "lost"); code(err) != test.want {
				t.Errorf("the insert gives %v", err)
			}
			if seen := fs.Disarm(); seen.Hits != 1 || seen.Hit != test.plan.Kind {
				t.Errorf("the plan came to %+v", seen)
			}
			must(t, run(t, pool, "insert", "after"))
			if n := count(t, pool); n != 2 {
				t.Errorf("there are %d rows, not 2", n)
			}
		})
	}
}

// A plan affects the operation that it names, or that one and all after it.
func TestPlanCounts(t *testing.T) {
	dir := t.TempDir()
	fs := install(t, dir)
	pool := created(t, dir, "")
	fs.Count()
	must(t, run(t, pool, "insert", "counted"))
	writes := fs.Disarm().Ops[faultvfs.Write]
	if writes == 0 {
		t.Fatal("an insert writes nothing")
	}
	fs.Arm(faultvfs.Plan{Kind: faultvfs.Write, At: writes + 1})
	must(t, run(t, pool, "insert", "not hit"))
	if err := run(t, pool, "insert", "hit"); code(err) != lib.SQLITE_IOERR_WRITE {
		t.Errorf("the insert gives %v", err)
	}
	must(t, run(t, pool, "insert", "not hit again"))
	fs.Arm(faultvfs.Plan{Kind: faultvfs.Write, At: 2, For: 3})
	for range 3 {
		if err := run(t, pool, "insert", "hit"); code(err) != lib.SQLITE_IOERR_WRITE {
			t.Errorf("the insert gives %v", err)
		}
	}
	must(t, run(t, pool, "insert", "after the fault"))
	if seen := fs.Disarm(); seen.Hits != 3 {
		t.Errorf("the plan came to %+v", seen)
	}
	if n := count(t, pool); n != 4 {
		t.Errorf("there are %d rows, not 4", n)
	}
}

// Of unsynced writes none, all, or some survive; synced writes always do.
func TestImages(t *testing.T) {
	for name, test := range map[string]struct {
		pragmas    string
		kept       float64
		have, most int
	}{
		"Full":         {"&_pragma=synchronous(full)", 0, 20, 20},
		"Normal":       {"&_pragma=synchronous(normal)", 0, 0, 0},
		"NormalKept":   {"&_pragma=synchronous(normal)", 1, 20, 20},
		"NormalPartly": {"&_pragma=synchronous(normal)", 0.9, 0, 19},
	} {
		t.Run(name, func(t *testing.T) {
			dir, image := t.TempDir(), t.TempDir()
			fs := install(t, dir)
			pool := created(t, dir, test.pragmas)
			must(t, fs.Record())
			for range 20 {
				must(t, run(t, pool, "insert", strings.Repeat("x", 5000)))
			}
			must(t, fs.Image(image, fs.Moment(), test.kept, rand.New(rand.NewPCG(1, 2))))
			if n := count(t, words(t, image, "")); n < test.have || n > test.most {
				t.Errorf("there are %d rows, not %d to %d", n, test.have, test.most)
			}
		})
	}
}

// A database's first journal is gone for good after its WAL was synced for the first time, and not before: otherwise a
// loss of power would bring it back, and the empty database with it.
func TestDeletionsLastWithTheFolder(t *testing.T) {
	dir, image := t.TempDir(), t.TempDir()
	fs := install(t, dir)
	must(t, fs.Record())
	pool := created(t, dir, "&_pragma=synchronous(full)")
	must(t, run(t, pool, "insert", "kept"))
	must(t, fs.Image(image, fs.Moment(), 0, rand.New(rand.NewPCG(1, 2))))
	if n := count(t, words(t, image, "")); n != 1 {
		t.Errorf("there are %d rows, not 1", n)
	}
	left, seen := 0, 0
	for moment := range fs.Moment() {
		image := t.TempDir()
		must(t, fs.Image(image, moment, 0, rand.New(rand.NewPCG(1, 2))))
		_, journal := os.Stat(filepath.Join(image, "words.db-journal"))
		wal, err := os.Stat(filepath.Join(image, "words.db-wal"))
		if err == nil && wal.Size() > 0 {
			seen++
			if journal == nil {
				left++
			}
		}
	}
	if seen == 0 || left > 0 {
		t.Errorf("of %d images with a WAL %d have a journal beside it", seen, left)
	}
}

func TestImageOfAMoment(t *testing.T) {
	dir, image := t.TempDir(), t.TempDir()
	fs := install(t, dir)
	pool := created(t, dir, "&_pragma=synchronous(full)")
	must(t, fs.Record())
	must(t, run(t, pool, "insert", "one"))
	moment := fs.Moment()
	must(t, run(t, pool, "insert", "two"))
	must(t, fs.Image(image, moment, 0, rand.New(rand.NewPCG(1, 2))))
	if n := count(t, words(t, image, "")); n != 1 {
		t.Errorf("there are %d rows, not 1", n)
	}
	if err := fs.Image(image, fs.Moment()+1, 0, rand.New(rand.NewPCG(1, 2))); err == nil {
		t.Error("there is an image of a moment that has not come")
	}
}

func TestRemoveRefusesOpenFiles(t *testing.T) {
	dir := t.TempDir()
	fs, err := faultvfs.Install(dir)
	must(t, err)
	pool := created(t, dir, "")
	if err := fs.Remove(); err == nil {
		t.Fatal("a layer with open files was removed")
	}
	must(t, pool.Close())
	must(t, fs.Remove())
	other, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "words.db"))
	must(t, err)
	defer func() { must(t, other.Close()) }()
	must(t, other.PingContext(context.WithoutCancel(t.Context())))
	must(t, run(t, other, "insert", "without the layer"))
}
