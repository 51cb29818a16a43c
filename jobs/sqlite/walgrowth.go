package sqlite

import (
	"errors"
	"log/slog"
	"os"
	"time"
)

const (
	// walLarge is a WAL that does not come from this library: checkpoints begin at 4 MiB, and journal_size_limit leaves
	// 64 MiB of what a large transaction or a reader took.
	walLarge = 128 << 20

	// walSurely is how long a WAL stays so large before a reader is to blame: after one large transaction the next commit begins it anew.
	walSurely = 5 * time.Second

	// walTellEvery is how often one that stays so large is told of.
	walTellEvery = 30 * time.Second
)

// walGrowth logs that the WAL grows. It grows without bound while one read transaction goes on, of any process: no checkpoint can
// get past that, and reads become slower.
type walGrowth struct {
	logger *slog.Logger
	path   string
	large  int64
	since  time.Time // when a commit first found it large; zero while it is not
	told   time.Time // zero while that was not told
}

// see takes the WAL's size after a commit.
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

// walSize returns the size of the WAL in bytes, 0 without one. It stays below 64 MiB but for large transactions, and while
// a read transaction of some program does not end.
func (s *backend) walSize() (int64, error) {
	_, size, err := identify(s.path + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	return size, err
}
