package postgres

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var poolerTests = []engineTest{
	{"PoolerIsNoticed", testPoolerIsNoticed},
	{"LifeBehindPooler", testLifeBehindPooler},
	{"PoolerOfSessions", testPoolerOfSessions},
	{"PoolerRestarts", testPoolerRestarts},
	{"MigrateThroughPooler", testMigrateThroughPooler},
	{"MigrateSchemaThroughPooler", testMigrateSchemaThroughPooler},
}

// A pooler is detected; it is logged once, unless it is known. A URL of the server itself keeps the features that need a session.
func testPoolerIsNoticed(t *testing.T, site *site) {
	server := site.server
	pooler := testdb.StartPgBouncer(t, server.URL(), nil)
	sessions := testdb.StartPgBouncer(t, server.URL(), map[string]string{"pool_mode": "session"})
	url := server.Copy(t, site.template)
	for name, test := range map[string]struct {
		url      string
		opts     []Option
		warnings int
		locks    bool
		prepares bool
	}{
		"the server itself":      {url: url, locks: true, prepares: true},
		"unknown":                {url: pooler.URL(url), warnings: 1},
		"in session mode":        {url: sessions.URL(url), locks: true, prepares: true},
		"known by the URL":       {url: with(pooler.URL(url), "pgbouncer=true")},
		"known by the option":    {url: pooler.URL(url), opts: []Option{BehindPooler()}},
		"with a session":         {url: pooler.URL(url), opts: []Option{WithSession(url)}, locks: true},
		"known, with a session":  {url: with(pooler.URL(url), "pgbouncer=true"), opts: []Option{WithSession(url)}, locks: true},
		"with a session through": {url: url, opts: []Option{WithSession(url)}, locks: true, prepares: true},
		// A pooler may show its clients the server's process number, so that only the user knows of the pooler.
		"said, with a session":   {url: with(url, "pgbouncer=true"), opts: []Option{WithSession(url)}, locks: true},
		"said without there one": {url: with(url, "pgbouncer=true")},
	} {
		t.Run(name, func(t *testing.T) {
			log := &journal{}
			store, client := open(t, test.url, append(test.opts, WithLogger(slog.New(log)), WithPoll(time.Minute))...)
			wantDrained(t, client, 3)
			must(t, client.CheckSchema(t.Context()))
			want(t, "statements are prepared", !store.conns.unprepared.Load(), test.prepares)
			must(t, callback.FlushLogger(t.Context(), store.conns.options.logger))
			want(t, "warnings of a pooler", log.count("there is a pooler"), test.warnings)
			want(t, "all that was logged", len(log.all()), test.warnings)
			key, release, err := store.WorkerLocks().HoldWorkerLock(t.Context())
			must(t, err)
			want(t, "a lock is held", key != "", test.locks)
			must(t, release(true))

			if !test.locks { // without a session it does not listen either
				return
			}
			listener, listening := open(t, test.url, append(test.opts, WithPoll(time.Minute))...)
			must(t, listening.CheckSchema(t.Context()))
			wake, stop := listener.Listen(core.WorkReady, nil)
			defer stop()
			receive(t, "the wake when listening has begun", wake)
			_, direct := open(t, url)
			enqueue(t, direct, "other")
			receive(t, "the wake by a notification", wake)
		})
	}
}

// wantDrained adds jobs and runs them to their ends.
func wantDrained(t *testing.T, client *jobs.Client, n int) {
	t.Helper()
	var ids []int64
	for range n {
		ids = append(ids, enqueue(t, client, "k"))
	}
	drain(t, client, jobs.Config{}, handlers{"k": nothing})
	for _, id := range ids {
		wantDone(t, client, id, 1)
	}
}

