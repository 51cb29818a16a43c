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

	"github.com/sqluice/sqluice/internal/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

var txTests = []engineTest{
	{"EnqueueInTransactions", testEnqueueInTransactions},
	{"CompleteInTransactions", testCompleteInTransactions},
	{"TransactionsOfOtherEngines", testTransactionsOfOtherEngines},
}

// applicationTx is a transaction of the application's own, of one of the two sorts that it may have.
type applicationTx struct {
	jobs.Tx
	commit, rollback func() error
}

// beginners begin transactions of both sorts on a database.
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

// What an application's transaction adds exists, and is told to other processes, when it is committed, and only then.
func testEnqueueInTransactions(t *testing.T, site *site) {
	server := site.server
	for _, schema := range []string{"", `odd "schema"`} {
		for _, sort := range []string{"pgx", "database/sql"} {
			t.Run(sort+" in "+schema, func(t *testing.T) {
				url := server.Database(t)
				opts := []Option{WithPoll(time.Minute)} // so that only the notification can be what wakes
				if schema != "" {
					opts = append(opts, WithSchema(schema))
				}
				_, client := migrated(t, url, opts...)
				listener, _ := open(t, url, opts...)
				begin := beginners(t, url)[sort]
				notifications := listen(t, url, listener.names.channel())
				wake, stop := listener.Listen(jobs.WorkReady, []string{"a", "b"})
				defer stop()
				receive(t, "the wake when listening has begun", wake)
				_, unrelated := open(t, url, opts...)
				workers := handlers{"k": nothing}
				work(t, unrelated, jobs.Config{Queues: map[string]int{"a": 2, "b": 2}}, workers)

				add := func(tx jobs.Tx) (ids []int64) {
					in := client.In(tx)
					ids, err := in.EnqueueMany(t.Context(), "k", []json.RawMessage{[]byte("1"), []byte("2")}, jobs.Queue("a"))
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
				_, enqueueErr := client.In(tx).Enqueue(ctx, "business", []byte("{}"), jobs.Queue(sort))
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
			list, err := client.List(t.Context(), jobs.Filter{Kind: "business", Queue: sort})
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
	_, err := other.Migrate(t.Context())
	must(t, err)
	foreign, err := testdb.PlainSQLite(t, path).BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { must(t, foreign.Rollback()) }()
	if _, err := client.In(sqlite.Tx(foreign)).Enqueue(t.Context(), "k", []byte("{}")); err == nil || !strings.Contains(err.Error(), "postgres.Tx") {
		t.Errorf("a transaction of SQLite gives %v", err)
	}
	if _, err := store.Join(sqlite.Tx(foreign)); err == nil {
		t.Error("the store joins a transaction of SQLite")
	}
	for sort, begin := range beginners(t, url) {
		tx := begin()
		if _, err := jobs.New(other).In(tx).Enqueue(t.Context(), "k", []byte("{}")); err == nil || !strings.Contains(err.Error(), "sqlite.Tx") {
			t.Errorf("SQLite takes a transaction of %s: %v", sort, err)
		}
		must(t, tx.rollback())
	}
}
