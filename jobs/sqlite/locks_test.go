package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/engine"
)

// The folder of lock files may have been deleted under living workers: then only their leases decide.
func TestALockFileThatIsGoneSaysNothing(t *testing.T) {
	store, _ := queue(t)
	key, release, err := store.WorkerLocks().HoldWorkerLock(t.Context())
	must(t, err)
	must(t, os.Remove(filepath.Join(store.side.path, workerLock(key))))
	state, _, err := store.WorkerLocks().TakeWorkerLock(t.Context(), key)
	must(t, err)
	if state != engine.LockMissing {
		t.Errorf("the lock is %d", state)
	}
	must(t, release(true))
}
