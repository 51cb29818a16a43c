package postgres

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// countsOutdated counts the statements that the server refused because their results had other types.
type countsOutdated struct{ refused atomic.Int64 }

func (*countsOutdated) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (c *countsOutdated) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	c.count(data.Err)
}

func (*countsOutdated) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (c *countsOutdated) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	c.count(data.Err)
}

func (*countsOutdated) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (c *countsOutdated) count(err error) {
	if isOutdated(err) {
		c.refused.Add(1)
	}
}

// typesMadeAgain begins the name of a migration that makes types of parameters and results.
const typesMadeAgain = "00021"

// Every call of a program succeeds after a migration has changed the types of the results of statements that its connections have
// prepared.
func testOutdatedStatements(t *testing.T, site *site) {
	url := site.server.Copy(t, site.template)
	outdated := &countsOutdated{}
	config, err := pgxpool.ParseConfig(with(url, "pool_max_conns=4"))
	must(t, err)
	config.ConnConfig.Tracer = outdated
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	store, err := newBackend(pool)
	must(t, err)
	t.Cleanup(func() { shut(t, store) })
	client := jobs.New(store)

	calls := func() {
		first, second, third := enqueue(t, client, "k"), enqueue(t, client, "k", jobs.Unique("key")), enqueue(t, client, "k")
		must(t, client.Delete(t.Context(), first))
		_, err := client.Cancel(t.Context(), second)
		must(t, err)
		must(t, client.Retry(t.Context(), second))
		drain(t, client, jobs.Config{}, handlers{"k": nothing})
		wantDone(t, client, third, 1)
		_, err = inspect.New(client).DeleteMany(t.Context(), []int64{second, third})
		must(t, err)
	}
	onEachConnection := func() {
		for range config.MaxConns - 1 { // a drain needs one, and each call gets the connection released last
			calls()
			conn, err := pool.Acquire(t.Context())
			must(t, err)
			defer conn.Release()
		}
	}
	onEachConnection()
	_, other := open(t, url)
	for name := ""; !strings.HasPrefix(name, typesMadeAgain); {
		name, err = store.Migrations().MigrateDown(t.Context())
		must(t, err)
	}
	_, err = other.Migrate(t.Context())
	must(t, err)
	onEachConnection()
	if outdated.refused.Load() == 0 {
		t.Error("no statement was outdated")
	}
}
