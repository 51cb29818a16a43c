package postgres

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var silenceTests = []engineTest{
	{"StrandedConnections", testStrandedConnections},
	{"SilentServer", testSilentServer},
	{"SlowStatement", testSlowStatement},
	{"RestedConnections", testRestedConnections},
	{"StrandedAtCommit", testStrandedAtCommit},
}

// prompt limits the first statement of a write to within on a connection that was idle for rested.
func prompt(rested, within time.Duration) Option {
	return func(o *options) { o.rested, o.prompt = rested, within }
}

// A network that silently drops connections stops no worker: neither its claims nor its heartbeat.
func testStrandedConnections(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	p := newProxy(t, url)
	_, own := open(t, with(p.url(url), "pool_max_conns=3"), silentAfter(time.Second))
	started, release := make(chan struct{}), make(chan struct{})
	stop := work(t, own, jobs.Config{Lease: 3 * time.Second}, handlers{"k": nothing, "long": func(context.Context, jobs.Job) error {
		close(started)
		<-release
		return nil
	}})
	long := enqueue(t, client, "long")
	receive(t, "the start of the long job", started)
	worker := func() (w inspect.WorkerInfo) {
		eventually(t, "one worker lives", func() bool { // on a slow machine its heartbeat may come late
			workers, err := inspect.New(client).Workers(t.Context())
			must(t, err)
			if len(workers) == 1 {
				w = workers[0]
			}
			return len(workers) == 1
		})
		return w
	}
	before := worker()
	for range 2 {
		p.strand()
		wantDone(t, client, enqueue(t, client, "k"), 1)
		stranded := worker()
		eventually(t, "the worker gives a sign of life", func() bool { return worker().Heartbeat.After(stranded.Heartbeat) })
	}
	want(t, "the worker", worker().ID, before.ID)
	close(release)
	wantDone(t, client, long, 1)
	must(t, stop())
}

// Every wait for a silent server ends with an error, and may be tried again.
func testSilentServer(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	id := enqueue(t, client, "k")
	for name, call := range map[string]func(context.Context, *backend) error{
		"a read":               func(ctx context.Context, s *backend) error { _, err := jobs.New(s).Get(ctx, id); return err },
		"a look at the schema": func(ctx context.Context, s *backend) error { return jobs.New(s).CheckSchema(ctx) },
		"a look at locks": func(ctx context.Context, s *backend) error {
			_, err := s.WorkerLocks().FreeWorkerLocks(ctx, []string{"1"})
			return err
		},
		"a write": func(ctx context.Context, s *backend) error {
			_, err := jobs.New(s).Enqueue(ctx, "k", []byte("{}"))
			return err
		},
		"a lock taken": func(ctx context.Context, s *backend) error {
			_, _, err := s.WorkerLocks().TakeWorkerLock(ctx, "1")
			return err
		},
		"a lock held": func(ctx context.Context, s *backend) error {
			_, _, err := s.WorkerLocks().HoldWorkerLock(ctx)
			return err
		},
		"the version of the server": func(ctx context.Context, s *backend) error { _, err := s.Upkeep().EngineVersion(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t, url)
			store, client := open(t, p.url(url), silentAfter(time.Second))
			eventually(t, "the store has found the schema right", func() bool { return client.CheckSchema(t.Context()) == nil })
			p.mute()
			defer p.unmute()
			done := make(chan error, 1)
			go func() { done <- call(context.Background(), store) }()
			if err := receive(t, "an error", done); !errors.Is(err, jobs.ErrUnavailable) || !store.CanRetry(err) || errors.Is(err, jobs.ErrUnknownOutcome) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A statement that takes long because others hold its rows is given up, but not the whole write.
func testSlowStatement(t *testing.T, site *site) {
	store, client, url := site.queue(t, silentAfter(time.Second))
	id := enqueue(t, client, "k")
	holder := dial(t, url)
	tx, err := holder.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sqlFile(t, "lock_job"), id)
	must(t, err)
	runs := make(chan int, 100)
	done := make(chan error, 1)
	go func() {
		n := 0
		done <- store.Write(context.Background(), func(ctx context.Context, q db.Querier) error {
			n++
			runs <- n
			_, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: 0, ID: id})
			return err
		})
	}()
	for receive(t, "another run", runs) < 3 {
	}
	must(t, tx.Rollback(t.Context()))
	must(t, receive(t, "the end of the write", done))
	want(t, "status", get(t, client, id).Status, jobs.StatusCancelled)
}

