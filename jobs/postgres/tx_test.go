package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sqluice/sqluice/internal/queue/core"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

var txTests = []engineTest{
	{"EnqueueInTransactions", testEnqueueInTransactions},
	{"ChangesInTransactionsRing", testChangesInTransactionsRing},
	{"IsolationLevels", testIsolationLevels},
	{"CompleteInTransactions", testCompleteInTransactions},
	{"TransactionsOfOtherEngines", testTransactionsOfOtherEngines},
}

// applicationTx is a transaction of the application, of one of its two sorts.
type applicationTx struct {
	jobs.Tx
	commit, rollback func() error
}

// beginners returns functions that begin transactions of both sorts on a database.
func beginners(t *testing.T, url string) map[string]func() applicationTx {
	t.Helper()
	pool, err := sql.Open("pgx", url)
	must(t, err)
	t.Cleanup(func() { must(t, pool.Close()) })
	return map[string]func() applicationTx{
		"pgx": func() applicationTx {
			conn, err := pgx.Connect(t.Context(), url)
			must(t, err)
			tx, err := conn.Begin(t.Context())
			must(t, err)
			end := func(err error) error { return errors.Join(err, conn.Close(context.Background())) }
			return applicationTx{
				Tx:       Tx(tx),
				commit:   func() error { return end(tx.Commit(context.Background())) },
				rollback: func() error { return end(tx.Rollback(context.Background())) },
			}
		},
		"database/sql": func() applicationTx {
			tx, err := pool.BeginTx(context.Background(), nil)
			must(t, err)
			return applicationTx{Tx: SQLTx(tx), commit: tx.Commit, rollback: tx.Rollback}
		},
	}
}

// Jobs added in an application's transaction exist, and other processes are notified, when it is committed, and only then.
func testEnqueueInTransactions(t *testing.T, site *site) {
	server := site.server
	for _, schema := range []string{"", `odd "schema"`} {
		for _, sort := range []string{"pgx", "database/sql"} {
			t.Run(sort+" in "+schema, func(t *testing.T) {
				url := server.Database(t)
				opts := []Option{WithPoll(time.Minute)} // so that only the notification can wake
				if schema != "" {
					opts = append(opts, WithSchema(schema))
				}
				_, client := migrated(t, url, opts...)
				listener, _ := open(t, url, opts...)
				begin := beginners(t, url)[sort]
				notifications := listen(t, url, listener.conns.names.channel())
				wake, stop := listener.Listen(core.WorkReady, []string{"a", "b"})
				defer stop()
				receive(t, "the wake when listening has begun", wake)
				_, unrelated := open(t, url, opts...)
				workers := handlers{"k": nothing}
				work(t, unrelated, jobs.Config{Queues: map[string]int{"a": 2, "b": 2}}, workers)

				add := func(tx jobs.Tx) (ids []int64) {
					in := client.With(tx)
					ids, err := receipts.IDs(in.EnqueueMany(t.Context(), "k", []json.RawMessage{[]byte("1"), []byte("2")}, jobs.Queue("a")))
					must(t, err)
					for range 2 {
						receipt, err := in.Enqueue(t.Context(), "k", []byte("3"), jobs.Queue("b"), jobs.Unique("u"))
						must(t, err)
						ids = append(ids, receipt.ID)
					}
					if job, err := in.Get(t.Context(), ids[0]); err != nil || job.Queue != "a" {
						t.Errorf("the transaction does not see its job: %v", err)
					}
					_, err = in.Get(t.Context(), ids[0]+1000)
					if !errors.Is(err, jobs.ErrNotFound) {
						t.Errorf("a job that is not there gives %v", err)
					}
					return ids
				}
				tx := begin()
				ids := add(tx)
				must(t, tx.rollback())
				if _, err := client.Get(t.Context(), ids[0]); !errors.Is(err, jobs.ErrNotFound) {
					t.Errorf("after the rollback: %v", err)
				}
				if got := notifications(); len(got) > 0 {
					t.Errorf("the rollback was told: %q", got)
				}

				tx = begin()
				ids = add(tx)
				want(t, "the id of the second enqueue with the key", ids[3], ids[2])
				if got := notifications(); len(got) > 0 {
					t.Errorf("it was told before the commit: %q", got)
				}
				must(t, tx.commit())
				receive(t, "the wake after the commit", wake)
				for _, id := range ids {
					wantDone(t, client, id, 1)
				}
				got := slices.DeleteFunc(notifications(), func(s string) bool { return strings.HasSuffix(s, "/") }) // of the ends
				if !slices.Equal(got, []string{"/1/a", "/1/b"}) {
					t.Errorf("the commit was told as %q", got)
				}
			})
		}
	}
}

