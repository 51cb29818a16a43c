package fuzz

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// For every path the queue is in the file of that name and nowhere else, or the path is refused.
func FuzzSQLitePath(f *testing.F) {
	for _, seed := range []string{
		"jobs.db", "a b", "a?mode=memory", "a#b", "a%20b", "file:a", "file:a?vfs=x", ":memory:", "sqlite:a", "a&_pragma=x", "ä", "日本", "a\xff", "a\x00b",
		"'\"", "a-wal", "-wal", "jobs.db-shm", "~", "$HOME", "\\", "a\n", "?", "%", "%00", ".", "x.db?_txlock=deferred&mode=ro",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if strings.Contains(name, "/") || name == ".." { // then it is not in the folder
			return
		}
		t.Chdir(t.TempDir())
		store, err := sqlite.Open(t.Context(), name)
		if err != nil {
			return
		}
		client := jobs.New(store)
		_, migrated := client.Migrate(t.Context())
		_, enqueued := client.Enqueue(t.Context(), "k", []byte("{}"))
		if err := store.Close(); err != nil || migrated != nil || enqueued != nil {
			t.Fatalf("%q is opened: %v, %v, %v", name, migrated, enqueued, err)
		}
		entries, err := os.ReadDir(".")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
			if !strings.HasPrefix(entry.Name(), name) {
				t.Errorf("%q made %q", name, entry.Name())
			}
		}
		if !slices.Contains(names, name) {
			t.Fatalf("%q made %q", name, names)
		}
		again, err := sqlite.Open(t.Context(), name, sqlite.MustExist())
		if err != nil {
			t.Fatalf("%q is not found again: %v", name, err)
		}
		list, err := inspect.New(jobs.New(again)).List(t.Context(), inspect.Filter{})
		if err != nil || len(list) != 1 {
			t.Errorf("%q has %d jobs when it is opened again: %v", name, len(list), err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	})
}
