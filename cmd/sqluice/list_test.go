package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// An interrupted search returns the jobs that it has found, and a cursor to continue with. No job is skipped or found twice.
func TestSearchGoesOnAfterAnInterruption(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), sqlite.MigrateEmpty())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	client := jobs.New(store)
	add := func(kind string, n int) (last int64) {
		receipts, err := client.EnqueueMany(t.Context(), kind, slices.Repeat([]json.RawMessage{[]byte("{}")}, n))
		if err != nil {
			t.Fatal(err)
		}
		return receipts[n-1].ID
	}
	old := add("needle", 1)
	add("k", 25_000) // more than two pages read
	latest := add("needle", 1)

	in, filter := inspect.New(client), inspect.Filter{Kind: "needle", Limit: 10}
	ctx, cancel := context.WithCancel(t.Context())
	var lines []string
	first, after, err := search(ctx, in, filter, func(line func() string) {
		lines = append(lines, line())
		cancel()
	})
	if !errors.Is(err, context.Canceled) || len(first) != 1 || first[0].ID != latest || after <= old || after >= latest {
		t.Fatalf("the search found %+v, goes on after %d, and ended with %v", first, after, err)
	}
	if line := searchPosition(after, 1); !slices.Equal(lines, []string{line}) {
		t.Errorf("it noted %q, not %q", lines, line)
	}
	filter.After = after
	rest, after, err := search(t.Context(), in, filter, func(func() string) {})
	if err != nil || len(rest) != 1 || rest[0].ID != old || after != 0 {
		t.Errorf("the next search found %+v, goes on after %d, and ended with %v", rest, after, err)
	}
}
