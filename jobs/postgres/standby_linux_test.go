package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// pair is a server with a synchronous standby.
type pair struct {
	primary, standby *testdb.Cluster
	site             *site
	link             *proxy // between them
}

func newPair(t *testing.T) *pair {
	t.Helper()
	primary := testdb.StartCluster(t, map[string]string{"synchronous_commit": "on"})
	p := &pair{primary: primary, site: newSite(t, primary.Postgres), link: newProxy(t, primary.URL())}
	must(t, os.Chmod(p.link.dir, 0o755)) // the standby is a process of another user
	sockets, err := filepath.Glob(filepath.Join(p.link.dir, ".s*"))
	must(t, err)
	for _, socket := range sockets {
		must(t, os.Chmod(socket, 0o777))
	}
	p.standby = primary.StartStandby(t, p.link.dir)
	return p
}

// promoted crashes the primary, promotes the standby, and returns a client of the same database there.
func (p *pair) promoted(t *testing.T, url string) *jobs.Client {
	t.Helper()
	p.standby.Promote(t)
	_, client := open(t, with(p.standby.URL(), "dbname="+databaseOf(t, url)))
	return client
}

// deafPool returns an application's pool whose notices the queue does not receive.
func deafPool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), with(url, "pool_max_conns=200"))
	must(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// on opens a store on an application's pool.
func on(t *testing.T, pool *pgxpool.Pool, opts ...Option) (*backend, *jobs.Client) {
	t.Helper()
	store, err := newBackend(pool, append([]Option{WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	must(t, err)
	t.Cleanup(func() { shut(t, store) })
	return store, jobs.New(store)
}

// An acknowledged job is on the promoted standby, whether the standby stops or the network between both is lost. Every write during
// the outage is of unknown outcome, also one that finds the row of an earlier try.
func TestFailover(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*testing.T, *pair) (mend func()){
		"the standby is stopped": func(t *testing.T, p *pair) func() { return p.standby.Freeze(t) },
		"the network is cut":     func(_ *testing.T, p *pair) func() { p.link.mute(); return func() {} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 200
			p := newPair(t)
			_, _, url := p.site.queue(t)
			// A commit with a notification blocks those of others, so that only one would wait for the standby.
			brief := []Option{WithoutNotify(), silentAfter(15 * time.Second), askingFor(time.Second)}
			_, own := open(t, with(url, "pool_max_conns=200"), brief...)
			pool := deafPool(t, url)
			_, foreign := on(t, pool, brief...)
			clients := []*jobs.Client{own, foreign}
			acknowledged := map[string]bool{}
			var mu sync.Mutex
			add := func(ctx context.Context, i int) error {
				request := fmt.Sprint("request ", i)
				_, err := clients[i%2].Enqueue(ctx, "k", []byte("{}"), jobs.RequestID(request))
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					acknowledged[request] = true
				}
				return err
			}
			for i := range 10 {
				must(t, add(t.Context(), n+2*i))
			}

			var started sync.WaitGroup
			started.Add(n)
			outage := make(chan struct{})
			var completions atomic.Int64
			config := jobs.Config{Queues: map[string]int{jobs.DefaultQueue: n}, Grace: time.Second, StopTimeout: time.Second}
			stop := work(t, own, config, handlers{
				"complete": func(ctx context.Context, job jobs.Job) error {
					started.Done()
					<-outage
					ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
					defer cancel()
					tx, err := pool.Begin(ctx)
					if err != nil {
						return err
					}
					defer tx.Rollback(context.WithoutCancel(ctx)) // does nothing after the commit
					if err = jobs.CompleteTx(ctx, Tx(tx), job, "done"); err == nil {
						err = tx.Commit(ctx)
					}
					if err == nil {
						completions.Add(1)
					}
					return err
				},
			})
			for range n {
				enqueue(t, own, "complete")
			}
			started.Wait()
			observer := dial(t, url)
			mend := cut(t, p)
			close(outage)

			var doubts atomic.Int64
			var brieflyAll, all sync.WaitGroup
			for i := range n {
				running := &all
				try := func(ctx context.Context) {
					switch err := add(ctx, i); {
					case err == nil:
						t.Errorf("the enqueue of request %d is acknowledged", i)
					case errors.Is(err, jobs.ErrUnknownOutcome):
						doubts.Add(1)
					case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, jobs.ErrUnavailable): // before the commit
						t.Errorf("an enqueue under the outage: %v", err)
					}
				}
				if i < n/2 { // these wait as long as the server does
					running.Go(func() { try(context.Background()) })
					continue
				}
				brieflyAll.Go(func() {
					for range 2 { // the second try finds the row that the cancelled wait of the first one has left
						ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
						try(ctx)
						cancel()
					}
				})
			}
			brieflyAll.Wait()
			_ = stop() // its ends cannot be recorded
			eventually(t, "enqueues wait for the standby", func() bool { return scan[int](t, observer, "count_waiting_commits") >= n/4 })
			p.primary.Stop(t, "immediate")
			all.Wait()
			mend()
			promoted := p.promoted(t, url)
			for request := range acknowledged {
				if _, err := promoted.GetByRequestID(t.Context(), "k", request); err != nil {
					t.Errorf("the acknowledged %s is lost: %v", request, err)
				}
			}
			if doubts.Load() < n/8 || completions.Load() > 0 {
				t.Errorf("%d enqueues were of unknown outcome, %d handlers saw their commit succeed", doubts.Load(), completions.Load())
			}
		})
	}
}

