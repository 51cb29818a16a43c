package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// files holds the identities of an open database's files. A process whose database file is deleted or replaced keeps a
// file that no other process will ever open: its commits there are lost.
type files struct {
	main openFile

	every  time.Duration // interval of the checks of a process that writes all the time
	looked time.Time     // time of the writer's last check; used by the writer only

	mu     sync.Mutex
	beside []openFile // the WAL and its index; nil until they exist
	gone   error      // the error, once one of those was replaced
	growth walGrowth
}

// glanceEvery is the shortest interval at which the writer checks that the files still exist. A check is four system calls, an
// eighth of the time to add a job. A process that writes less often checks before and after each write.
const glanceEvery = 10 * time.Millisecond

// due reports whether the writer must check now, and records that it does.
func (f *files) due() bool {
	now := time.Now()
	if now.Sub(f.looked) < f.every {
		return false
	}
	f.looked = now
	return true
}

// openFile is a file that SQLite has open, with the path by which others find it.
type openFile struct {
	path string
	was  identity
}

// findMain identifies the database's file, which must exist.
func findMain(path string, o options) (*files, error) {
	main, _, err := identify(path)
	if err != nil {
		return nil, err
	}
	return &files{main: openFile{path, main}, every: o.glanceEvery, growth: walGrowth{logger: o.logger, path: path, large: o.walLarge}}, nil
}

// findBeside identifies, once, the WAL and its index, which stay as long as a connection is open.
func (f *files) findBeside() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.beside != nil {
		return nil
	}
	var beside []openFile
	for _, path := range []string{f.main.path + "-wal", f.main.path + "-shm"} {
		found, _, err := identify(path)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s: %w", path, jobs.ErrReplaced)
		}
		if err != nil {
			return err
		}
		beside = append(beside, openFile{path, found})
	}
	f.beside = beside
	return nil
}

// intact returns ErrReplaced when the path no longer leads to the opened file, and always after the WAL or its index was
// replaced once.
func (f *files) intact() error {
	f.mu.Lock()
	gone := f.gone
	f.mu.Unlock()
	if gone != nil {
		return gone
	}
	_, err := f.main.look()
	return err
}

// kept is intact with a check of the WAL and its index: the writer calls it after a commit, which went there.
func (f *files) kept() error {
	if err := f.intact(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, file := range f.beside {
		size, err := file.look()
		if errors.Is(err, jobs.ErrReplaced) {
			f.gone = err
		}
		if err != nil {
			return err
		}
		if i == 0 { // the WAL
			f.growth.see(size)
		}
	}
	return nil
}

// look returns the size of the file, or ErrReplaced when its path no longer leads to it.
func (f openFile) look() (size int64, err error) {
	now, size, err := identify(f.path)
	if errors.Is(err, os.ErrNotExist) || err == nil && !now.same(f.was) {
		return 0, fmt.Errorf("%s: %w", f.path, jobs.ErrReplaced)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnseen, err)
	}
	return size, nil
}

const (
	// walLarge is a WAL size that this library does not cause: checkpoints begin at 4 MiB, and after a large
	// transaction or a long reader journal_size_limit leaves 64 MiB.
	walLarge = 128 << 20

	// walSurely is the time after which a large WAL is blamed on a reader: after a large transaction the next commit restarts it.
	walSurely = 5 * time.Second

	// walTellEvery is the interval of the warning while the WAL stays large.
	walTellEvery = 30 * time.Second
)

// walGrowth logs that the WAL grows. It grows without bound during a read transaction of any process: no checkpoint can pass the
// reader's snapshot, and reads become slower.
type walGrowth struct {
	logger *slog.Logger
	path   string
	large  int64
	since  time.Time // when a commit first found the WAL large; zero while it is not
	told   time.Time // time of the last warning; zero without one
}

// see records the WAL's size after a commit.
func (s *walGrowth) see(size int64) {
	switch {
	case size >= s.large && s.since.IsZero():
		s.since = time.Now()
	case size >= s.large && time.Since(s.since) >= walSurely && time.Since(s.told) >= walTellEvery:
		s.told = time.Now()
		s.logger.Warn("sqlite: the WAL grows: a read transaction that does not end, in any program that has the file open, keeps it from being brought to the database",
			"database", s.path, "bytes", size)
	case size < s.large:
		if !s.told.IsZero() {
			s.logger.Info("sqlite: the WAL is of its usual size again", "database", s.path, "bytes", size)
		}
		s.since, s.told = time.Time{}, time.Time{}
	}
}
