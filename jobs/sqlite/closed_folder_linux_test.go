package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// A folder without permission to enter stops writes only for that time: a runner retries its records, and no enqueue is
// acknowledged meanwhile.
func TestFolderClosedForAWhile(t *testing.T) {
	store, client := queue(t)
	enqueue(t, client, "k")
	refused := whileClosed(t, filepath.Dir(store.path), func() error {
		return store.Write(t.Context(), func(context.Context, db.Querier) error {
			t.Error("a write ran in a folder that is closed")
			return nil
		})
	})
	if !errors.Is(refused, fs.ErrPermission) || errors.Is(refused, jobs.ErrReplaced) || !store.CanRetry(refused) {
		t.Errorf("a write into a folder that is closed gives %v, worth another try: %t", refused, store.CanRetry(refused))
	}
	read := whileClosed(t, filepath.Dir(store.path), func() error {
		return store.Read(t.Context(), func(context.Context, db.Querier) error { return nil })
	})
	if !errors.Is(read, fs.ErrPermission) || !store.CanRetry(read) {
		t.Errorf("a read gives %v", read)
	}
	enqueue(t, client, "k")
}

// TestFolderClosedDuringACommit closes the folder while two writes are committed together: the finding of the check after the
// commit must not cause a second write.
func TestFolderClosedDuringACommit(t *testing.T) {
	store, _ := queue(t)
	dir := filepath.Dir(store.path)
	store.files.every, store.files.looked = time.Hour, time.Time{} // the next write checks, and later ones do not
	first, rest := make(chan struct{}), make(chan struct{})
	ended, done := make(chan error, 1), make(chan error, 2)
	go func() {
		ended <- store.Write(t.Context(), func(context.Context, db.Querier) error {
			close(first)
			<-rest
			store.files.looked = time.Time{}
			return nil
		})
	}()
	<-first
	var runs atomic.Int64
	for range 2 {
		go func() {
			runtime.LockOSThread() // the goroutine's end also ends its thread, which has changed its user
			done <- store.Write(t.Context(), func(context.Context, db.Querier) error {
				if runs.Add(1) == 2 {
					return errors.Join(os.Chmod(dir, 0), becomeOther())
				}
				return nil
			})
		}()
	}
	for store.writer.groups.Waiting() < 2 {
		runtime.Gosched()
	}
	close(rest)
	must(t, <-ended)
	errs := []error{<-done, <-done}
	must(t, os.Chmod(dir, 0o700))
	for _, err := range errs {
		if !errors.Is(err, jobs.ErrUnknownOutcome) {
			t.Errorf("a write was committed in a folder that cannot be looked at any more: %v", err)
		}
	}
	if runs.Load() != 2 {
		t.Errorf("two writes ran %d times", runs.Load())
	}
}

// whileClosed runs fn while this process may not enter the folder. Root may enter any folder, so its thread runs fn as another
// user.
func whileClosed(t *testing.T, dir string, fn func() error) error {
	t.Helper()
	must(t, os.Chmod(dir, 0))
	defer func() { must(t, os.Chmod(dir, 0o700)) }()
	if os.Geteuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		must(t, becomeOther())
		defer func() { must(t, unix.Setfsuid(0)) }()
	}
	return fn()
}

// becomeOther changes the file-system user of root's thread.
func becomeOther() error {
	if os.Geteuid() != 0 {
		return nil
	}
	const otherUser = 65534
	return unix.Setfsuid(otherUser)
}
