package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var deadlineTests = []engineTest{
	{"WriteThatWaits", testWriteThatWaits},
	{"EndOfTheContextAtCommit", testEndOfTheContextAtCommit},
	{"WriteBehindALockedTable", testWriteBehindALockedTable},
}

// A write that waits for a row or a table ends with its caller's context, changes nothing and leaves no other session waiting.
func testWriteThatWaits(t *testing.T, site *site) {
	for lock, statement := range map[string]string{"row": "lock_job", "table": "lock_jobs"} {
		t.Run(lock, func(t *testing.T) {
			_, client, url := site.queue(t)
			id := enqueue(t, client, "k")
			tx, err := dial(t, url).Begin(t.Context())
			must(t, err)
			if lock == "row" {
				_, err = tx.Exec(t.Context(), sqlFile(t, statement), id)
			} else {
				_, err = tx.Exec(t.Context(), sqlFile(t, statement))
			}
			must(t, err)
			admin := dial(t, url)
			waiting := func() int { return scan[int](t, admin, "count_waiting") }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := client.Cancel(ctx, id)
				done <- err
			}()
			eventually(t, "the write waits", func() bool { return waiting() == 1 })
			cancel()
			if err := receive(t, "the end of the write", done); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			eventually(t, "no session waits in the server", func() bool { return waiting() == 0 })
			must(t, tx.Rollback(t.Context()))
			want(t, "status", get(t, client, id).Status, jobs.StatusPending)
		})
	}
}

// A context that ends after the last statement does not break a commit: whatever breaks then, the result is true.
func testEndOfTheContextAtCommit(t *testing.T, site *site) {
	for name, test := range map[string]struct {
		fate      fate
		committed int
	}{"passes": {pass, 1}, "connection breaks after it": {cutAfter, 1}, "connection breaks before it": {cutBefore, 0}} {
		t.Run(name, func(t *testing.T) {
			_, _, url := site.queue(t)
			p := newProxy(t, url)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			store, client := open(t, p.url(url), beforeCommit(cancel))
			must(t, client.CheckSchema(t.Context()))
			p.onCommit(func(int) fate { return test.fate }, func() {})
			err := store.Write(ctx, func(ctx context.Context, q db.Querier) error {
				_, err := q.EnqueueJob(ctx, add("k"))
				return err
			})
			if (err == nil) != (test.committed == 1) || errors.Is(err, jobs.ErrUnknownOutcome) {
				t.Errorf("the answer is %v", err)
			}
			p.onCommit(func(int) fate { return pass }, func() {})
			want(t, "rows", rows(t, client, "k"), test.committed)
		})
	}
}

// A write that meets a locked table fails after the lock_timeout, also on a connection on which the server has not prepared
// the statement yet: preparing waits for the lock.
func testWriteBehindALockedTable(t *testing.T, site *site) {
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			_, _, url := site.queue(t)
			store, client := open(t, with(url, "pool_max_conns=1", "default_query_exec_mode="+mode))
			must(t, client.CheckSchema(t.Context()))
			tx, err := dial(t, url).Begin(t.Context())
			must(t, err)
			_, err = tx.Exec(t.Context(), sqlFile(t, "lock_jobs"))
			must(t, err)
			write := func() error {
				ctx, cancel := context.WithTimeout(t.Context(), hang)
				defer cancel()
				return store.Write(ctx, func(ctx context.Context, q db.Querier) error {
					_, err := q.EnqueueJob(ctx, add("k"))
					return err
				})
			}
			if err := write(); !errors.Is(err, jobs.ErrBusy) {
				t.Errorf("the error is %v", err)
			}
			must(t, tx.Rollback(t.Context()))
			must(t, write())
			must(t, write())
			list, err := inspect.New(client).List(t.Context(), inspect.Filter{})
			must(t, err)
			want(t, "jobs", len(list), 2)
		})
	}
}
