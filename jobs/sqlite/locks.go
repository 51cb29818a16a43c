package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// workerLocks holds and tests the locks that show which workers live: one file of the side folder for each.
type workerLocks struct{ side sideFolder }

// HoldWorkerLock creates the worker's lock file and locks it. The kernel releases the lock when the process ends for
// any reason; programs that the process starts do not inherit it.
func (l workerLocks) HoldWorkerLock(context.Context) (key string, release func(ended bool) error, err error) {
	if err := l.sweep(); err != nil {
		return "", nil, err
	}
	key = newKey()
	name := workerLock(key)
	file, err := l.side.create(name)
	if err != nil {
		return "", nil, err
	}
	ok, err := tryLock(file)
	if err == nil && !ok {
		err = errors.New("another process holds the lock")
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	return key, func(ended bool) error {
		var err error
		if ended {
			err = l.side.remove(name, file)
		}
		return errors.Join(err, file.Close())
	}, nil
}

// sweepAfter is the age from which on sweep tries a worker's lock file.
const sweepAfter = 24 * time.Hour

// sweep removes lock files that are a day old and that no process holds: of workers whose rows other workers have ended,
// or that died before they had a row.
func (l workerLocks) sweep() error {
	entries, err := l.side.entries()
	if errors.Is(err, os.ErrPermission) {
		return nil // another user can read the folder, and sweeps
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		key, ok := workerKey(entry.Name())
		if !ok {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || time.Since(info.ModTime()) < sweepAfter {
			continue
		}
		if state, done, err := l.takeLock(key); err == nil && state == engine.LockTaken {
			done()
		}
	}
	return nil
}

// FreeWorkerLocks returns all keys: trying a lock costs no more than asking about it.
func (l workerLocks) FreeWorkerLocks(_ context.Context, keys []string) ([]string, error) {
	return keys, nil
}

// TakeWorkerLock tries the lock of another worker. The lock is missing if there is no file, as in a restored backup (though the folder
// may have been deleted under living workers), or if the key is not of this library. If this user may not open the file, the lock
// counts as held: only the lease decides.
func (l workerLocks) TakeWorkerLock(_ context.Context, key string) (state engine.LockState, done func(), err error) {
	if !isKey(key) {
		return engine.LockMissing, nil, nil
	}
	return l.takeLock(key)
}

// goodbye is the length of the lock file of a worker that left a goodbye. A length needs no space on a disk that may be full.
const goodbye = 1

// LeaveGoodbye records a goodbye in the worker's lock file.
func (l workerLocks) LeaveGoodbye(key string, _ int64) error {
	file, err := l.side.openExisting(workerLock(key))
	if err != nil {
		return fmt.Errorf("record the end of the worker in its lock file: %w", err)
	}
	return errors.Join(file.Truncate(goodbye), file.Close())
}

// SaidGoodbye implements [engine.Store].
func (l workerLocks) SaidGoodbye(key string) (bool, error) {
	file, err := l.side.openExisting(workerLock(key))
	if err != nil {
		return false, fmt.Errorf("read the end of the worker from its lock file: %w", err)
	}
	info, err := file.Stat()
	return err == nil && info.Size() == goodbye, errors.Join(err, file.Close())
}

// takeLock tries the lock of a worker; done removes the lock file.
func (l workerLocks) takeLock(key string) (state engine.LockState, done func(), err error) {
	name := workerLock(key)
	file, err := l.side.openExisting(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return engine.LockMissing, nil, nil
	case errors.Is(err, os.ErrPermission):
		return engine.LockHeld, nil, nil
	case err != nil:
		return engine.LockHeld, nil, fmt.Errorf("try the lock of a worker: %w", err)
	}
	ok, err := tryLock(file)
	if err != nil || !ok {
		if err != nil {
			err = fmt.Errorf("try the lock %s: %w", file.Name(), err)
		}
		return engine.LockHeld, nil, errors.Join(err, file.Close())
	}
	return engine.LockTaken, func() {
		_ = l.side.remove(name, file) // a remaining file is tried again, which does no harm
		_ = file.Close()
	}, nil
}
