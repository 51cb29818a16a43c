package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

var togetherTests = []engineTest{
	{"ShareACommit", testShareACommit},
	{"ErrorGoesToItsCaller", testErrorGoesToItsCaller},
	{"EndOfAMembersContext", testEndOfAMembersContext},
	{"StuckGroups", testStuckGroups},
	{"PanicOfALeader", testPanicOfALeader},
}

// full has as many writes as are let through wait at their commits, until release is called.
type full struct {
	store   *Store
	client  *jobs.Client
	commits atomic.Int64 // that were begun
	pass    func()       // lets one of them go on
	release func()
	group   sync.WaitGroup
}

// together lets those who wait go with one group: of the writes that are in their way one ends, and the others after they were
// taken. Did two end at once, two of them would lead.
func (f *full) together(t *testing.T) {
	t.Helper()
	f.pass()
	f.wait(t, 0)
	f.release()
}

// newFull has those who wait go by themselves after a time; 0 is the usual one.
func newFull(t *testing.T, site *site, stuck time.Duration) *full {
	t.Helper()
	f := &full{}
	gate := make(chan struct{})
	f.pass = func() { gate <- struct{}{} }
	f.release = sync.OnceFunc(func() { close(gate) })
	f.store, f.client, _ = site.queue(t, beforeCommit(func() {
		f.commits.Add(1)
		<-gate
	}))
	f.store.together.stuck = stuck
	t.Cleanup(f.release)
	for i := range groupsMost {
		f.group.Go(func() {
			if _, err := f.client.Enqueue(t.Context(), fmt.Sprint("first", i), []byte("{}")); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "the first writes are at their commits", func() bool { return f.commits.Load() == groupsMost })
	return f
}

// wait waits until so many wait for a group.
func (f *full) wait(t *testing.T, n int) {
	t.Helper()
	eventually(t, "the others wait", func() bool {
		f.store.together.mu.Lock()
		defer f.store.together.mu.Unlock()
		return len(f.store.together.waiting) == n
	})
}

// Callers who come while others write share one transaction, and each gets the id of its own job.
func testShareACommit(t *testing.T, site *site) {
	f := newFull(t, site, time.Hour)
	const n = 50
	receipts := make([]jobs.Receipt, n)
	for i := range n {
		f.group.Go(func() {
			var err error
			if receipts[i], err = f.client.Enqueue(t.Context(), fmt.Sprint("k", i), []byte("{}")); err != nil {
				t.Error(err)
			}
		})
	}
	f.wait(t, n)
	f.together(t)
	f.group.Wait()
	for i, r := range receipts {
		want(t, "kind", get(t, f.client, r.ID).Kind, fmt.Sprint("k", i))
	}
	want(t, "commits", f.commits.Load(), groupsMost+1)
}

// The function that causes an error gets it, and the writes of the others are committed.
func testErrorGoesToItsCaller(t *testing.T, site *site) {
	f := newFull(t, site, time.Hour)
	own := errors.New("the member's error")
	errs := make([]error, 9)
	for i := range errs {
		f.group.Go(func() {
			errs[i] = f.store.WriteTogether(t.Context(), func(ctx context.Context, q db.Querier) error {
				if i%3 == 1 {
					return own
				}
				_, err := q.EnqueueJob(ctx, add("k"))
				return err
			})
		})
	}
	f.wait(t, len(errs))
	f.release()
	f.group.Wait()
	for i, err := range errs {
		if i%3 == 1 {
			want(t, "error", errors.Is(err, own), true)
		} else {
			must(t, err)
		}
	}
	want(t, "jobs", rows(t, f.client, "k"), 6)
}

// A member whose context ends returns without waiting for the others of its group, whose writes are committed.
func testEndOfAMembersContext(t *testing.T, site *site) {
	f := newFull(t, site, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	var slow, ended error
	var runs, never atomic.Int64
	f.group.Go(func() {
		slow = f.store.WriteTogether(t.Context(), func(ctx context.Context, q db.Querier) error {
			if runs.Add(1) == 1 {
				cancel()
				<-ctx.Done() // as a statement that waits does
				return ctx.Err()
			}
			_, err := q.EnqueueJob(ctx, add("k"))
			return err
		})
	})
	f.wait(t, 1)
	f.group.Go(func() {
		ended = f.store.WriteTogether(ctx, func(context.Context, db.Querier) error {
			never.Add(1)
			return nil
		})
	})
	f.wait(t, 2)
	f.together(t)
	f.group.Wait()
	must(t, slow)
	want(t, "runs", runs.Load(), 2)
	want(t, "error of the member whose context ended", errors.Is(ended, context.Canceled), true)
	want(t, "runs of the member whose context ended", never.Load(), 0)
	want(t, "jobs", rows(t, f.client, "k"), 1)
}

// Callers who wait for a group go by themselves when none ends.
func testStuckGroups(t *testing.T, site *site) {
	f := newFull(t, site, 0)
	errs := make(chan error)
	for i := range 2 {
		go func() {
			_, err := f.client.Enqueue(t.Context(), fmt.Sprint("k", i), []byte("{}"))
			errs <- err
		}()
	}
	// They come to a commit of their own, where they wait as those before do.
	eventually(t, "the others are at their commits", func() bool { return f.commits.Load() == groupsMost+2 })
	f.release()
	f.group.Wait()
	for range 2 {
		must(t, receive(t, "the end of a write", errs))
	}
}

// A panic outside all functions, as in an application's hook of the pool, leaves no member waiting.
func testPanicOfALeader(t *testing.T, site *site) {
	f := newFull(t, site, time.Hour)
	others := []*member{{wake: make(chan role, 1)}, {wake: make(chan role, 1)}}
	f.store.together.mu.Lock()
	f.store.together.waiting = append(f.store.together.waiting, others...)
	f.store.together.mu.Unlock()
	func() {
		defer func() { want(t, "panic", recover() != nil, true) }()
		f.store.lead(&member{}) // without a context
	}()
	want(t, "what becomes of the first", receive(t, "the first", others[0].wake), alone)
	want(t, "what becomes of the second", receive(t, "the second", others[1].wake), alone)
}
