package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

var groupTests = []engineTest{
	{"ShareACommit", testShareACommit},
	{"ShareAStatement", testShareAStatement},
	{"ErrorGoesToItsCaller", testErrorGoesToItsCaller},
	{"EndOfAMembersContext", testEndOfAMembersContext},
	{"StuckGroups", testStuckGroups},
}

// full lets as many writes as may run at once wait at their commits, until release is called.
type full struct {
	store   *backend
	client  *jobs.Client
	url     string
	commits atomic.Int64 // commits begun
	pass    func()       // lets one of them continue
	release func()
	group   sync.WaitGroup
}

// together lets the waiting writes join one group: one of the writes ahead of them ends, and the others after they have
// joined. If two ended at once, two waiting writes would lead.
func (f *full) together(t *testing.T) {
	t.Helper()
	f.pass()
	f.wait(t, 0)
	f.release()
}

// newFull lets waiting writes run alone after a time; 0 is the default. prepare names files of statements that run first.
func newFull(t *testing.T, site *site, stuck time.Duration, prepare ...string) *full {
	t.Helper()
	f := &full{}
	gate := make(chan struct{})
	f.pass = func() { gate <- struct{}{} }
	f.release = sync.OnceFunc(func() { close(gate) })
	f.store, f.client, f.url = site.queue(t, beforeCommit(func() {
		f.commits.Add(1)
		<-gate
	}))
	if stuck != 0 {
		f.store.inserts.Stuck = stuck
	}
	t.Cleanup(f.release)
	for _, file := range prepare {
		exec(t, dial(t, f.url), file)
	}
	for i := range groupsAtOnce {
		f.group.Go(func() {
			if _, err := f.client.Enqueue(t.Context(), fmt.Sprint("first", i), []byte("{}")); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "the first writes are at their commits", func() bool { return f.commits.Load() == groupsAtOnce })
	return f
}

// wait waits until n writes wait for a group.
func (f *full) wait(t *testing.T, n int) {
	t.Helper()
	eventually(t, "the others wait", func() bool { return f.store.inserts.Waiting() == n })
}

// Callers that arrive while others write share one transaction, and each gets the id of its own job.
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
	want(t, "commits", f.commits.Load(), groupsAtOnce+1)
}

// insertOf is the insert of a job that is due at once.
func insertOf(store *backend, kind, payload string) engine.Insert {
	now := store.Now().UnixMicro()
	return engine.Insert{Job: db.EnqueueKeylessJobParams{
		Kind: kind, Queue: "default", Payload: payload, Status: "pending", RunAfter: now, MaxAttempts: 1, Now: now,
	}}
}

// Consecutive callers with similar jobs share one statement, and each gets the id of its own job.
func testShareAStatement(t *testing.T, site *site) {
	f := newFull(t, site, time.Hour)
	const n = 20
	ids := make([][]int64, n)
	var statements []string // of one group, whose leader alone reports them
	first := insertOf(f.store, "k", "")
	for i := range n {
		in := first
		in.Job.Payload = fmt.Sprint(i)
		in.Ran = func(name string, _ time.Duration, _ error) { statements = append(statements, name) }
		f.group.Go(func() {
			var err error
			if ids[i], err = f.store.Insert(t.Context(), in); err != nil {
				t.Error(err)
			}
		})
		f.wait(t, i+1)
	}
	f.together(t)
	f.group.Wait()
	for i, id := range ids {
		want(t, "payload", string(get(t, f.client, id[0]).Payload), fmt.Sprint(i))
		if i > 0 && id[0] <= ids[i-1][0] {
			t.Errorf("job %d has the id %d, after %d", i, id[0], ids[i-1][0])
		}
	}
	if !slices.Equal(statements, []string{"EnqueueJobs"}) {
		t.Errorf("the statements are %q", statements)
	}
}

// The caller whose job the database refuses gets the error, and the jobs of the others are added.
func testErrorGoesToItsCaller(t *testing.T, site *site) {
	f := newFull(t, site, time.Hour)
	errs := make([]error, 9)
	for i := range errs {
		in := insertOf(f.store, "k", "{}")
		if i%3 == 1 {
			in.Job.MaxAttempts = -1
		}
		f.group.Go(func() { _, errs[i] = f.store.Insert(t.Context(), in) })
		f.wait(t, i+1) // so that two similar ones are consecutive
	}
	f.release()
	f.group.Wait()
	for i, err := range errs {
		if i%3 == 1 {
			var refusal *pgconn.PgError
			want(t, "error", errors.As(err, &refusal), true)
		} else {
			must(t, err)
		}
	}
	want(t, "jobs", rows(t, f.client, "k"), 6)
}

// A member whose context ends while its statement waits for a lock returns, and so do the others of its group, whose jobs are added.
func testEndOfAMembersContext(t *testing.T, site *site) {
	f := newFull(t, site, time.Hour, "unique_users")
	admin := dial(t, f.url)
	tx, err := dial(t, f.url).Begin(t.Context())
	must(t, err)
	_, err = f.client.With(Tx(tx)).Enqueue(t.Context(), "first", []byte("{}"), jobs.UserID("u"))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	blocked := insertOf(f.store, "blocked", "{}")
	blocked.Job.UserID = new("u")
	var ended, other error
	f.group.Go(func() { _, ended = f.store.Insert(ctx, blocked) })
	f.wait(t, 1)
	f.group.Go(func() { _, other = f.store.Insert(t.Context(), insertOf(f.store, "other", "{}")) })
	f.wait(t, 2)
	f.together(t)
	eventually(t, "the statement waits for the lock", func() bool { return scan[int](t, admin, "count_waiting") == 1 })
	cancel()
	f.group.Wait()
	must(t, other)
	want(t, "error of the member whose context ended", errors.Is(ended, context.Canceled), true)
	must(t, tx.Rollback(t.Context()))
	want(t, "jobs of the member whose context ended", rows(t, f.client, "blocked"), 0)
	want(t, "jobs of the other", rows(t, f.client, "other"), 1)
}

// Callers that wait for a group write alone when none ends.
func testStuckGroups(t *testing.T, site *site) {
	f := newFull(t, site, 0)
	errs := make(chan error)
	for i := range 2 {
		go func() {
			_, err := f.client.Enqueue(t.Context(), fmt.Sprint("k", i), []byte("{}"))
			errs <- err
		}()
	}
	// They reach their own commits, where they wait as the earlier ones do.
	eventually(t, "the others are at their commits", func() bool { return f.commits.Load() == groupsAtOnce+2 })
	f.release()
	f.group.Wait()
	for range 2 {
		must(t, receive(t, "the end of a write", errs))
	}
}
