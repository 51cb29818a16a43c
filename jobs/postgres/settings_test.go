package postgres

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var settingsTests = []engineTest{
	{"RecountUnderATimeout", testRecountUnderATimeout},
	{"EnqueueUnderATimeout", testEnqueueUnderATimeout},
	{"ReadUnderATimeout", testReadUnderATimeout},
	{"IdleSessionTimeout", testIdleSessionTimeout},
	{"ReadsThatCollide", testReadsThatCollide},
	{"CloseUnderTraffic", testCloseUnderTraffic},
}

// setForAll sets a parameter for all new connections to a database.
func setForAll(t *testing.T, url, setting string) {
	t.Helper()
	_, err := dial(t, url).Exec(t.Context(), strings.Replace(sqlFile(t, "set_for_all", databaseOf(t, url)), "@setting", setting, 1))
	must(t, err)
}

// timeouts holds a role's settings that end slow statements and transactions.
var timeouts = []string{"statement_timeout", "transaction_timeout"}

// setTimeout sets a timeout for all new connections to a database, and skips the test where the server does not know it.
func setTimeout(t *testing.T, url, name, value string) {
	t.Helper()
	if known := scan[bool](t, dial(t, url), "knows_setting", name); !known {
		t.Skipf("NOT TESTED: the server does not know %s", name)
	}
	setForAll(t, url, name+" = '"+value+"'")
}

// The library's maintenance is not limited by the role's timeouts.
func testRecountUnderATimeout(t *testing.T, site *site) {
	for _, name := range timeouts {
		t.Run(name, func(t *testing.T) {
			store, client, url := site.queue(t)
			endUncounted(t, store, client)
			exec(t, dial(t, url), "slow_changes")
			setTimeout(t, url, name, "1500ms")
			_, impatient := open(t, url)
			wrong, err := inspect.New(impatient).Recount(t.Context())
			must(t, err)
			want(t, "wrong counts", wrong, 1)
		})
	}
}

// A bulk insert may take longer than the role's timeouts.
func testEnqueueUnderATimeout(t *testing.T, site *site) {
	for _, name := range timeouts {
		t.Run(name, func(t *testing.T) {
			_, _, url := site.queue(t)
			exec(t, dial(t, url), "slow_inserts")
			setTimeout(t, url, name, "1500ms")
			_, client := open(t, url)
			enqueue(t, client, "k")
		})
	}
}

// They may end reads for people, and then the error says so.
func testReadUnderATimeout(t *testing.T, site *site) {
	for _, name := range timeouts {
		t.Run(name, func(t *testing.T) { readUnderATimeout(t, site, name) })
	}
}

func readUnderATimeout(t *testing.T, site *site, name string) {
	_, _, url := site.queue(t)
	setTimeout(t, url, name, "150ms")
	_, client := open(t, url)
	eventually(t, "the schema is read", func() bool { return client.CheckSchema(t.Context()) == nil })
	tx, err := dial(t, with(url, name+"=0")).Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sqlFile(t, "lock_jobs"))
	must(t, err)
	if _, err := inspect.New(client).List(t.Context(), inspect.Filter{}); err == nil || !strings.Contains(err.Error(), "set a longer one for this role") {
		t.Errorf("the list gives %v", err)
	}
	must(t, tx.Rollback(t.Context()))
}

// An idle worker's connections outlive the idle_session_timeout of its role: those that listen and hold its lock, and the pool's.
func testIdleSessionTimeout(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	setForAll(t, url, "idle_session_timeout = '400ms'")
	log := &journal{}
	store, client := open(t, url, WithLogger(slog.New(log)), WithPoll(time.Minute))
	stop := work(t, client, jobs.Config{}, handlers{"k": nothing})
	wantDone(t, client, enqueue(t, client, "k"), 1)
	admin := dial(t, with(url, "idle_session_timeout=0"))
	eventually(t, "the connections are older", func() bool { return scan[int](t, admin, "count_old_sessions") >= 3 })
	wantDone(t, client, enqueue(t, client, "k"), 1)
	must(t, stop())
	must(t, callback.FlushLogger(t.Context(), store.conns.options.logger))
	want(t, "losses in the log", log.count("lost")+log.count("no notifications"), 0)

	// A migration may take longer than the idle timeout, which applies to the session that holds its lock.
	_, err := store.schema.migrate(t.Context(), false, func(*goose.Provider) error {
		other := dial(t, url)
		eventually(t, "an idle session is ended", func() bool {
			return scan[int](t, admin, "count_session", other.PgConn().PID()) == 0
		})
		taken, err := tryMigrationLock(t.Context(), admin)
		want(t, "the lock of migrations is free", taken, false)
		return err
	})
	must(t, err)
}

