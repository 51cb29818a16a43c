package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var identityTests = []engineTest{
	{"TransactionOnAnotherDatabase", testTransactionOnAnotherDatabase},
	{"TransactionOnAnotherServer", testTransactionOnAnotherServer},
	{"StatementsInATransaction", testStatementsInATransaction},
	{"FirstUseInATransaction", testFirstUseInATransaction},
}

// refusesTransactions checks that each call that may join a transaction refuses those on another database with the same job.
func refusesTransactions(t *testing.T, url, other string) {
	t.Helper()
	_, client := open(t, url)
	_, otherClient := open(t, other)
	for sort, begin := range beginners(t, other) {
		calls := map[string]func(jobs.Tx, jobs.Job) error{
			"enqueue": func(tx jobs.Tx, _ jobs.Job) error {
				_, err := client.With(tx).Enqueue(t.Context(), "k", json.RawMessage("1"))
				return err
			},
			"cancel": func(tx jobs.Tx, job jobs.Job) error {
				_, err := client.With(tx).Cancel(t.Context(), job.ID)
				return err
			},
			"get": func(tx jobs.Tx, job jobs.Job) error {
				_, err := client.With(tx).Get(t.Context(), job.ID)
				return err
			},
			"list": func(tx jobs.Tx, job jobs.Job) error {
				_, err := inspect.New(client.With(tx)).List(t.Context(), inspect.Filter{})
				return err
			},
			"complete": func(tx jobs.Tx, job jobs.Job) error { return jobs.CompleteTx(t.Context(), tx, job, nil) },
		}
		for name, call := range calls {
			enqueue(t, client, "k")
			enqueue(t, otherClient, "k")
			drain(t, client, jobs.Config{}, handlers{"k": func(_ context.Context, job jobs.Job) error {
				tx := begin()
				defer func() { must(t, tx.rollback()) }()
				if err := call(tx, job); err == nil || !strings.Contains(err.Error(), "database "+databaseOf(t, other)) ||
					!strings.Contains(err.Error(), "database "+databaseOf(t, url)) || !strings.Contains(err.Error(), "begin it there") {
					t.Errorf("%s, %s: %v", sort, name, err)
				}
				return nil
			}})
		}
		want(t, "jobs that are done in the other database", len(withStatus(t, otherClient, jobs.StatusDone)), 0)
	}
}

func withStatus(t *testing.T, client *jobs.Client, status jobs.Status) []jobs.Job {
	t.Helper()
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{Status: status})
	must(t, err)
	return list
}

func testTransactionOnAnotherDatabase(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	_, _, other := site.queue(t)
	refusesTransactions(t, url, other)
}

func testTransactionOnAnotherServer(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	_, _, other := newSite(t, testdb.StartCluster(t, nil).Postgres).queue(t)
	refusesTransactions(t, url, other)
}

// A server that was restarted is the same one, also for connections that a client knew before.
func TestTransactionsAfterARestart(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, map[string]string{"synchronous_commit": "on"})
	_, client, url := newSite(t, cluster.Postgres).queue(t)
	for range 2 {
		for _, begin := range beginners(t, url) {
			tx := begin()
			_, err := client.With(tx).Enqueue(t.Context(), "k", json.RawMessage("1"))
			must(t, errors.Join(err, tx.commit()))
		}
		cluster.Stop(t, "fast")
		cluster.Start(t)
	}
	want(t, "jobs", rows(t, client, "k"), 4)
}

// statementCount counts the statements on a connection.
type statementCount struct{ n int }

func (c *statementCount) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n++
	return ctx
}

func (c *statementCount) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// The check of a transaction's database goes with a statement that is sent anyway; without one, each connection is asked once.
func testStatementsInATransaction(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	id := enqueue(t, client, "k")
	count := &statementCount{}
	config, err := pgx.ParseConfig(url)
	must(t, err)
	config.Tracer = count
	conn, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	defer func() { must(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	statements := func(call func(*jobs.Client) error) int {
		tx, err := conn.Begin(t.Context())
		must(t, err)
		count.n = 0
		must(t, call(client.With(Tx(tx))))
		n := count.n
		must(t, tx.Rollback(t.Context()))
		return n
	}
	get := func(in *jobs.Client) error { _, err := in.Get(t.Context(), id); return err }
	first, second := statements(get), statements(get)
	want(t, "the statements that the first read has more than the second", first-second, 1)
	want(t, "statements of an enqueue", statements(func(in *jobs.Client) error {
		_, err := in.Enqueue(t.Context(), "k", json.RawMessage("1"))
		return err
	}), 2)
}

// The first use of a client may be in a transaction that has the pool's only connection and another search_path.
func testFirstUseInATransaction(t *testing.T, site *site) {
	url := schemas(t, site, "app", "queue")
	migrated(t, with(url, "search_path=queue"))
	pool, err := pgxpool.New(t.Context(), with(url, "search_path=app,queue", "pool_max_conns=1"))
	must(t, err)
	defer pool.Close()
	store, err := newBackend(pool)
	must(t, err)
	tx, err := pool.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sqlFile(t, "search_app"))
	must(t, err)
	_, err = jobs.New(store).With(Tx(tx)).Enqueue(t.Context(), "k", json.RawMessage("1"))
	must(t, err)
	must(t, tx.Commit(t.Context()))
	want(t, "jobs", rows(t, jobs.New(store), "k"), 1)
	must(t, store.Close())
}
