package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
func (s *Store) HoldWorkerLock(_ context.Context, key string) (release func() error, err error) {
	path, err := s.touchSide(workerLock(key))
	if err != nil {
		return nil, err
	}
	lock := flock.New(path)
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	if !ok {
		return nil, fmt.Errorf("lock %s: another process holds it", lock.Path())
	}
	return func() error {
		err := os.Remove(lock.Path())
		if errors.Is(err, os.ErrNotExist) {
			err = nil // somebody deleted the side folder
		}
		return errors.Join(err, lock.Unlock())
	}, nil
}

// TakeWorkerLock tries another worker's lock. A file that does not exist says nothing (the folder may have been
// deleted under living workers), and neither does one that this user may not open: then only the lease can tell.
func (s *Store) TakeWorkerLock(_ context.Context, key string) (taken bool, done func(), err error) {
	lock := flock.New(filepath.Join(s.side, workerLock(key)), flock.SetFlag(os.O_RDWR))
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
