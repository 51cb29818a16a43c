package sqlite

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// add returns a function for the writer that pauses the named queue: a visible write.
func add(name string) func(context.Context, db.Querier) error {
	return func(ctx context.Context, q db.Querier) error {
		_, err := q.Pause(ctx, db.PauseParams{Queue: name, Now: 0})
		return err
	}
}

func added(t *testing.T, store *backend) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	must(t, store.Read(t.Context(), func(ctx context.Context, q db.Querier) error {
		rows, err := q.ListPauses(ctx)
		for _, row := range rows {
			names[row.Queue] = true
		}
		return err
	}))
	return names
}

// pile makes a leader wait inside its transaction until n more writes are queued behind it, and returns their errors.
func pile(t *testing.T, store *backend, fns ...func(context.Context, db.Querier) error) []error {
	t.Helper()
	calls := make([]func() error, len(fns))
	for i, fn := range fns {
		calls[i] = func() error { return store.Write(context.Background(), fn) }
	}
	return pileCalls(t, store, calls...)
}

// pileCalls does what pile does for calls that each write.
func pileCalls(t *testing.T, store *backend, calls ...func() error) []error {
	t.Helper()
	leading, release := make(chan struct{}), make(chan struct{})
	leader := make(chan error, 1)
	go func() {
		leader <- store.Write(context.Background(), func(context.Context, db.Querier) error {
			close(leading)
			<-release
			return nil
		})
	}()
	receive(t, "the leader", leading)
	results := make([]chan error, len(calls))
	for i, call := range calls {
		results[i] = make(chan error, 1)
		go func() { results[i] <- call() }()
		eventually(t, "the write is queued", func() bool { return queued(store) == i+1 })
	}
	close(release)
	must(t, receive(t, "the leader's end", leader))
	errs := make([]error, len(calls))
	for i := range results {
		errs[i] = receive(t, "a follower's end", results[i])
	}
	return errs
}

func queued(store *backend) int {
	return store.writer.groups.Waiting()
}

func TestGroupSharesOneTransaction(t *testing.T) {
	store, _ := queue(t)
	seen := map[db.Querier]int{}
	fn := func(_ context.Context, q db.Querier) error {
		seen[q]++
		return nil
	}
	for _, err := range pile(t, store, fn, fn, fn, fn, fn) {
		must(t, err)
	}
	if len(seen) != 1 {
		t.Errorf("five waiting writes ran in %d transactions", len(seen))
	}
}

func TestFailureStaysWithItsCaller(t *testing.T) {
	store, _ := queue(t)
	no := errors.New("no")
	errs := pile(t, store, add("a"), func(ctx context.Context, q db.Querier) error {
		return errors.Join(add("b")(ctx, q), no)
	}, add("c"), func(ctx context.Context, q db.Querier) error {
		if err := add("d")(ctx, q); err != nil {
			return err
		}
		panic("oh no")
	}, add("e"))
	for i, want := range []string{"", "no", "", "panic in a write: oh no", ""} {
		if err := errs[i]; (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("write %d gives %v, not %q", i, err, want)
		}
	}
	names := added(t, store)
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false, "e": true} {
		if names[name] != want {
			t.Errorf("the write of %q is committed: %t", name, names[name])
		}
	}
	must(t, store.Write(t.Context(), add("after")))
}

func TestWriteCancelledWhileQueued(t *testing.T) {
	store, _ := queue(t)
	leading, release, leader := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		leader <- store.Write(context.Background(), func(context.Context, db.Querier) error {
			close(leading)
			<-release
			return nil
		})
	}()
	receive(t, "the leader", leading)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() { waiting <- store.Write(ctx, add("cancelled")) }()
	eventually(t, "the write is queued", func() bool { return queued(store) == 1 })
	cancel()
	if err := receive(t, "the cancelled write", waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("the write gives %v", err)
	}
	close(release)
	must(t, receive(t, "the leader's end", leader))
	if err := store.Write(ctx, add("cancelled")); !errors.Is(err, context.Canceled) {
		t.Errorf("a write with an ended context gives %v", err)
	}
	must(t, store.Write(t.Context(), add("after")))
	if added(t, store)["cancelled"] {
		t.Error("a cancelled write is committed")
	}
}

func TestWriteOnceStartedIsNotCancelled(t *testing.T) {
	store, _ := queue(t)
	ctx, cancel := context.WithCancel(t.Context())
	must(t, store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		cancel()
		return add("started")(ctx, q)
	}))
	if !added(t, store)["started"] {
		t.Error("an acknowledged write is not there")
	}
}

func TestCloseFinishesAcceptedWrites(t *testing.T) {
	store, _ := queue(t)
	leading, release := make(chan struct{}), make(chan struct{})
	results := make(chan error, 2)
	go func() {
		results <- store.Write(context.Background(), func(context.Context, db.Querier) error {
			close(leading)
			<-release
			return nil
		})
	}()
	receive(t, "the leader", leading)
	go func() { results <- store.Write(context.Background(), add("accepted")) }()
	eventually(t, "the write is queued", func() bool { return queued(store) == 1 })
	closed := make(chan error, 1)
	go func() { closed <- store.Close() }()
	eventually(t, "the store is closed", func() bool { return errors.Is(store.pools.ready(t.Context()), jobs.ErrClosed) })
	if err := store.Write(t.Context(), add("refused")); !errors.Is(err, jobs.ErrClosed) {
		t.Errorf("a write after the close gives %v", err)
	}
	close(release)
	must(t, receive(t, "a write's end", results))
	must(t, receive(t, "a write's end", results))
	must(t, receive(t, "the close", closed))

	reopened, _ := queueAt(t, store.path)
	names := added(t, reopened)
	if !names["accepted"] || names["refused"] {
		t.Errorf("committed: %v", names)
	}
}

func TestReadAfterClose(t *testing.T) {
	store, client := queue(t)
	must(t, store.Close())
	must(t, store.Close())
	if _, err := client.Get(t.Context(), 1); !errors.Is(err, jobs.ErrClosed) {
		t.Errorf("a read gives %v", err)
	}
}

// Writes continue while migrations of the same store drop the statements and prepare new ones.
func TestWritesBesideMigrate(t *testing.T) {
	store, client := queue(t)
	results := make(chan error)
	for range 4 {
		go func() {
			var err error
			for i := 0; i < 100 && err == nil; i++ {
				_, err = client.Enqueue(context.Background(), "k", []byte("{}"))
			}
			results <- err
		}()
	}
	for range 20 {
		_, err := client.Migrate(t.Context())
		must(t, err)
	}
	for range 4 {
		must(t, receive(t, "an enqueuer's end", results))
	}
	if n := scan[int](t, plain(t, store.path), "count_jobs"); n != 400 {
		t.Errorf("%d jobs are there, not 400", n)
	}
}
