package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var serverTests = []engineTest{
	{"ServerDownAtStart", testServerDownAtStart},
	{"ForeignSchemas", testForeignSchemas},
}

// A runner that starts before its server waits for it with growing pauses; an enqueue fails at once.
func testServerDownAtStart(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	p := newProxy(t, url)
	p.leave()
	log := &journal{}
	_, own := open(t, p.url(url))
	if _, err := own.Enqueue(t.Context(), "k", []byte("{}")); !errors.Is(err, jobs.ErrUnavailable) {
		t.Errorf("an enqueue gives %v", err)
	}
	before := p.dials()
	stop := work(t, own, jobs.Config{Logger: slog.New(log)}, handlers{"k": nothing})
	const tries = 6
	eventually(t, "the runner has tried several times", func() bool { return log.count("the database is not ready") >= tries })
	// One try asks for one connection, and pgx may dial a few times for it.
	if dials := p.dials() - before; dials > 4*(tries+1) {
		t.Errorf("%d connections were tried for %d looks", dials, tries)
	}
	for i, pause := range []string{"50ms", "100ms", "200ms", "400ms", "800ms", "1.6s"} {
		if line := log.all()[i]; !strings.Contains(line, "pause="+pause) {
			t.Errorf("the %d. look says %q", i+1, line)
		}
	}
	p.comeBack()
	wantDone(t, client, enqueue(t, client, "k"), 1)
	must(t, stop())

	// A runner that is stopped while it waits returns.
	p.leave()
	_, again := open(t, p.url(url))
	other := &journal{}
	stop = work(t, again, jobs.Config{Logger: slog.New(other)}, handlers{"k": nothing})
	eventually(t, "the runner waits", func() bool { return other.count("the database is not ready") > 0 })
	must(t, stop())
}

// A server goes away under a busy runner and comes back: the runner then records the attempts that ended meanwhile, each job
// runs once, and the store pauses between its attempts to connect.
func TestServerGoesAway(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"fast", "immediate"} {
		t.Run(mode, func(t *testing.T) {
			cluster := testdb.StartCluster(t, map[string]string{"synchronous_commit": "on"})
			_, client, url := newSite(t, cluster.Postgres).queue(t)
			p := newProxy(t, url)
			log := &journal{}
			_, own := open(t, p.url(url), WithLogger(slog.New(log)))
			const n = 8
			started, release := make(chan int64, n), make(chan struct{})
			var starts atomic.Int64
			stop := work(t, own, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: n / 2}, Logger: slog.New(log)}, handlers{
				"k": func(_ context.Context, job jobs.Job) error {
					starts.Add(1)
					started <- job.ID
					<-release
					return nil
				},
			})
			var ids []int64
			for range n {
				ids = append(ids, enqueue(t, client, "k"))
			}
			for range n / 2 {
				receive(t, "the start of a job", started)
			}
			cluster.Stop(t, mode)
			close(release) // they end while the server is away
			// Each failure is one write of the pump or one look of the housekeeper, each with few connections.
			failures := func() int { return log.count("cannot write") + log.count("housekeeping failed") }
			eventually(t, "the runner notices", func() bool { return failures() > 2 })
			dials, failed := p.dials(), failures()
			eventually(t, "the runner has tried a few times more", func() bool { return failures() >= failed+8 })
			// The store's two separate connections, each of which reconnects at least once a second, are counted too.
			if more, tried := p.dials()-dials, failures()-failed; more > 12*(tried+1) {
				t.Errorf("%d connections were tried for %d failures", more, tried)
			}
			cluster.Start(t)
			for _, id := range ids {
				wantDone(t, client, id, 1)
				list, err := inspect.New(client).Errors(t.Context(), id)
				must(t, err)
				want(t, "errors of the job", len(list), 0)
			}
			want(t, "starts", starts.Load(), n)
			for _, back := range []string{
				"the database works again after=", "housekeeping works again after=",
				"notifications from PostgreSQL again after=", "a connection again that shows that the worker lives after=",
			} {
				eventually(t, back, func() bool { return log.count(back) == 1 })
			}
			must(t, stop())
		})
	}
}