// The whole life of jobs works behind a pooler, in a schema of no connection's search_path, and nothing is prepared.
func testLifeBehindPooler(t *testing.T, site *site) {
	testdb.TakesLong(t)
	server := site.server
	pooler := testdb.StartPgBouncer(t, server.URL(), map[string]string{"default_pool_size": "4"})
	url := server.Database(t)
	const schema = `odd "schema"`
	migrated(t, url, WithSchema(schema))
	store, client := open(t, with(pooler.URL(url), "pgbouncer=true", "pool_max_conns=10", "default_query_exec_mode=exec"), WithSchema(schema))
	lifeOfJobs(t, store, client)
	must(t, store.Upkeep().Settle(t.Context()))

	// All of the pooler's connections to the server at once.
	var met, looked sync.WaitGroup
	met.Add(4)
	for range 4 {
		looked.Go(func() {
			conn := dial(t, with(pooler.URL(url), "default_query_exec_mode=exec"))
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Error(err)
			}
			met.Done()
			met.Wait() // by then each has its own
			var prepared int
			if err := tx.QueryRow(t.Context(), sqlFile(t, "count_prepared")).Scan(&prepared); err != nil || prepared != 0 {
				t.Errorf("%d statements are prepared: %v", prepared, err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	looked.Wait()
}

// In session mode a pooler is like the server: for migrations into a schema, the life of jobs, and a crash, which the lock shows.
func testPoolerOfSessions(t *testing.T, site *site) {
	pooler := testdb.StartPgBouncer(t, site.server.URL(), map[string]string{"pool_mode": "session"})
	url := site.server.Database(t)
	store, client := migrated(t, pooler.URL(url), WithSchema("own"))
	lifeOfJobs(t, store, client)

	id := enqueue(t, client, "crashed")
	p := newProxy(t, pooler.URL(url))
	doomed, _ := open(t, p.url(pooler.URL(url)), WithSchema("own"))
	g := ghost(t, doomed, "doomed", []string{"crashed"})
	want(t, "the worker has a lock", g.key != "", true)
	stop := work(t, client, jobs.Config{}, handlers{"crashed": nothing, "first": nothing})
	wantDone(t, client, enqueue(t, client, "first"), 1) // the start is over
	want(t, "status while the process lives", get(t, client, id).Status, jobs.StatusRunning)
	p.leave()
	wantDone(t, client, id, 2)
	list, err := inspect.New(client).Errors(t.Context(), id)
	must(t, err)
	if len(list) != 1 || list[0].Cause != jobs.CauseCrash {
		t.Errorf("the errors are %v", list)
	}
	must(t, stop())
}

// Two runners drain a queue while the pooler is restarted between them and the server: each job ends once.
func testPoolerRestarts(t *testing.T, site *site) {
	server := site.server
	pooler := testdb.StartPgBouncer(t, server.URL(), map[string]string{"default_pool_size": "5"})
	url := server.Copy(t, site.template)
	_, direct := open(t, url)
	for name, opts := range map[string][]Option{"without a session": {BehindPooler()}, "with a session": {WithSession(url)}} {
		t.Run(name, func(t *testing.T) {
			const n = 1000
			ids := enqueueMany(t, direct, n)
			type start struct{ job, attempt int64 }
			var mu sync.Mutex
			starts := map[start]int{}
			restart := make(chan struct{}, n)
			handler := func(_ context.Context, job jobs.Job) error {
				mu.Lock()
				defer mu.Unlock()
				starts[start{job.ID, int64(job.Attempt)}]++
				if len(starts)%200 == 100 {
					restart <- struct{}{}
				}
				return nil
			}
			var stops []func() error
			for range 2 {
				_, client := open(t, pooler.URL(url), opts...)
				stops = append(stops, work(t, client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 5}}, handlers{"k": handler}))
			}
			for range 4 {
				receive(t, "a part of the jobs", restart)
				pooler.Restart(t)
			}
			for _, id := range ids {
				if job := ended(t, direct, id); job.Status != jobs.StatusDone {
					t.Errorf("job %d is %s", id, job.Status)
				}
			}
			for _, stop := range stops {
				must(t, stop())
			}
			mu.Lock()
			defer mu.Unlock()
			for s, times := range starts {
				if times != 1 {
					t.Errorf("attempt %d of job %d was started %d times", s.attempt, s.job, times)
				}
			}
		})
	}
}

// Migrations through a pooler leave no lock there.
func testMigrateThroughPooler(t *testing.T, site *site) {
	server := site.server
	pooler := testdb.StartPgBouncer(t, server.URL(), nil)
	url := server.Database(t)
	var all sync.WaitGroup
	for range 5 {
		_, client := open(t, pooler.URL(url), BehindPooler())
		all.Go(func() {
			if _, err := client.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	_, client := open(t, url)
	must(t, client.CheckSchema(t.Context()))
	wantDrained(t, client, 1)
}

// The pooler cannot put migrations into a schema: the error comes before any change. With the server's own URL it works.
func testMigrateSchemaThroughPooler(t *testing.T, site *site) {
	server := site.server
	// Many are configured so, and then lose the search_path silently.
	pooler := testdb.StartPgBouncer(t, server.URL(), map[string]string{"ignore_startup_parameters": "extra_float_digits,search_path"})
	url := server.Database(t)
	_, client := open(t, pooler.URL(url), WithSchema("own"))
	if _, err := client.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "URL of the server itself") {
		t.Errorf("the migration gives %v", err)
	}
	want(t, "tables", scan[int](t, dial(t, url), "count_tables"), 0)
	migrated(t, pooler.URL(url), WithSchema("own"), WithSession(with(url, "schema=own")))
	wantDrained(t, client, 1)
	want(t, "tables in public", scan[int](t, dial(t, url), "count_tables"), 0)
}
