package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// The folder of lock files may have been deleted under living workers: then only their leases can tell.
func TestALockFileThatIsGoneSaysNothing(t *testing.T) {
	store, _ := queue(t)
	key, release, err := store.HoldWorkerLock(t.Context())
	must(t, err)
	must(t, os.Remove(filepath.Join(store.side.path, workerLock(key))))
	taken, _, err := store.TakeWorkerLock(t.Context(), key)
	must(t, err)
	if taken {
		t.Error("the lock of a living worker was taken")
	}
	must(t, release(true))
}