// A database that takes no writes is reported as such, is waited for, and loses nothing.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, nil)
	site := newSite(t, cluster.Postgres)
	for name, test := range map[string]struct {
		begin, end func(t *testing.T, url string)
	}{
		"by a setting": {
			begin: func(t *testing.T, url string) { setReadOnly(t, url, "on") },
			end:   func(t *testing.T, url string) { setReadOnly(t, url, "off") },
		},
		"as a standby": {
			begin: func(t *testing.T, _ string) {
				cluster.Stop(t, "fast")
				must(t, os.WriteFile(filepath.Join(cluster.DataDir(), "standby.signal"), nil, 0o644))
				cluster.Start(t)
			},
			end: func(t *testing.T, url string) {
				if !scan[bool](t, dial(t, url), "promote") {
					t.Fatal("the standby was not promoted")
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, client, url := site.queue(t)
			log := &journal{}
			started, release := make(chan int64), make(chan struct{})
			stop := work(t, client, jobs.Config{Logger: slog.New(log)}, handlers{"k": func(_ context.Context, job jobs.Job) error {
				started <- job.ID
				<-release
				return nil
			}, "later": nothing})
			ids := []int64{enqueue(t, client, "k"), enqueue(t, client, "k"), enqueue(t, client, "later", jobs.In(time.Second))}
			for range 2 {
				receive(t, "the start of a job", started)
			}
			test.begin(t, url)
			_, writer := open(t, url)
			_, err := writer.Enqueue(t.Context(), "later", []byte("{}"))
			if !errors.Is(err, jobs.ErrReadOnly) || !store.CanRetry(err) || errors.Is(err, jobs.ErrUnavailable) {
				t.Errorf("an enqueue gives %v", err)
			}
			late := &journal{}
			stopLate := work(t, writer, jobs.Config{Logger: slog.New(late), Queues: map[string]int{"other": 1}}, handlers{"k": nothing})
			eventually(t, "a runner that starts waits", func() bool { return late.count("the database is not ready") > 2 })
			if job, err := writer.Get(t.Context(), ids[0]); err != nil || job.Status != jobs.StatusRunning {
				t.Errorf("a read gives %v: %v", job.Status, err)
			}
			close(release)
			eventually(t, "the runner meets it several times", func() bool { return log.count("the database is read-only") >= 4 })
			if n := log.count("the database refuses"); n > 0 {
				t.Errorf("%d ends of attempts were given up", n)
			}
			test.end(t, url)
			for _, id := range ids {
				wantDone(t, client, id, 1)
			}
			_, err = writer.Enqueue(t.Context(), "later", []byte("{}"))
			must(t, err)
			wantDone(t, client, enqueue(t, client, "k", jobs.Queue("other")), 1)
			eventually(t, "the late runner says that it can start", func() bool { return late.count("the database is ready after=") == 1 })
			must(t, errors.Join(stop(), stopLate()))
		})
	}
}

// setReadOnly makes a database read-only as operators do, and ends the sessions that began before.
func setReadOnly(t *testing.T, url, value string) {
	t.Helper()
	conn := dial(t, url)
	exec(t, conn, "read_only_"+value, databaseOf(t, url))
	if value == "on" {
		scan[int](t, conn, "end_others")
	}
}

// A server without a free connection is reported as such, and is waited for.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, map[string]string{"max_connections": "12", "superuser_reserved_connections": "0", "max_wal_senders": "0"})
	_, client, url := newSite(t, cluster.Postgres).queue(t)
	stop := work(t, client, jobs.Config{}, handlers{"k": nothing})
	wantDone(t, client, enqueue(t, client, "k"), 1)
	var hogs []*pgx.Conn
	for {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			break
		}
		hogs = append(hogs, conn)
	}
	if len(hogs) == 0 {
		t.Fatal("there was no connection to take")
	}
	late, other := open(t, url)
	_, err := other.Enqueue(t.Context(), "k", []byte("{}"))
	if !errors.Is(err, jobs.ErrUnavailable) || !late.CanRetry(err) || !strings.Contains(err.Error(), "too many clients") {
		t.Errorf("an enqueue gives %v", err)
	}
	log := &journal{}
	stopOther := work(t, other, jobs.Config{Logger: slog.New(log), Queues: map[string]int{"other": 1}}, handlers{"k": nothing})
	eventually(t, "the other runner waits", func() bool { return log.count("the database is not ready") > 2 })
	// Clients with connections continue with those.
	eventually(t, "a job is enqueued and runs", func() bool {
		receipt, err := client.Enqueue(t.Context(), "k", []byte("{}"))
		if errors.Is(err, jobs.ErrUnavailable) { // all were in use
			return false
		}
		must(t, err)
		eventually(t, "the job is done", func() bool {
			job, err := client.Get(t.Context(), receipt.ID)
			if !errors.Is(err, jobs.ErrUnavailable) {
				must(t, err)
			}
			return job.Status == jobs.StatusDone
		})
		return true
	})
	for _, hog := range hogs {
		must(t, hog.Close(t.Context()))
	}
	var last jobs.Receipt
	eventually(t, "the server has ended the closed connections", func() bool {
		last, err = other.Enqueue(t.Context(), "k", []byte("{}"), jobs.Queue("other"))
		if errors.Is(err, jobs.ErrUnavailable) {
			return false
		}
		must(t, err)
		return true
	})
	wantDone(t, client, last.ID, 1)
	must(t, errors.Join(stop(), stopOther()))
}

