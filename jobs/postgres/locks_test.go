package postgres

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var locksTests = []engineTest{
	{"LockConnectionEnds", testLockConnectionEnds},
	{"ProcessDies", testProcessDies},
	{"MissedLockJudgesNoWorker", testMissedLockJudgesNoWorker},
	{"RescueNeedsNoSecondConnection", testRescueNeedsNoSecondConnection},
	{"KeysOfOtherEngines", testKeysOfOtherEngines},
	{"LockIsReleased", testLockIsReleased},
	{"StopBeforeTheLock", testStopBeforeTheLock},
}

// A worker whose lock's connection is ended again and again lives on, and keeps its jobs.
func testLockConnectionEnds(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	log := &journal{}
	_, own := open(t, url, WithLogger(slog.New(log)))
	release := make(chan struct{})
	stop := work(t, own, jobs.Config{}, handlers{"k": func(context.Context, jobs.Job) error { <-release; return nil }})
	id := enqueue(t, client, "k")
	eventually(t, "the job runs", func() bool { return get(t, client, id).Status == jobs.StatusRunning })

	// Another process checks it the whole time, as often as it can.
	watcher, _ := open(t, url, func(o *options) { o.confirm = 2 * time.Second }) // on a busy machine all takes longer
	admin := dial(t, url)
	key := scan[string](t, admin, "worker_key")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var looks atomic.Int64
	watched := make(chan []string, 1000)
	go func() {
		defer close(watched)
		for ctx.Err() == nil {
			if free, err := watcher.WorkerLocks().FreeWorkerLocks(ctx, []string{key}); err == nil && len(free) > 0 {
				watched <- free
			}
			looks.Add(1)
		}
	}()
	number, err := strconv.ParseInt(key, 10, 64)
	must(t, err)
	isHeld := func() bool { return scan[int](t, admin, "count_lock", number) == 1 }
	for range 6 {
		eventually(t, "the lock is held", isHeld)
		// A look that found the lock between two holders must find it held when it looks again.
		begun := looks.Load()
		eventually(t, "the other has looked", func() bool { return looks.Load() > begun+1 })
		want(t, "ended backends", scan[int](t, admin, "end_lock_holder", number), 1)
	}
	eventually(t, "the lock is held in the end", isHeld)
	eventually(t, "the loss is logged each time", func() bool { return log.count("shows that the worker lives was lost") == 6 })
	cancel()
	for free := range watched {
		t.Errorf("the worker was taken for dead: %v is free", free)
	}
	close(release)
	wantDone(t, client, id, 1)
	must(t, stop())
	list, err := inspect.New(client).Errors(t.Context(), id)
	must(t, err)
	want(t, "errors of the job", len(list), 0)
}

// A process that dies drops its connections, whatever else it does not do.
func testProcessDies(t *testing.T, site *site) {
	_, client, url := site.queue(t)
	id := enqueue(t, client, "k")
	p := newProxy(t, url)
	doomed, _ := open(t, p.url(url))
	ghost(t, doomed, "doomed", []string{"k"})
	stop := work(t, client, jobs.Config{}, handlers{"k": nothing, "first": nothing})
	wantDone(t, client, enqueue(t, client, "first"), 1) // the start is over
	want(t, "status while the process lives", get(t, client, id).Status, jobs.StatusRunning)
	p.leave()
	wantDone(t, client, id, 2)
	list, err := inspect.New(client).Errors(t.Context(), id)
	must(t, err)
	if len(list) != 1 || list[0].Cause != jobs.CauseCrash || list[0].Worker != "doomed" {
		t.Errorf("the errors are %v", list)
	}
	must(t, stop())
}

// A process that has lost its own connection considers no worker dead for a while: a restarted proxy breaks all connections, and
// each process reconnects in its own time. A process that has not lost its connection goes on.
func testMissedLockJudgesNoWorker(t *testing.T, site *site) {
	store, _, url := site.queue(t)
	g := ghost(t, store, "w", nil)
	must(t, g.release(true)) // as after a loss of its connection, until it has another
	p := newProxy(t, url)
	for name, test := range map[string]struct {
		settling time.Duration
		judges   bool
	}{"settling": {hang, false}, "settled": {0, true}} {
		t.Run(name, func(t *testing.T) {
			log := &journal{}
			judge, client := open(t, p.url(url), WithLogger(slog.New(log)), func(o *options) { o.settling = test.settling })
			_, release, err := judge.WorkerLocks().HoldWorkerLock(t.Context())
			must(t, err)
			free := func() bool {
				must(t, client.CheckSchema(t.Context())) // by a new connection, if need be
				free, err := judge.WorkerLocks().FreeWorkerLocks(t.Context(), []string{g.key})
				must(t, err)
				return len(free) > 0
			}
			want(t, "the lock counts as free before", free(), true)
			p.cutAll()
			eventually(t, "the loss is noticed", func() bool { return log.count("shows that the worker lives was lost") > 0 })
			want(t, "the lock counts as free after", free(), test.judges)
			must(t, release(true))
		})
	}
	eventually(t, "another takes it for free", func() bool {
		free, err := store.WorkerLocks().FreeWorkerLocks(t.Context(), []string{g.key})
		must(t, err)
		return len(free) > 0
	})
}

// A free lock is tried again after the time that a connection takes here, within limits.
func TestConfirmAfter(t *testing.T) {
	store, err := openBackend(t.Context(), "postgres://h/db")
	must(t, err)
	defer func() { must(t, store.Close()) }()
	for took, after := range map[time.Duration]time.Duration{
		0: 250 * time.Millisecond, 20 * time.Millisecond: 250 * time.Millisecond,
		700 * time.Millisecond: 2110 * time.Millisecond, time.Minute: settling,
	} {
		store.conns.connecting.Store(int64(took))
		want(t, "the wait after a connection that took "+took.String(), store.locks.confirmAfter(), after)
	}
}