// Jobs that an application's transaction makes ready without adding them are also notified with the commit. A removal is not.
func testChangesInTransactionsRing(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	_, silent := open(t, url, WithoutNotify())
	for sort, begin := range beginners(t, url) {
		t.Run(sort, func(t *testing.T) {
			for name, test := range map[string]struct {
				change func(client *jobs.Client, id int64) error
				told   string
			}{
				"retry":  {func(c *jobs.Client, id int64) error { return c.Retry(t.Context(), id) }, "/1/"},
				"cancel": {func(c *jobs.Client, id int64) error { _, err := c.Cancel(t.Context(), id); return err }, "/1/"},
				"delete": {func(c *jobs.Client, id int64) error { return c.Delete(t.Context(), id) }, ""},
				"resume": {func(c *jobs.Client, _ int64) error { _, err := c.ResumeQueue(t.Context(), "q"); return err }, "/1/q"},
				"pause":  {func(c *jobs.Client, _ int64) error { _, err := c.PauseQueue(t.Context(), "q"); return err }, "/1/q"},
			} {
				for _, by := range []*jobs.Client{client, silent} {
					id := enqueue(t, silent, "k", jobs.In(time.Hour))
					notifications := listen(t, url, "sqluice")
					tx := begin()
					must(t, test.change(by.With(tx), id))
					if got := notifications(); len(got) > 0 {
						t.Errorf("%s: told before the commit: %q", name, got)
					}
					must(t, tx.commit())
					var told []string
					if by == client && test.told != "" {
						told = []string{test.told}
					}
					if got := notifications(); !slices.Equal(got, told) {
						t.Errorf("%s: the commit was told as %q, not %q", name, got, told)
					}
				}
			}
		})
	}
}

// A transaction whose snapshot may be older than a move adds and changes nothing. It can continue, and calls that need no
// check for moves work in it.
func testIsolationLevels(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	for _, level := range []pgx.TxIsoLevel{pgx.ReadUncommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		for _, sort := range []string{"notify", "silent"} {
			t.Run(string(level)+", "+sort, func(t *testing.T) {
				var opts []Option
				if sort == "silent" {
					opts = append(opts, WithoutNotify())
				}
				_, client := open(t, url, opts...)
				id := enqueue(t, client, "k", jobs.In(time.Hour))
				tx, err := dial(t, url).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
				must(t, err)
				in := client.With(Tx(tx))
				taken := level == pgx.ReadUncommitted || level == pgx.ReadCommitted
				for name, act := range map[string]func() error{
					"an enqueue": func() error { _, err := in.Enqueue(t.Context(), "new", []byte("{}")); return err },
					"an enqueue of many": func() error {
						_, err := in.EnqueueMany(t.Context(), "new", []json.RawMessage{[]byte("{}")})
						return err
					},
					"a retry":      func() error { return in.Retry(t.Context(), id) },
					"a cancel":     func() error { _, err := in.Cancel(t.Context(), enqueue(t, client, "k")); return err },
					"a delete":     func() error { return in.Delete(t.Context(), enqueue(t, client, "k")) },
					"a prune":      func() error { _, err := inspect.New(in).Prune(t.Context(), jobs.StatusFailed, time.Hour); return err },
					"a recount":    func() error { _, err := inspect.New(in).Recount(t.Context()); return err },
					"a pause":      func() error { _, err := in.PauseQueue(t.Context(), "q"); return err },
					"a resumption": func() error { _, err := in.ResumeQueue(t.Context(), "q"); return err },
				} {
					err := act()
					var invalid *jobs.InvalidError
					if taken {
						must(t, err)
					} else if !errors.As(err, &invalid) || !strings.Contains(err.Error(), strings.ToUpper(string(level))+" must be READ COMMITTED") {
						t.Errorf("%s gives %v", name, err)
					}
				}
				_, err = in.Get(t.Context(), id)
				must(t, err)
				must(t, tx.Commit(t.Context()))
				list, err := inspect.New(client).List(t.Context(), inspect.Filter{Kind: "new"})
				must(t, err)
				want(t, "jobs were added", len(list) > 0, taken)
				for _, job := range list {
					must(t, client.Delete(t.Context(), job.ID))
				}
			})
		}
	}
	id := enqueue(t, client, "complete")
	drain(t, client, jobs.Config{}, handlers{"complete": func(ctx context.Context, job jobs.Job) error {
		return pgx.BeginTxFunc(ctx, store.conns.pool, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
			return jobs.CompleteTx(ctx, Tx(tx), job, "r")
		})
	}})
	want(t, "result", string(get(t, client, id).Result), `"r"`)
}