// Nothing is written to an application's database, or to one of a later version.
func testForeignSchemas(t *testing.T, site *site) {
	server := site.server
	t.Run("foreign table", func(t *testing.T) {
		url := server.Database(t)
		conn := dial(t, url)
		exec(t, conn, "foreign_workers")
		_, client := open(t, url)
		if _, err := client.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "has these names already, of an application or of another build of sqluice: sqluice_workers") {
			t.Errorf("Migrate gives %v", err)
		}
		var schema *jobs.SchemaError
		if _, err := client.Enqueue(t.Context(), "k", []byte("{}")); !errors.As(err, &schema) || schema.Have != 0 {
			t.Errorf("an enqueue gives %v", err)
		}
		want(t, "tables", scan[int](t, conn, "count_tables"), 1)
		migrated(t, url, WithSchema("beside"))
		want(t, "tables", scan[int](t, conn, "count_tables"), 1)
	})
	t.Run("newer", func(t *testing.T) {
		url := server.Database(t)
		store, client := migrated(t, url)
		id := enqueue(t, client, "k")
		stop := newRunner(t, client, jobs.Config{Queues: map[string]int{"other": 1}}, handlers{"k": nothing})
		ended := make(chan error, 1)
		go func() { ended <- stop.Run(context.Background()) }()
		eventually(t, "the runner is at work", func() bool {
			workers, err := inspect.New(client).Workers(t.Context())
			must(t, err)
			return len(workers) == 1
		})
		conn := dial(t, url)
		run(t, conn, "claim_newer_schema", 999)
		wantNewer := func(verb string, err error) {
			t.Helper()
			var schema *jobs.SchemaError
			if !errors.As(err, &schema) || schema.Have != 999 || !strings.Contains(err.Error(), "newer") {
				t.Errorf("%s gives %v", verb, err)
			}
		}
		wantNewer("the runner at work", receive(t, "the runner's end", ended))
		_, late := open(t, url)
		_, enqueueErr := late.Enqueue(t.Context(), "k", []byte("{}"))
		wantNewer("an enqueue", enqueueErr)
		_, getErr := late.Get(t.Context(), id)
		wantNewer("a read", getErr)
		wantNewer("a runner", newRunner(t, late, jobs.Config{}, handlers{"k": nothing}).Run(t.Context()))
		_, migrateErr := late.Migrate(t.Context())
		wantNewer("Migrate", migrateErr)
		_, downErr := store.Migrations().MigrateDown(t.Context())
		wantNewer("MigrateDown", downErr)
		want(t, "jobs", scan[int](t, conn, "count_jobs"), 1)
	})
}

// An error that waiting cannot correct is returned at once, without the password.
func TestWrongURLs(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, nil)
	address := cluster.Database(t)
	migrated(t, address)
	admin := dial(t, address)
	exec(t, admin, "password_role")
	hba := filepath.Join(cluster.DataDir(), "pg_hba.conf")
	rest, err := os.ReadFile(hba)
	must(t, err)
	must(t, os.WriteFile(hba, append([]byte("local all locked_in scram-sha-256\n"), rest...), 0o600))
	scan[bool](t, admin, "reload")
	eventually(t, "the server asks for passwords", func() bool {
		conn, err := pgx.Connect(t.Context(), as(t, address, "locked_in"))
		if err == nil {
			must(t, conn.Close(t.Context()))
		}
		return err != nil
	})
	const secret = "s3cr3t%25word"
	password := strings.Replace(as(t, address, "locked_in"), "locked_in", "locked_in:"+secret, 1)
	for name, test := range map[string]struct{ url, text string }{
		"password": {password, "password authentication failed"},
		"user":     {as(t, address, "nobody_here"), "nobody_here"},
		"database": {strings.Replace(password, "/sqluice_", "/not_sqluice_", 1), "password"},
		"setting":  {with(address, "no_such_setting=1"), "no_such_setting"},
	} {
		t.Run(name, func(t *testing.T) {
			store, client := open(t, test.url)
			_, enqueueErr := client.Enqueue(t.Context(), "k", []byte("{}"))
			if !store.CanRetry(enqueueErr) { // a running runner must not give up what it has to record
				t.Errorf("nothing that is to be written outlives: %v", enqueueErr)
			}
			_, migrateErr := client.Migrate(t.Context())
			runErr := newRunner(t, client, jobs.Config{}, handlers{"k": nothing}).Run(t.Context())
			for verb, err := range map[string]error{"an enqueue": enqueueErr, "a migration": migrateErr, "a runner": runErr} {
				if err == nil || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%s gives %v", verb, err)
				} else if text := fmt.Sprintf("%v %+v %#v", err, err, err.Error()); strings.Contains(text, "s3cr3t") {
					t.Errorf("%s shows the password: %v", verb, err)
				}
			}
		})
	}
	right := strings.Replace(as(t, address, "locked_in"), "locked_in", "locked_in:right", 1)
	_, client := open(t, right)
	must(t, client.CheckSchema(t.Context()))
}
