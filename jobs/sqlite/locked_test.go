package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// While another program keeps the write lock, all waiting writes fail at once, and reads continue.
func TestLocked(t *testing.T) {
	store, client := queue(t)
	id := enqueue(t, client, "k")
	foreign, err := plain(t, store.path).BeginTx(t.Context(), nil) // takes the write lock
	must(t, err)
	const n = 40
	results := make(chan error, n)
	for range n {
		go func() {
			_, err := client.Enqueue(context.Background(), "k", []byte("{}"))
			results <- err
		}()
	}
	for range n { // one after the other they would wait for longer than the guard allows
		err := receive(t, "an enqueuer's error", results)
		if !errors.Is(err, jobs.ErrBusy) || !store.CanRetry(err) {
			t.Errorf("an enqueuer gets %v", err)
		}
	}
	if _, err := client.Get(t.Context(), id); err != nil {
		t.Errorf("a read gives %v", err)
	}
	must(t, foreign.Rollback())
	enqueue(t, client, "k")
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{})
	must(t, err)
	if len(list) != 2 {
		t.Errorf("%d jobs are there, not the two that were acknowledged", len(list))
	}
}

// A write holds the lock from its beginning: no other program changes what it read before it writes.
func TestAWriteHoldsTheLockFromItsBeginning(t *testing.T) {
	store, client := queue(t)
	id := enqueue(t, client, "k")
	foreign, err := plain(t, store.path).Conn(t.Context())
	must(t, err)
	defer func() { must(t, foreign.Close()) }()
	_, err = foreign.ExecContext(t.Context(), `PRAGMA busy_timeout = 0`)
	must(t, err)
	err = store.Write(t.Context(), func(ctx context.Context, q db.Querier) error {
		if _, err := q.GetJob(ctx, id); err != nil {
			return err
		}
		if _, err := foreign.ExecContext(ctx, `UPDATE sqluice_jobs SET priority = priority + 1`); !errors.Is(translate(err), jobs.ErrBusy) {
			t.Errorf("another program's write meanwhile gives %v", err)
		}
		return add("k")(ctx, q)
	})
	if err != nil {
		t.Errorf("a write that reads first gives %v", err)
	}
}

// A runner that starts while another program keeps the write lock waits for it.
func TestLockedAtTheStart(t *testing.T) {
	store, client := queue(t)
	id := enqueue(t, client, "k")
	foreign, err := plain(t, store.path).BeginTx(t.Context(), nil)
	must(t, err)
	log := &journal{}
	stop := work(t, client, jobs.Config{Logger: slog.New(log)}, map[string]func(context.Context, jobs.Job) error{"k": nothing})
	eventually(t, "the runner meets the lock", func() bool { return log.holds("the database is not ready") })
	must(t, foreign.Rollback())
	if job := ended(t, client, id); job.Status != jobs.StatusDone {
		t.Errorf("the job is %s", job.Status)
	}
	must(t, stop())
}

// A stop that cannot end the worker's row is not a clean one.
func TestLockedAtTheStop(t *testing.T) {
	store, client := queue(t)
	stop := work(t, client, jobs.Config{StopTimeout: time.Second, Grace: 10 * time.Millisecond}, map[string]func(context.Context, jobs.Job) error{"k": nothing})
	ended(t, client, enqueue(t, client, "k"))
	foreign, err := plain(t, store.path).BeginTx(t.Context(), nil)
	must(t, err)
	if err := stop(); err == nil || !strings.Contains(err.Error(), "unregister worker") {
		t.Errorf("Run returns %v", err)
	}
	must(t, foreign.Rollback())
}

// The end of an attempt that cannot be recorded for longer than its lease is still recorded later.
func TestLockedForLongerThanTheLease(t *testing.T) {
	store, client := queue(t)
	log := &journal{}
	started, release := make(chan struct{}), make(chan struct{})
	stop := work(t, client, jobs.Config{Lease: time.Second, Logger: slog.New(log)}, map[string]func(context.Context, jobs.Job) error{
		"k": func(context.Context, jobs.Job) error {
			close(started)
			<-release
			return nil
		},
	})
	id := enqueue(t, client, "k")
	receive(t, "the start", started)
	foreign, err := plain(t, store.path).BeginTx(t.Context(), nil)
	must(t, err)
	close(release)
	eventually(t, "the runner meets the lock", func() bool { return log.holds("cannot write to the database") })
	eventually(t, "the lease is over", func() bool {
		job, err := client.Get(t.Context(), id)
		return err == nil && job.LeaseUntil.Before(time.Now())
	})
	must(t, foreign.Rollback())
	if job := ended(t, client, id); job.Status != jobs.StatusDone || job.Attempt != 1 {
		t.Errorf("the job is %s after attempt %d", job.Status, job.Attempt)
	}
	must(t, stop())
}