// The end of a job is part of the application's transaction.
func testCompleteInTransactions(t *testing.T, site *site) {
	server := site.server
	const schema = `odd "schema"`
	url := server.Database(t)
	_, client := migrated(t, url, WithSchema(schema))
	for sort, begin := range beginners(t, url) {
		t.Run(sort, func(t *testing.T) {
			first := make(chan struct{}, 1)
			stop := work(t, client, jobs.Config{}, handlers{"k": func(ctx context.Context, job jobs.Job) error {
				tx := begin()
				_, enqueueErr := client.With(tx).Enqueue(ctx, "business", []byte("{}"), jobs.Queue(sort))
				if err := errors.Join(enqueueErr, jobs.CompleteTx(ctx, tx, job, "r")); err != nil {
					return errors.Join(err, tx.rollback())
				}
				if job.Attempt == 1 {
					first <- struct{}{}
					return errors.Join(errors.New("changed my mind"), tx.rollback())
				}
				return tx.commit()
			}})
			id := enqueue(t, client, "k")
			receive(t, "the rollback", first)
			wantDone(t, client, id, 2)
			want(t, "result", string(get(t, client, id).Result), `"r"`)
			list, err := inspect.New(client).List(t.Context(), inspect.Filter{Kind: "business", Queue: sort})
			must(t, err)
			want(t, "the application's own writes", len(list), 1)
			must(t, stop())
		})
	}
}

// A transaction of another engine is refused before anything is written.
func testTransactionsOfOtherEngines(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	path := filepath.Join(t.TempDir(), "jobs.db")
	other := testdb.OpenSQLite(t, path)
	_, err := port.StoreOf(other).Migrations().Migrate(t.Context())
	must(t, err)
	foreign, err := testdb.PlainSQLite(t, path).BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { must(t, foreign.Rollback()) }()
	if _, err := client.With(sqlite.Tx(foreign)).Enqueue(t.Context(), "k", []byte("{}")); err == nil || !strings.Contains(err.Error(), "postgres.Tx") {
		t.Errorf("a transaction of SQLite gives %v", err)
	}
	if _, err := store.Transactions().Join(sqlite.Tx(foreign)); err == nil {
		t.Error("the store joins a transaction of SQLite")
	}
	for sort, begin := range beginners(t, url) {
		tx := begin()
		if _, err := jobs.New(other).With(tx).Enqueue(t.Context(), "k", []byte("{}")); err == nil || !strings.Contains(err.Error(), "sqlite.Tx") {
			t.Errorf("SQLite takes a transaction of %s: %v", sort, err)
		}
		must(t, tx.rollback())
	}
}
