package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

var reachTests = []engineTest{
	{"AnotherSchemaInFront", testAnotherSchemaInFront},
	{"SchemaOfTheRoleAppears", testSchemaOfTheRoleAppears},
	{"TwoQueuesInReach", testTwoQueuesInReach},
	{"ForeignJobsInFront", testForeignJobsInFront},
	{"GooseBesideAQueue", testGooseBesideAQueue},
	{"NotificationsBySchema", testNotificationsBySchema},
}

// schemas makes schemas in a new database.
func schemas(t *testing.T, site *site, names ...string) (url string) {
	t.Helper()
	url = site.server.Database(t)
	for _, name := range names {
		exec(t, dial(t, url), "make_schema", name)
	}
	return url
}

// The queue stays where it is when its schema is no longer the first one of the search_path: for migrations, checks, clients, workers,
// and transactions of the application, whatever their search_path.
func testAnotherSchemaInFront(t *testing.T, site *site) {
	url := schemas(t, site, "app", "queue")
	_, first := migrated(t, with(url, "search_path=queue"))
	id := enqueue(t, first, "k")
	store, client := open(t, with(url, "search_path=app,queue"))
	names, err := client.Migrate(t.Context())
	must(t, err)
	want(t, "migrations run", len(names), 0)
	want(t, "the queue's schema", store.conns.names.at().schema, "queue")
	must(t, client.CheckSchema(t.Context()))
	for _, begin := range beginners(t, url) { // the search_path of these leads to no queue
		tx := begin()
		_, err := client.With(tx).Enqueue(t.Context(), "k", json.RawMessage(`{}`))
		must(t, err)
		must(t, tx.commit())
	}
	drain(t, client, jobs.Config{}, handlers{"k": nothing})
	wantDone(t, first, id, 1)
	want(t, "done jobs", rows(t, first, "k"), 3)

	_, err = store.Migrations().MigrateDown(t.Context())
	must(t, err)
	again, err := client.Migrate(t.Context())
	must(t, err)
	want(t, "migrations run again", len(again), 1)
	must(t, first.CheckSchema(t.Context()))
}

// A schema with the role's name comes before public, where the queue is.
func testSchemaOfTheRoleAppears(t *testing.T, site *site) {
	url := site.server.Database(t)
	_, first := migrated(t, url)
	enqueue(t, first, "k")
	exec(t, dial(t, url), "make_schema", "sqluice")
	store, client := open(t, url)
	names, err := client.Migrate(t.Context())
	must(t, err)
	want(t, "migrations run", len(names), 0)
	want(t, "the queue's schema", store.conns.names.at().schema, "public")
	drain(t, client, jobs.Config{}, handlers{"k": nothing})
	want(t, "jobs", rows(t, client, "k"), 1)
}

// refusedBoth checks that every use of a search_path is refused with the names of two schemas.
func refusedBoth(t *testing.T, url, one, other string) {
	t.Helper()
	_, client := open(t, url)
	_, migrateErr := client.Migrate(t.Context())
	_, enqueueErr := client.Enqueue(t.Context(), "k", json.RawMessage(`{}`))
	runErr := newRunner(t, client, jobs.Config{}, handlers{"k": nothing}).Run(t.Context())
	for what, err := range map[string]error{"migrate": migrateErr, "enqueue": enqueueErr, "run": runErr, "check": client.CheckSchema(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), one+", "+other) || !strings.Contains(err.Error(), "schema=") {
			t.Errorf("%s gives %v", what, err)
		}
	}
}

// Two reachable queues are refused with the names of both, and each can be used by its name.
func testTwoQueuesInReach(t *testing.T, site *site) {
	url := schemas(t, site, "app", "queue")
	migrated(t, with(url, "schema=app"))
	migrated(t, with(url, "schema=queue"))
	refusedBoth(t, with(url, "search_path=app,queue"), "app", "queue")
	for _, name := range []string{"app", "queue"} {
		_, client := open(t, with(url, "search_path=app,queue"), WithSchema(name))
		wantDrained(t, client, 1)
	}
}

// So is an application's own table in front of the queue's.
func testForeignJobsInFront(t *testing.T, site *site) {
	url := schemas(t, site, "app", "queue")
	migrated(t, with(url, "search_path=queue"))
	exec(t, dial(t, with(url, "search_path=app")), "foreign_jobs")
	refusedBoth(t, with(url, "search_path=app,queue"), "app", "queue")
}

// Goose alone makes no second queue beside one on the search_path.
func testGooseBesideAQueue(t *testing.T, site *site) {
	url := schemas(t, site, "app", "queue")
	_, client := migrated(t, with(url, "search_path=queue"))
	pool, err := sql.Open("pgx", with(url, "search_path=app,queue"))
	must(t, err)
	defer func() { must(t, pool.Close()) }()
	if _, err := testdb.Goose(t, goose.DialectPostgres, pool).Up(t.Context()); err == nil || !strings.Contains(err.Error(), "schema queue already") {
		t.Errorf("goose gives %v", err)
	}
	must(t, client.CheckSchema(t.Context()))
}

// Programs that reach a queue by its name and by the search_path wake each other.
func testNotificationsBySchema(t *testing.T, site *site) {
	for name, urls := range map[string][2]string{"queue": {"schema=queue", "search_path=queue"}, "public": {"schema=public", "search_path=public"}} {
		url := schemas(t, site, "queue")
		migrated(t, with(url, urls[0]))
		for i := range urls {
			log := WithLogger(slog.New(slog.DiscardHandler))
			listener, _ := open(t, with(url, urls[i]), WithPoll(time.Minute), log)
			wake, stop := listener.Listen(core.WorkReady, nil)
			receive(t, "the wake when listening has begun", wake)
			_, other := open(t, with(url, urls[1-i]), log)
			enqueue(t, other, "k")
			ctx, cancel := context.WithTimeout(t.Context(), hang)
			select {
			case <-wake:
			case <-ctx.Done():
				t.Errorf("%s: no notification by %s to %s", name, urls[1-i], urls[i])
			}
			cancel()
			stop()
		}
	}
}
