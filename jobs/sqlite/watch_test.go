package sqlite

import (
	"context"
	"os"
	"testing"
)

// blind returns a hub that reads the store's database but whose watch is on a folder without events. It is closed, so
// that it starts no watch of its own.
func blind(t *testing.T, store *backend) (*hub, *dataVersion) {
	t.Helper()
	folder := t.TempDir()
	must(t, os.WriteFile(folder+"/jobs.db", nil, 0o600))
	must(t, store.pools.ready(t.Context()))
	h := newHub(store.pools, store.options)
	h.path, h.side = folder+"/jobs.db", sideFolder{path: folder, database: folder + "/jobs.db"}
	h.close()
	return h, &dataVersion{pools: store.pools}
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	return ctx, cancel
}

// The store's own writes are no change to its watch; a write of another program is, also between two own writes.
func TestOwnWritesAreNoChange(t *testing.T) {
	store, _ := queue(t)
	foreign := plain(t, store.path)
	version := &dataVersion{pools: store.pools}
	own := func() { must(t, store.Write(t.Context(), add("own"))) }
	other := func() { scan[int64](t, foreign, "insert_job", "k", "{}") }
	if !version.changed(t.Context()) {
		t.Error("the first look finds no change")
	}
	for _, step := range []struct {
		name   string
		writes []func()
		want   bool
	}{
		{"nothing", nil, false},
		{"own writes", []func(){own, own}, false},
		{"another's", []func(){other}, true},
		{"nothing after another's", nil, false},
		{"another's and then an own", []func(){other, own}, true},
		{"an own and then another's", []func(){own, other}, true},
		{"another's between own ones", []func(){own, other, own}, true},
		{"an own one again", []func(){own}, false},
	} {
		for _, write := range step.writes {
			write()
		}
		if got := version.changed(t.Context()); got != step.want {
			t.Errorf("%s: changed: %t", step.name, got)
		}
	}
}

// Without a schema that the statements fit, the watch sees nothing; afterwards it reports earlier commits as a change.
func TestWatchAcrossMigrations(t *testing.T) {
	store, err := openBackend(t.Context(), t.TempDir()+"/jobs.db")
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	version := &dataVersion{pools: store.pools}
	if version.changed(t.Context()) {
		t.Error("a database without a schema has changed")
	}
	for range 2 {
		_, err = store.Migrations().Migrate(t.Context())
		must(t, err)
		if !version.changed(t.Context()) {
			t.Error("a migration is no change")
		}
		if version.changed(t.Context()) {
			t.Error("a change is found without a write")
		}
	}
}