// Where the role's transactions are serializable, a read may fail because of another transaction. It is run again.
func testReadsThatCollide(t *testing.T, site *site) {
	store, _, _ := site.queue(t)
	for name, read := range map[string]func(context.Context, func(context.Context, db.Querier) error) error{"read": store.Read, "inspect": store.Inspect} {
		runs := 0
		err := read(t.Context(), func(context.Context, db.Querier) error {
			if runs++; runs < 3 {
				return &pgconn.PgError{Code: codeSerialization}
			}
			return nil
		})
		if err != nil || runs != 3 {
			t.Errorf("%s: %d runs, %v", name, runs, err)
		}
	}
}

// Running calls on a store that is closed, and later ones, return that it was closed.
func testCloseUnderTraffic(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	for range 8 {
		store, err := openBackend(t.Context(), with(url, "pool_max_conns=3"), WithLogger(slog.New(slog.DiscardHandler)))
		must(t, err)
		client := jobs.New(store)
		var callers sync.WaitGroup
		begun := make(chan struct{}, 1000)
		for i := range 16 {
			callers.Go(func() {
				for {
					var err error
					if i%2 == 0 {
						_, err = client.Enqueue(context.Background(), "k", []byte("{}"))
					} else {
						_, err = client.Get(context.Background(), 1)
					}
					if err != nil && !errors.Is(err, jobs.ErrNotFound) {
						if !errors.Is(err, jobs.ErrClosed) {
							t.Errorf("a call gives %v", err)
						}
						return
					}
					select {
					case begun <- struct{}{}:
					default:
					}
				}
			})
		}
		receive(t, "a call", begun)
		must(t, store.Close())
		callers.Wait()
	}
}

// A connection that is lost again and again is logged once, and then with a count.
func TestLossesAreCounted(t *testing.T) {
	var text bytes.Buffer
	l := lossLog{log: slog.New(slog.NewTextHandler(&text, nil)), held: held{lost: "it is lost", back: "it is back"}}
	l.back()
	for range 10 {
		l.lost(errors.New("no"))
		l.lost(errors.New("no"))
		l.back()
	}
	want(t, "losses that are logged", strings.Count(text.String(), "it is lost"), 1)
	want(t, "returns that are logged", strings.Count(text.String(), "it is back"), 1)
	l.told = l.told.Add(-lossesEvery)
	l.lost(errors.New("no"))
	l.back()
	want(t, "the count", strings.Count(text.String(), "losses=10"), 1)
	want(t, "returns that are logged", strings.Count(text.String(), "it is back"), 2)
}

// A worker for which the server has no free connection logs once how many it needs. It has lost none.
func TestTooFewConnections(t *testing.T) {
	t.Parallel()
	owner, worker := roles(t)
	exec(t, dial(t, as(t, owner, "sqluice")), "limit_connections")
	log := &journal{}
	_, client := open(t, with(worker, "pool_max_conns=2"), WithSchema("queue"), WithLogger(slog.New(log)))
	stop := work(t, client, jobs.Config{Logger: slog.New(log)}, handlers{"k": nothing})
	// A busy server may count a closed connection for a while: a try may then fail before it comes to the lock.
	const locks = "take the worker's lock"
	eventually(t, "the runner has tried several times", func() bool { return log.count(locks) >= 4 })
	must(t, stop())
	if needs := log.count("needs 4 connections, 2 of its pool and two more"); needs < log.count(locks) { // a try that failed before may say so too
		t.Errorf("of %d lines about the lock %d say how many connections are needed", log.count(locks), needs)
	}
	want(t, "lost connections", log.count("was lost"), 0)
}
