//go:build linux

package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sqluice/sqluice/jobs"
)

// A store that was used and closed leaves no descriptor and no goroutine behind.
func TestNothingIsLeaked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	cycle := func() {
		store, err := openBackend(t.Context(), path)
		must(t, err)
		client := jobs.New(store)
		_, err = client.Migrate(t.Context())
		must(t, err)
		stop := work(t, client, jobs.Config{}, handlersOf("k"))
		ended(t, client, enqueue(t, client, "k"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := client.Wait(ctx, enqueue(t, client, "nobody")); err == nil {
			t.Error("a wait with an ended context succeeds")
		}
		must(t, stop())
		must(t, store.Close())
	}
	cycle() // for resources that the process opens once
	files, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 10 {
		cycle()
	}
	eventually(t, "no more descriptors are open than before", func() bool { return descriptors(t) <= files })
	eventually(t, "no more goroutines are there than before", func() bool { return runtime.NumGoroutine() <= goroutines })
	entries, err := os.ReadDir(path + "-sqluice")
	must(t, err)
	for _, entry := range entries {
		if match, err := filepath.Match("worker-*", entry.Name()); err != nil || match {
			t.Errorf("the lock file %s is left (%v)", entry.Name(), err)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}