// A wait for the standby that a person cancels, or that ends with its session, is no success. The write succeeds after the standby has
// confirmed a later commit.
func TestCancelledWait(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	_, _, url := p.site.queue(t)
	own, ownClient := open(t, with(url, "options=-c%20client_min_messages%3Derror"), askingFor(time.Second))
	_, foreignClient := on(t, deafPool(t, url), askingFor(time.Second))
	patient, patientClient := open(t, url)
	must(t, ownClient.CheckSchema(t.Context()))
	must(t, patientClient.CheckSchema(t.Context()))
	must(t, foreignClient.CheckSchema(t.Context()))
	id, cancelled := enqueue(t, ownClient, "k", jobs.In(time.Hour)), []int64{}
	for range 4 {
		cancelled = append(cancelled, enqueue(t, ownClient, "k", jobs.In(time.Hour)))
	}
	observer := dial(t, url)
	calls := map[string]func(context.Context) error{
		"an enqueue": func(ctx context.Context) error { _, err := ownClient.Enqueue(ctx, "k", []byte("{}")); return err },
		"an enqueue on a pool of the application": func(ctx context.Context) error {
			_, err := foreignClient.Enqueue(ctx, "k", []byte("{}"))
			return err
		},
		"Client.Tx":                              func(ctx context.Context) error { return addInTx(ctx, ownClient) },
		"Client.Tx on a pool of the application": func(ctx context.Context) error { return addInTx(ctx, foreignClient) },
		"a cancellation": func(ctx context.Context) error {
			last := len(cancelled) - 1
			_, err := ownClient.Cancel(ctx, cancelled[last])
			cancelled = cancelled[:last]
			return err
		},
		"an update": func(ctx context.Context) error { return ownClient.Update(ctx, id, jobs.SetPriority(3)) },
		"a schedule": func(ctx context.Context) error {
			return ownClient.PutSchedule(ctx, jobs.NewSchedule("s", "@daily", "k", []byte("{}")))
		},
		"a migration":      func(ctx context.Context) error { _, err := ownClient.Migrate(ctx); return err },
		"a user forgotten": func(ctx context.Context) error { _, err := inspect.New(ownClient).Forget(ctx, "u"); return err },
		"a pause":          func(ctx context.Context) error { _, err := ownClient.PauseQueue(ctx, "q"); return err },
	}
	for _, end := range []string{"cancel_waiting_commits", "end_waiting_commits"} {
		for name, call := range calls {
			// A backend that the standby has released shows its wait until it runs again.
			eventually(t, "no commit waits any more", func() bool { return scan[int](t, observer, "count_waiting_commits") == 0 })
			thaw := p.standby.Freeze(t)
			done := make(chan error, 1)
			go func() { done <- call(context.Background()) }()
			eventually(t, name+" waits for the standby", func() bool { return scan[int](t, observer, "count_waiting_commits") == 1 })
			want(t, "ended waits", scan[int](t, observer, end), 1)
			if err := receive(t, name, done); !errors.Is(err, jobs.ErrUnknownOutcome) || !own.CanRetry(err) {
				t.Errorf("%s, %s: %v", name, end, err)
			}
			thaw()
			must(t, call(t.Context())) // finds the row of the first call
		}
	}
	thaw := p.standby.Freeze(t)
	// A second try finds the row, and is no success either.
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if receipt, err := ownClient.Enqueue(ctx, "k", []byte("{}"), jobs.RequestID("r")); err == nil {
			t.Errorf("job %d is acknowledged while the standby is away", receipt.ID)
		}
		cancel()
	}
	eventually(t, "no commit waits any more", func() bool { return scan[int](t, observer, "count_waiting_commits") == 0 })
	done := make(chan error, 1)
	go func() { _, err := patientClient.Enqueue(context.Background(), "k", []byte("{}")); done <- err }()
	eventually(t, "the enqueue waits for the standby", func() bool { return scan[int](t, observer, "count_waiting_commits") == 1 })
	want(t, "ended waits", scan[int](t, observer, "cancel_waiting_commits"), 1)
	eventually(t, "a later commit waits for it", func() bool { return scan[int](t, observer, "count_waiting_commits") == 1 })
	thaw()
	must(t, receive(t, "the enqueue", done))
	patient.conns.lent.mu.Lock()
	defer patient.conns.lent.mu.Unlock()
	want(t, "connections that are counted as lent", patient.conns.lent.n, 0)
}

