package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// args is a payload of about 100 bytes.
type args struct {
	N   int    `json:"n"`
	Pad string `json:"pad"`
}

var noop = jobs.Kind[args]{Name: "noop"}

func payload(n int) args { return args{N: n, Pad: strings.Repeat("x", 80)} }

func payloads(n int) []args {
	list := make([]args, n)
	for i := range list {
		list[i] = payload(i)
	}
	return list
}

func open(ctx context.Context, path string) (*sqlite.Store, *jobs.Client, error) {
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	client := jobs.New(store)
	if _, err := client.Migrate(ctx); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, client, nil
}

func drain(ctx context.Context, s settings, path string) (figures, error) {
	return drainBeside(ctx, s, path, 0)
}

func drainBacklog(ctx context.Context, s settings, path string) (figures, error) {
	return drainBeside(ctx, s, path, s.backlog)
}

func drainBeside(ctx context.Context, s settings, path string, backlog int) (figures, error) {
	store, client, err := open(ctx, path)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	if backlog > 0 {
		if err := addBacklog(ctx, client, path, backlog); err != nil {
			return figures{}, err
		}
	}
	if _, err := noop.EnqueueMany(ctx, client, payloads(s.jobs)); err != nil {
		return figures{}, err
	}
	clock := start()
	ran, err := drainWith(ctx, client, s.concurrency)
	if err == nil && ran != int64(s.jobs) {
		err = fmt.Errorf("%d jobs ran, not %d", ran, s.jobs)
	}
	return clock.stop(s.jobs), err
}

func drainWith(ctx context.Context, client *jobs.Client, concurrency int) (int64, error) {
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: concurrency}})
	if err != nil {
		return 0, err
	}
	var ran atomic.Int64
	noop.Handle(runner, func(context.Context, jobs.Job, args) error { ran.Add(1); return nil })
	err = runner.Drain(ctx)
	return ran.Load(), err
}

// addBacklog adds n done rows and n rows that are scheduled at the highest priority.
func addBacklog(ctx context.Context, client *jobs.Client, path string, n int) error {
	const step = 100_000
	for done := 0; done < n; done += step {
		part := payloads(min(step, n-done))
		if _, err := noop.EnqueueMany(ctx, client, part, jobs.In(24*time.Hour), jobs.Priority(jobs.MaxPriority)); err != nil {
			return err
		}
		if _, err := noop.EnqueueMany(ctx, client, part, jobs.Queue("old")); err != nil {
			return err
		}
	}
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.ExecContext(ctx, "UPDATE jobs SET status = 'done', queue = 'default', finished_at = created_at WHERE queue = 'old'")
	if err != nil {
		return err
	}
	// What this left in the WAL is not part of a steady state.
	_, err = pool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func drainStores(ctx context.Context, s settings, path string) (figures, error) {
	store, client, err := open(ctx, path)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	if _, err := noop.EnqueueMany(ctx, client, payloads(s.jobs)); err != nil {
		return figures{}, err
	}
	const stores = 4
	var ran atomic.Int64
	errs := make([]error, stores)
	clock := start()
	var group sync.WaitGroup
	for i := range stores {
		group.Go(func() {
			other, client, err := open(ctx, path)
			if err != nil {
				errs[i] = err
				return
			}
			n, err := drainWith(ctx, client, s.concurrency)
			ran.Add(n)
			errs[i] = errors.Join(err, other.Close())
		})
	}
	group.Wait()
	err = errors.Join(errs...)
	if err == nil && ran.Load() != int64(s.jobs) {
		err = fmt.Errorf("%d jobs ran, not %d", ran.Load(), s.jobs)
	}
	return clock.stop(s.jobs), err
}

func insert(ctx context.Context, s settings, path string) (figures, error) {
	return insertBy(ctx, path, 1, s.jobs/5)
}

func insertMany(ctx context.Context, s settings, path string) (figures, error) {
	return insertBy(ctx, path, 64, s.jobs/2)
}

func insertBy(ctx context.Context, path string, callers, n int) (figures, error) {
	store, client, err := open(ctx, path)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	errs := make([]error, callers)
	clock := start()
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for i := c; i < n && errs[c] == nil; i += callers {
				_, errs[c] = noop.Enqueue(ctx, client, payload(i))
			}
		})
	}
	group.Wait()
	return clock.stop(n), errors.Join(errs...)
}

func bulk(ctx context.Context, s settings, path string) (figures, error) {
	store, client, err := open(ctx, path)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	list := payloads(s.jobs)
	clock := start()
	_, err = noop.EnqueueMany(ctx, client, list)
	return clock.stop(s.jobs), err
}

const laps = 400

func latencySame(ctx context.Context, _ settings, path string) (figures, error) {
	return latency(ctx, path, func(ctx context.Context, client *jobs.Client, i int) error {
		_, err := noop.Enqueue(ctx, client, payload(i))
		return err
	})
}

// latencyForeign inserts as any other program would: plain SQL on a connection that the library knows nothing of.
func latencyForeign(ctx context.Context, _ settings, path string) (figures, error) {
	pool, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(1)")
	if err != nil {
		return figures{}, err
	}
	defer pool.Close()
	return latency(ctx, path, func(ctx context.Context, _ *jobs.Client, i int) error {
		_, err := pool.ExecContext(ctx, "INSERT INTO jobs (kind, payload) VALUES ('noop', ?)", fmt.Sprintf(`{"n":%d}`, i))
		return err
	})
}

// latency is the time from before an insert to the start of its handler, 50 a second, in an idle worker.
func latency(ctx context.Context, path string, add func(context.Context, *jobs.Client, int) error) (figures, error) {
	store, client, err := open(ctx, path)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	runner, err := jobs.NewRunner(client, jobs.Config{})
	if err != nil {
		return figures{}, err
	}
	started := make(chan time.Time, 1)
	noop.Handle(runner, func(context.Context, jobs.Job, args) error { started <- time.Now(); return nil })
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	var times []time.Duration
	clock := start()
	for i := range laps + 10 {
		lap := time.Now()
		if err := add(ctx, client, i); err != nil {
			stop()
			return figures{}, errors.Join(err, <-ended)
		}
		if at := <-started; i >= 10 { // the first ones warm up
			times = append(times, at.Sub(lap))
		}
		time.Sleep(20 * time.Millisecond)
	}
	f := clock.stop(laps)
	f.laps = times
	stop()
	return f, <-ended
}

const (
	idleArg = "idle-worker"
	idleFor = 15 * time.Second
)

// idle is the processor time of a worker process that has nothing to do.
func idle(ctx context.Context, _ settings, path string) (figures, error) {
	store, _, err := open(ctx, path)
	if err != nil {
		return figures{}, err
	}
	if err := store.Close(); err != nil {
		return figures{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	cmd := exec.CommandContext(ctx, program, idleArg, path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return figures{}, err
	}
	var cpu time.Duration
	if _, err := fmt.Sscan(string(out), (*int64)(&cpu)); err != nil {
		return figures{}, err
	}
	return figures{elapsed: idleFor, cpu: cpu}, nil
}

// idleWorker is the other process: it prints the nanoseconds that it used after its start was over.
func idleWorker(path string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer store.Close()
	runner, err := jobs.NewRunner(jobs.New(store), jobs.Config{})
	if err != nil {
		return err
	}
	noop.Handle(runner, func(context.Context, jobs.Job, args) error { return nil })
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	time.Sleep(2 * time.Second)
	before := cpuTime()
	time.Sleep(idleFor)
	fmt.Println(int64(cpuTime() - before))
	stop()
	return <-ended
}
