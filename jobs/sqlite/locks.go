package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockFile waits for an exclusive lock on a file of the side folder.
func (s *Store) lockFile(ctx context.Context, name string) (unlock func(), err error) {
	path, err := s.touchSide(name)
	if err != nil {
		return nil, err
	}
	lock := flock.New(path)
	if _, err := lock.TryLockContext(ctx, 2*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	return func() { _ = lock.Unlock() }, nil // closing the file is what releases the lock, and that cannot be retried
}

func workerLock(key string) string { return "worker-" + key + ".lock" }

// HoldWorkerLock makes the worker's lock file and locks it. The kernel releases the lock when the process ends,
// however it ends; it is the open file's and not inherited by programs that the process starts.
func (s *Store) HoldWorkerLock(context.Context) (key string, release func(ended bool) error, err error) {
	s.sweep()
	key = strings.ToLower(rand.Text())
	path, err := s.touchSide(workerLock(key))
	if err != nil {
		return "", nil, err
	}
	lock := flock.New(path)
	ok, err := lock.TryLock()
	if err != nil {
		return "", nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	if !ok {
		return "", nil, fmt.Errorf("lock %s: another process holds it", lock.Path())
	}
	return key, func(ended bool) error {
		var err error
		if ended {
			err = os.Remove(lock.Path())
		}
		if errors.Is(err, os.ErrNotExist) {
			err = nil // somebody deleted the side folder
		}
		return errors.Join(err, lock.Unlock())
	}, nil
}

// sweep removes lock files that nobody has held for a day: of workers whose rows were ended by others before they
// died, or who died before they had a row.
func (s *Store) sweep() {
	entries, err := os.ReadDir(s.side)
	if err != nil {
		return // there is no folder yet
	}
	for _, entry := range entries {
		if ok, _ := filepath.Match(workerLock("*"), entry.Name()); !ok {
			continue
		}
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) < 24*time.Hour {
			continue
		}
		if taken, done, err := takeLock(filepath.Join(s.side, entry.Name())); err == nil && taken {
			done()
		}
	}
}

// FreeWorkerLocks returns all: to try a lock costs no more than to ask about it.
func (s *Store) FreeWorkerLocks(_ context.Context, keys []string) ([]string, error) { return keys, nil }

// TakeWorkerLock tries another worker's lock. A file that does not exist says nothing (the folder may have been
// deleted under living workers), and neither does one that this user may not open: then only the lease can tell.
func (s *Store) TakeWorkerLock(_ context.Context, key string) (taken bool, done func(), err error) {
	return takeLock(filepath.Join(s.side, workerLock(key)))
}

// takeLock tries the lock on a file that may not be there; done removes the file with it.
func takeLock(path string) (taken bool, done func(), err error) {
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	ok, err := lock.TryLock()
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, fmt.Errorf("try the lock %s: %w", lock.Path(), err)
	}
	if !ok {
		return false, nil, nil
	}
	return true, func() {
		_ = os.Remove(lock.Path()) // a file that stays is tried again and does no harm
		_ = lock.Unlock()
	}, nil
}