// A write on a connection that the network dropped while it was idle does not wait for as long as a statement may take; and the
// pool's other connections are replaced with it.
func testRestedConnections(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	p := newProxy(t, url)
	store, client := open(t, with(p.url(url), "pool_max_conns=12"), silentAfter(time.Hour), prompt(-1, 3*time.Second))
	must(t, client.CheckSchema(t.Context()))
	write := func() error { _, err := client.Enqueue(context.Background(), "k", []byte("{}")); return err }
	lone := func() error {
		_, err := claimOne(context.Background(), store, 0, func(string) {})
		return err
	}
	for what, c := range map[string]struct {
		call func() error
		want error
	}{"a write": {write, nil}, "a lone statement": {lone, jobs.ErrUnknownOutcome}} {
		useUp(t, store)()
		for range 2 { // prepared on the connection that is used last, and next
			must(t, lone())
		}
		p.strand()
		done := make(chan error, 1)
		go func() { done <- c.call() }()
		if err := receive(t, "the end of "+what, done); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
		eventually(t, "the others are gone", func() bool { return store.conns.pool.Stat().IdleConns() <= 1 })
		must(t, lone())
	}
}

// A write without an answer to its commit learns the outcome although the network has dropped the other connections as well.
func testStrandedAtCommit(t *testing.T, site *site) {
	for _, own := range []bool{true, false} {
		_, reader, url := site.queue(t)
		p := newProxy(t, url)
		address := with(p.url(url), "pool_max_conns=6")
		var store *backend
		if own {
			store, _ = open(t, address, silentAfter(2*time.Second), prompt(time.Hour, time.Hour))
		} else {
			config, err := pgxpool.ParseConfig(address)
			must(t, err)
			config.PingTimeout = 500 * time.Millisecond
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			must(t, err)
			t.Cleanup(pool.Close)
			store, err = newBackend(pool, silentAfter(2*time.Second), prompt(time.Hour, 500*time.Millisecond))
			must(t, err)
			t.Cleanup(func() { must(t, store.Close()) })
		}
		must(t, jobs.New(store).CheckSchema(t.Context()))
		useUp(t, store)()
		p.onCommit(func(number int) fate {
			if number == 1 {
				return hush
			}
			return pass
		}, p.strand)
		runs := 0
		must(t, store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
			runs++
			_, err := q.EnqueueJob(ctx, add("k"))
			return err
		}))
		want(t, "runs", runs, 1)
		want(t, "rows", rows(t, reader, "k"), 1)
	}
}

// A server that does not answer in time counts as unreachable, and a worker waits for it. A caller's own end does not.
func TestInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func(ctx context.Context) error {
			<-ctx.Done()
			return &pgconnTimeout{ctx.Err()}
		}
		if err := inTime(t.Context(), never); !lost(err) || !errors.Is(translate(err), jobs.ErrUnavailable) {
			t.Errorf("a server that does not answer gives %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := inTime(ctx, never); lost(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller's end gives %v", err)
		}
		broken := errors.New("broken")
		if err := inTime(t.Context(), func(context.Context) error { return broken }); err != broken {
			t.Errorf("another error becomes %v", err)
		}
	})
}

// pgconnTimeout is pgx's error for a context's end.
type pgconnTimeout struct{ cause error }

func (e *pgconnTimeout) Error() string { return "timeout: " + e.cause.Error() }
func (e *pgconnTimeout) Unwrap() error { return e.cause }