// A store that is closed does not wait for a commit that hangs longer than a connection may be silent.
func TestCloseWhileACommitHangs(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	_, _, url := p.site.queue(t)
	store, client := open(t, url, silentAfter(2*time.Second), askingFor(time.Second))
	must(t, client.CheckSchema(t.Context()))
	observer := dial(t, url)
	p.standby.Freeze(t)
	done := make(chan error, 1)
	go func() { _, err := client.Enqueue(context.Background(), "k", []byte("{}")); done <- err }()
	eventually(t, "the enqueue waits for the standby", func() bool { return scan[int](t, observer, "count_waiting_commits") == 1 })
	shut(t, store)
	if err := receive(t, "the enqueue", done); !errors.Is(err, jobs.ErrUnknownOutcome) {
		t.Errorf("the enqueue returns %v", err)
	}
}

func addInTx(ctx context.Context, client *jobs.Client) error {
	return client.Tx(ctx, func(ctx context.Context, tx *jobs.Client) error {
		_, err := tx.Enqueue(ctx, "k", []byte("{}"))
		return err
	})
}

// While the standby does not confirm commits, a write waits longer than a connection may be silent, and runners claim nothing and log it.
// After that, everything continues, and no job has lost an attempt.
func TestCommitsHang(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	_, client, url := p.site.queue(t)
	log := &journal{}
	const n = 20
	release := make(chan struct{})
	var starts atomic.Int64
	var started sync.WaitGroup
	started.Add(2 * n)
	for i := range 2 {
		_, own := open(t, url, silentAfter(1500*time.Millisecond), WithLogger(slog.New(log)))
		work(t, own, jobs.Config{
			Name: fmt.Sprint("w", i), Queues: map[string]int{jobs.DefaultQueue: n}, Lease: 3 * time.Second, Logger: slog.New(log),
		}, handlers{
			"long":  func(context.Context, jobs.Job) error { started.Done(); <-release; return nil },
			"short": func(context.Context, jobs.Job) error { starts.Add(1); return nil },
		})
	}
	var ids []int64
	for range 2 * n {
		ids = append(ids, enqueue(t, client, "long"))
	}
	started.Wait()
	thaw := p.standby.Freeze(t)
	done := make(chan int64, 1)
	go func() { done <- enqueue(t, client, "short") }()
	close(release) // their ends cannot be recorded
	observer := dial(t, url)
	eventually(t, "the engine says that commits hang", func() bool { return log.count("commits hang: the server does not confirm them") > 1 })
	eventually(t, "leases are over", func() bool { return scan[bool](t, observer, "all_leases_over") })
	want(t, "starts", starts.Load(), 0)
	thaw()
	for _, id := range append(ids, receive(t, "the enqueue", done)) {
		wantDone(t, client, id, 1)
	}
	eventually(t, "the engine says that no commit hangs", func() bool { return log.count("no commit hangs any more") > 1 })
	want(t, "lines of unknown outcomes", log.count("is not known"), 0)
}
