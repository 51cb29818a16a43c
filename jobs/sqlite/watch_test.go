package sqlite

import (
	"context"
	"os"
	"testing"
)

// blind makes a hub that looks at the store's database but whose watch is on a folder where nothing happens. It is
// closed, so that it starts no watch of its own.
func blind(t *testing.T, store *Store) (*hub, *dataVersion) {
	t.Helper()
	folder := t.TempDir()
	must(t, os.WriteFile(folder+"/jobs.db", nil, 0o600))
	decoy := &Store{path: folder + "/jobs.db", side: folder, readDB: store.readDB, options: store.options}
	h := newHub(decoy)
	h.close()
	version := &dataVersion{store: decoy}
	t.Cleanup(version.close)
	return h, version
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	return ctx, cancel
}
