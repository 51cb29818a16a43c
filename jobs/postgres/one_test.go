package postgres

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

var oneTests = []engineTest{
	{"OneTrip", testOneTrip},
	{"Error", testOneIsCommitted},
	{"EndOfContext", testOneGoesOn},
	{"BrokenConnection", testOneOfUnknownOutcome},
}

// addOne adds a job by WriteOne.
func addOne(ctx context.Context, store *Store, result error) error {
	return store.WriteOne(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.EnqueueJob(ctx, add("k"))
		return errors.Join(err, result)
	})
}

func testOneTrip(t *testing.T, site *site) {
	var commits atomic.Int64
	store, client, _ := site.queue(t, beforeCommit(func() { commits.Add(1) }))
	must(t, addOne(t.Context(), store, nil))
	want(t, "commits by a statement of their own", commits.Load(), 0)
	want(t, "rows", rows(t, client, "k"), 1)
}

// What the function returns undoes nothing: its statement is committed.
func testOneIsCommitted(t *testing.T, site *site) {
	store, client, _ := site.queue(t)
	no := errors.New("no")
	if err := addOne(t.Context(), store, no); !errors.Is(err, no) {
		t.Errorf("the error is %v", err)
	}
	want(t, "rows", rows(t, client, "k"), 1)
}

func testOneGoesOn(t *testing.T, site *site) {
	store, client, _ := site.queue(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, addOne(ctx, store, nil))
	want(t, "rows", rows(t, client, "k"), 1)
}

// Whether the server has heard of the statement is not known; it is not run again.
func testOneOfUnknownOutcome(t *testing.T, site *site) {
	for _, cut := range []fate{cutBefore, cutAfter} {
		_, client, url := site.queue(t)
		p := newProxy(t, url)
		store, _ := open(t, p.url(url))
		must(t, addOne(t.Context(), store, nil))
		p.onEnd("-- name: EnqueueJob ", func(int) fate { return cut }, func() {})
		if err := addOne(t.Context(), store, nil); !errors.Is(err, jobs.ErrUnknownOutcome) || !store.CanRetry(err) {
			t.Errorf("the error is %v", err)
		}
		p.onCommit(func(int) fate { return pass }, func() {})
		added := 1
		if cut == cutAfter {
			added = 2
		}
		want(t, "rows", rows(t, client, "k"), added)
		must(t, addOne(t.Context(), store, nil))
	}
}
