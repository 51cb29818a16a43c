package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// A folder without permission to enter stops writes only while that lasts: a runner retries what it has to record, and no
// enqueue is acknowledged meanwhile.
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

// whileClosed runs fn while this process may not enter the folder. Root may enter any folder, so its thread runs fn as another
// user.
func whileClosed(t *testing.T, dir string, fn func() error) error {
	t.Helper()
	must(t, os.Chmod(dir, 0))
	defer func() { must(t, os.Chmod(dir, 0o700)) }()
	if os.Geteuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		const otherUser = 65534
		must(t, unix.Setfsuid(otherUser))
		defer func() { must(t, unix.Setfsuid(0)) }()
	}
	return fn()
}
