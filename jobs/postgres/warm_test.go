package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/internal/test/conformance"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// warmDatabases lends tests a migrated database with a pool of connections. A test returns both, emptied, when it ends, and the next one
// finds connections that have cached the catalog and prepared the statements: new ones for each test are most of the suite's cost. A
// database that a test leaves in another state is not lent again.
type warmDatabases struct {
	suite    *testing.T
	server   *testdb.Postgres
	template string
	addresses

	mu   sync.Mutex
	idle []*warmDatabase
	lent map[*testing.T]*warmDatabase
}

// addresses returns from a database's URL the store's URL, with options, and that of the application's own pool.
type addresses func(url string) (store, application string, opts []postgres.Option)

type warmDatabase struct {
	url   string
	state string // of the catalog
	store *postgres.Store
	conn  *pgx.Conn // empties it
}

func newWarmDatabases(t *testing.T, server *testdb.Postgres, a addresses) *warmDatabases {
	return &warmDatabases{suite: t, server: server, template: migratedTemplate(t, server), addresses: a, lent: map[*testing.T]*warmDatabase{}}
}

// Open is a [conformance.Open]. The first store that a test opens has the warm pool, and others have their own.
func (w *warmDatabases) Open(t *testing.T, observers ...*jobs.Observer) conformance.Store {
	database, first := w.lend(t)
	url, application, opts := w.addresses(database.url)
	opts = append(opts, postgres.WithObserver(jobs.Observers(observers...)))
	var store *postgres.Store
	var err error
	if first {
		store, err = database.store.Again(url, opts...)
	} else {
		store, err = postgres.Open(t.Context(), url, opts...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return withPool(t, application, store)
}

// lend returns the database of a test, and whether it was lent by this call.
func (w *warmDatabases) lend(t *testing.T) (database *warmDatabase, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if database, ok := w.lent[t]; ok {
		return database, false
	}
	// After a test recreates the schema, statements that were prepared before refer to types that are gone.
	if n := len(w.idle); n > 0 && !strings.Contains(t.Name(), "/Schema/") {
		database, w.idle = w.idle[n-1], w.idle[:n-1]
	} else {
		database = w.create(t)
	}
	w.lent[t] = database
	t.Cleanup(func() { w.takeBack(t, database) })
	return database, true
}

func (w *warmDatabases) create(t *testing.T) *warmDatabase {
	database := &warmDatabase{url: w.server.Copy(w.suite, w.template)}
	url, _, opts := w.addresses(database.url)
	var err error
	if database.store, err = postgres.Open(w.suite.Context(), url, opts...); err != nil {
		t.Fatal(err)
	}
	if database.conn, err = pgx.Connect(w.suite.Context(), database.url); err != nil {
		t.Fatal(err)
	}
	w.suite.Cleanup(func() { database.close(w.suite) })
	if database.state, err = stateOf(t.Context(), database.conn); err != nil {
		t.Fatal(err)
	}
	return database
}

func (w *warmDatabases) takeBack(t *testing.T, database *warmDatabase) {
	ctx := context.Background()
	err := emptyDatabase(ctx, database.conn)
	state := ""
	if err == nil {
		state, err = stateOf(ctx, database.conn)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.lent, t)
	if err == nil && !t.Failed() && state == database.state {
		w.idle = append(w.idle, database)
	} else {
		t.Logf("the next test gets another database: %v", err)
		database.close(t)
	}
}

// close ends the connections. It does nothing the second time.
func (d *warmDatabase) close(t *testing.T) {
	if err := errors.Join(d.store.Close(), d.conn.Close(context.Background())); err != nil {
		t.Error(err)
	}
}

// stateOf returns the catalog's state of tables, functions, triggers, types, settings and rights, and of other connections' transactions.
func stateOf(ctx context.Context, conn *pgx.Conn) (state string, err error) {
	err = conn.QueryRow(ctx, `
SELECT concat_ws(' ',
    (SELECT md5(string_agg(c.oid::text || c.relname || c.relkind::text || c.relnatts || c.relchecks || c.relhastriggers || coalesce(c.relacl::text, ''), ',' ORDER BY c.oid))
     FROM pg_class AS c WHERE c.oid >= 16384),
    (SELECT md5(string_agg(p.oid::text || p.proname || p.prosrc, ',' ORDER BY p.oid)) FROM pg_proc AS p WHERE p.oid >= 16384),
    (SELECT md5(string_agg(t.oid::text || t.tgname || t.tgenabled::text, ',' ORDER BY t.oid)) FROM pg_trigger AS t),
    (SELECT md5(string_agg(c.oid::text || c.conname, ',' ORDER BY c.oid)) FROM pg_constraint AS c WHERE c.oid >= 16384),
    (SELECT COUNT(*) FROM pg_namespace), (SELECT COUNT(*) FROM pg_event_trigger), (SELECT COUNT(*) FROM pg_publication),
    (SELECT COUNT(*) FROM pg_db_role_setting AS s JOIN pg_database AS d ON d.oid = s.setdatabase WHERE d.datname = current_database()),
    (SELECT COUNT(*) FROM pg_stat_activity AS a WHERE a.datname = current_database() AND a.state <> 'idle' AND a.pid <> pg_backend_pid()),
    (SELECT md5(string_agg(m::text, ',' ORDER BY m.id)) FROM sqluice_migrations AS m))`).Scan(&state)
	return state, err
}

// emptyDatabase deletes all rows of the queue's tables, without its triggers, and restarts their ids. It recreates a large table, since its
// dead rows would cost the next tests more.
func emptyDatabase(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `
SELECT format(CASE WHEN pg_relation_size(c.oid) < 1000000 THEN 'DELETE FROM %I' ELSE 'TRUNCATE %I' END, c.relname) FROM pg_class AS c
WHERE c.relkind = 'r' AND c.relname LIKE 'sqluice%' AND c.relname NOT IN ('sqluice_migrations', 'sqluice_schema_versions') AND c.relnamespace = 'public'::regnamespace
UNION ALL SELECT format('ALTER SEQUENCE %I RESTART', c.relname) FROM pg_class AS c
WHERE c.relkind = 'S' AND c.relname LIKE 'sqluice%' AND c.relname NOT LIKE 'sqluice_migrations%' AND c.relnamespace = 'public'::regnamespace`)
	if err != nil {
		return err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(`SET LOCAL session_replication_role = replica`)
	for _, statement := range statements {
		batch.Queue(statement)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return tx.SendBatch(ctx, batch).Close() })
}