// A pool of one connection is enough for a rescue, and so is one whose connections are all about to be used for rescues.
func testRescueNeedsNoSecondConnection(t *testing.T, site *site) {
	store, client, url := site.queue(t)
	ids := []int64{}
	for _, name := range []string{"one", "two", "three", "four"} {
		ids = append(ids, enqueue(t, client, name))
		must(t, ghost(t, store, name, []string{name}).release(true))
	}
	_, small := open(t, with(url, "pool_max_conns=1"))
	kinds := handlers{"one": nothing, "two": nothing, "three": nothing, "four": nothing}
	for range 4 {
		work(t, small, jobs.Config{}, kinds)
	}
	for _, id := range ids {
		wantDone(t, client, id, 2)
	}
}

// Locks of another engine, of a queue that was moved here, prove nothing.
func testKeysOfOtherEngines(t *testing.T, site *site) {
	store, client, _ := site.queue(t)
	live := ghost(t, store, "live", nil)
	dead := ghost(t, store, "dead", nil)
	must(t, dead.release(true))
	keys := []string{"abc", "", "9999999999999999999999", "1.5", "0x10", "'", live.key, dead.key}
	free, err := store.WorkerLocks().FreeWorkerLocks(t.Context(), keys)
	must(t, err)
	if !slices.Equal(free, []string{dead.key}) {
		t.Errorf("free are %q of %q", free, keys)
	}
	for _, key := range keys {
		state, done, err := store.WorkerLocks().TakeWorkerLock(t.Context(), key)
		must(t, err)
		wanted := engine.LockMissing
		switch key {
		case dead.key:
			wanted = engine.LockTaken
		case live.key:
			wanted = engine.LockHeld
		}
		want(t, "the lock of "+key, state, wanted)
		if state == engine.LockTaken {
			second, _, err := store.WorkerLocks().TakeWorkerLock(t.Context(), key)
			must(t, err)
			want(t, "the lock of a worker that is looked after", second, engine.LockHeld)
			done()
		}
	}
	state, done, err := store.WorkerLocks().TakeWorkerLock(t.Context(), dead.key)
	must(t, err)
	if state != engine.LockTaken {
		t.Fatal("the lock was not given back")
	}
	done()
	must(t, live.release(true))
	workers, err := inspect.New(client).Workers(t.Context())
	must(t, err)
	want(t, "workers", len(workers), 2)
}

// A lock ends at once with its release, and with a release that comes while the connection is lost.
func testLockIsReleased(t *testing.T, site *site) {
	store, _, url := site.queue(t)
	p := newProxy(t, url)
	own, _ := open(t, p.url(url))
	g := ghost(t, own, "w", nil)
	p.leave()
	released := make(chan error, 1)
	go func() { released <- g.release(true) }()
	must(t, receive(t, "the release", released))
	eventually(t, "the lock is free", func() bool {
		free, err := store.WorkerLocks().FreeWorkerLocks(t.Context(), []string{g.key})
		must(t, err)
		return len(free) == 1
	})
}

// After a crash of the server, which drops all locks, no worker is considered dead, however long the server was away.
func TestServerRestartKillsNoWorker(t *testing.T) {
	t.Parallel()
	cluster := testdb.StartCluster(t, map[string]string{"synchronous_commit": "on"})
	_, client, url := newSite(t, cluster.Postgres).queue(t)
	const n = 4
	release := make(chan struct{})
	var ids []int64
	var logs []*journal
	for i := range n {
		log := &journal{}
		logs = append(logs, log)
		kind := strconv.Itoa(i)
		_, own := open(t, url)
		work(t, own, jobs.Config{Logger: slog.New(log)}, handlers{kind: func(context.Context, jobs.Job) error { <-release; return nil }})
		ids = append(ids, enqueue(t, client, kind))
		eventually(t, "the job runs", func() bool { return get(t, client, ids[i]).Status == jobs.StatusRunning })
	}
	gone, _ := open(t, url)
	dead := ghost(t, gone, "dead", nil)
	cluster.Stop(t, "immediate")
	must(t, dead.release(true))
	// After this number of tries, the pauses between two attempts to connect are seconds long.
	for _, log := range logs {
		eventually(t, "the worker has met the loss several times", func() bool { return log.count("housekeeping failed") >= 4 })
	}
	cluster.Start(t)
	// When the dead one is found, the others were checked too.
	eventually(t, "the dead worker is found", func() bool {
		workers, err := inspect.New(client).Workers(t.Context())
		return err == nil && !slices.ContainsFunc(workers, func(w inspect.WorkerInfo) bool { return w.Name == "dead" })
	})
	close(release)
	for _, id := range ids {
		wantDone(t, client, id, 1)
		list, err := inspect.New(client).Errors(t.Context(), id)
		must(t, err)
		want(t, "errors of the job", len(list), 0)
	}
}

// A runner that is stopped before it has its lock, with a cause as commands have one, has not failed.
func testStopBeforeTheLock(t *testing.T, site *site) {
	_, _, url := site.queue(t)
	p := newProxy(t, url)
	p.mute()
	_, client := open(t, url, WithSession(p.url(url)))
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	runner := newRunner(t, client, jobs.Config{}, handlers{"k": nothing})
	go func() { ended <- runner.Run(ctx) }()
	eventually(t, "the runner connects", func() bool { return p.dials() > 0 })
	cancel(errors.New("stopped by a signal"))
	must(t, receive(t, "the runner's end", ended))
}