// The ends of many attempts that another program's lock kept from being recorded are all recorded before anything else happens once the
// lock is free, in few transactions, and none counts as a crash.
func TestManyEndsAfterALock(t *testing.T) {
	const n = 20
	var mu sync.Mutex
	recorded, transactions := 0, 0
	all := make(chan struct{})
	store, client := queue(t, WithObserver(&jobs.Observer{Turned: func(turned jobs.Turned) {
		mu.Lock()
		defer mu.Unlock()
		if turned.Recorded > 0 && recorded < n {
			transactions++
			if recorded += turned.Recorded; recorded >= n {
				close(all)
			}
		}
	}}))
	var ids []int64
	for range n {
		ids = append(ids, enqueue(t, client, "k"))
	}
	log := &journal{}
	var started, released sync.WaitGroup
	started.Add(n)
	released.Add(n)
	release, left := make(chan struct{}), make(chan []int64, 1)
	stop := work(t, client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: n}, Logger: slog.New(log)}, map[string]func(context.Context, jobs.Job) error{
		"k": func(context.Context, jobs.Job) error {
			started.Done()
			<-release
			released.Done()
			return nil
		},
		"after": func(ctx context.Context, _ jobs.Job) error {
			var running []int64
			for _, id := range ids {
				if job, err := client.Get(ctx, id); err != nil || job.Status != jobs.StatusDone {
					running = append(running, id)
				}
			}
			left <- running
			return nil
		},
	})
	_, other := queueAt(t, store.path) // of another worker, which would rescue
	stopOther := work(t, other, jobs.Config{}, handlersOf("other"))
	if job := ended(t, client, enqueue(t, other, "other")); job.Status != jobs.StatusDone {
		t.Errorf("the other worker's job is %s", job.Status)
	}
	started.Wait()

	foreign, err := plain(t, store.path).BeginTx(t.Context(), nil) // takes the write lock
	must(t, err)
	close(release)
	released.Wait()
	eventually(t, "the runner meets the lock", func() bool { return log.holds("cannot write to the database") })
	var after int64
	must(t, foreign.QueryRowContext(t.Context(), statement(t, "insert_job"), "after", "{}").Scan(&after))
	must(t, foreign.Commit())

	if running := receive(t, "the job after the lock", left); len(running) > 0 {
		t.Errorf("a job is claimed before the ends of %v are recorded", running)
	}
	receive(t, "what the observer was told", all)
	mu.Lock()
	if recorded < n || transactions > 2 {
		t.Errorf("%d ends are recorded in %d transactions", recorded, transactions)
	}
	mu.Unlock()
	for _, id := range append(ids, after) {
		job := ended(t, client, id)
		list, err := inspect.New(client).Errors(t.Context(), id)
		must(t, err)
		if job.Status != jobs.StatusDone || job.Attempt != 1 || job.Crashes != 0 || len(list) != 0 {
			t.Errorf("job %d is %s after attempt %d and %d crashes, %v", id, job.Status, job.Attempt, job.Crashes, list)
		}
	}
	must(t, errors.Join(stop(), stopOther()))
}

// An outcome that the database never accepts does not delay the others.
func TestRefusedOutcome(t *testing.T) {
	store, client := queue(t)
	exec(t, plain(t, store.path), "refuse_poison")
	var ids []int64
	for range 3 {
		enqueue(t, client, "poison")
		ids = append(ids, enqueue(t, client, "k"))
	}
	log := &journal{}
	stop := work(t, client, jobs.Config{Logger: slog.New(log)}, map[string]func(context.Context, jobs.Job) error{
		"poison": nothing, "k": nothing,
	})
	for _, id := range ids {
		if job := ended(t, client, id); job.Status != jobs.StatusDone {
			t.Errorf("job %d is %s", id, job.Status)
		}
	}
	eventually(t, "the refusal is logged", func() bool { return log.holds("the database refuses") })
	must(t, stop())
}
