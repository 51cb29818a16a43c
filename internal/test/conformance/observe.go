package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var observeTests = []test{
	{"Enqueues", testObserveEnqueues},
	{"Fates", testObserveFates},
	{"CompletedInATransaction", testObserveCompleteTx},
	{"LostAndRefused", func(f *fixture) { testObserveLost(f, func(context.Context) error { return nil }) }},
	{"LostAndHeeded", func(f *fixture) {
		testObserveLost(f, func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}},
	{"Released", testObserveReleased},
	{"Rescue", testObserveRescue},
	{"Turns", testObserveTurns},
	{"Commits", testObserveCommits},
	{"Statements", testObserveStatements},
	{"Faults", testObserveFaults},
	{"WakeSources", testObserveWakes},
	{"Several", testObserveSeveral},
}

// seen keeps all events of an observer. Tests wait for told before they read it.
type seen struct {
	told     func()
	mu       sync.Mutex
	enqueued []jobs.Enqueued
	started  []jobs.Started
	finished []jobs.Finished
	rescued  []jobs.Rescued
	expired  []jobs.Expired
	turned   []jobs.Turned
	writes   int
	queries  []string
	failed   []error
	woken    []jobs.WakeSource
}

func keep[T any](s *seen, list *[]T) func(T) {
	return func(v T) {
		s.mu.Lock()
		defer s.mu.Unlock()
		*list = append(*list, v)
	}
}

func (s *seen) observer() *jobs.Observer {
	query := keep(s, &s.queries)
	return &jobs.Observer{
		Enqueued: keep(s, &s.enqueued), Started: keep(s, &s.started), Finished: keep(s, &s.finished),
		Rescued: keep(s, &s.rescued), Expired: keep(s, &s.expired), Turned: keep(s, &s.turned), Failed: keep(s, &s.failed), Woken: keep(s, &s.woken),
		Queried: func(name string, _ time.Duration, _ error) { query(name) },
		Committed: func(writes int, _ time.Duration) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.writes += writes
		},
	}
}

// open opens the test's database once more, with this observer.
func (s *seen) open(f *fixture, others ...*jobs.Observer) Store {
	f.Helper()
	store := f.open(f.T, append([]*jobs.Observer{s.observer()}, others...)...)
	s.told = func() {
		f.Helper()
		f.must(store.Observer().Flush(f.ctx))
	}
	return store
}

func (s *seen) wakes() []jobs.WakeSource {
	s.told()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.woken)
}

func (s *seen) asked() []string {
	s.told()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queries)
}

// observed opens the test's database once more, with an observer.
func (f *fixture) observed() (*jobs.Client, *seen) {
	f.Helper()
	s := &seen{}
	return jobs.New(s.open(f)), s
}

func testObserveEnqueues(f *fixture) {
	client, seen := f.observed()
	_, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.Unique("u"), jobs.Queue("q"))
	f.must(err)
	_, err = client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.Unique("u"))
	f.must(err)
	_, err = client.EnqueueMany(f.ctx, "m", []json.RawMessage{json.RawMessage("1"), json.RawMessage("2")})
	f.must(err)
	tx, err := f.store.Begin(f.ctx)
	f.must(err)
	_, err = client.With(tx).Enqueue(f.ctx, "t", json.RawMessage("{}"))
	f.must(err)
	f.must(tx.Commit())
	if _, err = client.Enqueue(f.ctx, "k", json.RawMessage("nonsense")); err == nil {
		f.Error("nonsense was enqueued")
	}
	seen.told()
	if have, wanted := seen.enqueued, []jobs.Enqueued{
		{Kind: "k", Queue: "q", Jobs: 1}, {Kind: "k", Queue: jobs.DefaultQueue, Existed: true},
		{Kind: "m", Queue: jobs.DefaultQueue, Jobs: 2}, {Kind: "t", Queue: jobs.DefaultQueue, Jobs: 1, InTx: true},
	}; !slices.Equal(have, wanted) {
		f.Errorf("enqueued %+v, not %+v", have, wanted)
	}
}

func testObserveFates(f *fixture) {
	client, seen := f.observed()
	fates := map[int64]jobs.Fate{}
	causes := map[int64]jobs.Cause{}
	handles := map[string]func(context.Context, jobs.Job) error{
		"done":   nothing,
		"retry":  func(context.Context, jobs.Job) error { return errors.New("broken") },
		"failed": func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("broken")) },
		"cancel": func(context.Context, jobs.Job) error { return jobs.Cancel(nil) },
		"snooze": func(context.Context, jobs.Job) error { return jobs.Snooze(time.Hour) },
		"panic":  func(context.Context, jobs.Job) error { panic("broken") },
		"timeout": func(ctx context.Context, _ jobs.Job) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"requested": func(ctx context.Context, job jobs.Job) error {
			_, err := client.Cancel(ctx, job.ID)
			return errors.Join(err, errors.New("broken"))
		},
	}
	var list []handle
	for kind, fate := range map[string]jobs.Fate{
		"done": jobs.FateDone, "retry": jobs.FateRetry, "failed": jobs.FateFailed, "cancel": jobs.FateCancelled,
		"snooze": jobs.FateSnoozed, "panic": jobs.FateRetry, "timeout": jobs.FateRetry, "requested": jobs.FateCancelled,
	} {
		id := f.enqueue(kind, jobs.Timeout(map[bool]time.Duration{true: time.Millisecond, false: time.Hour}[kind == "timeout"]))
		fates[id] = fate
		causes[id] = map[string]jobs.Cause{
			"retry": jobs.CauseError, "failed": jobs.CauseError, "requested": jobs.CauseError,
			"panic": jobs.CausePanic, "timeout": jobs.CauseTimeout,
		}[kind]
		list = append(list, on(kind, handles[kind]))
	}
	f.must(f.runner(client, jobs.Config{}, list...).Drain(f.ctx))
	want(f, "attempts that started", len(seen.started), len(fates))
	want(f, "attempts that finished", len(seen.finished), len(fates))
	for _, event := range seen.finished {
		want(f, "fate of "+event.Kind, event.Fate, fates[event.ID])
		want(f, "cause of "+event.Kind, event.Cause, causes[event.ID])
		want(f, "that there is a message of "+event.Kind, event.Error != "", causes[event.ID] != "")
		want(f, "attempt of "+event.Kind, event.Attempt, 1)
		want(f, "queue of "+event.Kind, event.Queue, jobs.DefaultQueue)
		if event.Took <= 0 {
			f.Errorf("the attempt of %s took %s", event.Kind, event.Took)
		}
	}
	for _, event := range seen.started {
		if event.Waited <= 0 {
			f.Errorf("the attempt of %s waited for %s", event.Kind, event.Waited)
		}
	}
}

// The recorded fate of the job counts, not the later result of its handler.
func testObserveCompleteTx(f *fixture) {
	client, seen := f.observed()
	id := f.enqueue("k")
	f.must(f.runner(client, jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		tx, err := f.store.Begin(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(jobs.CompleteTx(ctx, tx, job, nil), tx.Commit()); err != nil {
			return err
		}
		return errors.New("too late")
	})).Drain(f.ctx))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
	want(f, "attempts that finished", len(seen.finished), 1)
	want(f, "fate", seen.finished[0].Fate, jobs.FateDone)
}

// testObserveLost: the lease is lost while the handler runs, which then ends in some way.
func testObserveLost(f *fixture, end func(ctx context.Context) error) {
	client, seen := f.observed()
	id := f.enqueue("k")
	r := f.startOn(client, jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		f.takeOver(job)
		return end(ctx)
	}))
	f.eventually("the end is told of", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return len(seen.finished) > 0
	})
	f.must(r.stop())
	want(f, "attempts that started", len(seen.started), 1)
	want(f, "attempts that finished", len(seen.finished), 1)
	event := seen.finished[0]
	want(f, "job", event.ID, id)
	want(f, "fate", event.Fate, jobs.FateLost)
	want(f, "cause", event.Cause, "")
}

func testObserveReleased(f *fixture) {
	client, seen := f.observed()
	f.enqueue("k")
	started := make(chan struct{})
	r := f.startOn(client, jobs.Config{Grace: -1}, on("k", func(ctx context.Context, _ jobs.Job) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}))
	receive(f, "the start", started)
	f.must(r.stop())
	want(f, "attempts that finished", len(seen.finished), 1)
	want(f, "fate", seen.finished[0].Fate, jobs.FateReleased)
}

func testObserveRescue(f *fixture) {
	client, seen := f.observed()
	f.many(3)
	dead := f.ghost("dead", time.Hour)
	want(f, "claimed", len(dead.claim(2, time.Hour)), 2)
	dead.die()
	f.must(f.runner(client, jobs.Config{}, on("k", nothing)).Drain(f.ctx))
	wanted := jobs.Rescued{Worker: "dead", Reason: jobs.CauseCrash, Attempts: 2, Pending: 2}
	if !slices.Equal(seen.rescued, []jobs.Rescued{wanted}) {
		f.Errorf("rescued %+v, not %+v", seen.rescued, wanted)
	}
}

func testObserveTurns(f *fixture) {
	client, seen := f.observed()
	f.many(30)
	f.enqueue("k", jobs.In(time.Millisecond))
	f.becomes(f.enqueue("k", jobs.In(time.Millisecond)), jobs.StatusScheduled)
	r := f.startOn(client, jobs.Config{}, on("k", nothing))
	f.eventually("all are done", func() bool {
		stats, err := inspect.New(f.client).Stats(f.ctx)
		f.must(err)
		return stats.Jobs[jobs.StatusDone] == 32
	})
	f.must(r.stop())
	var sum jobs.Turned
	for _, t := range seen.turned {
		sum.Recorded += t.Recorded
		sum.Claimed += t.Claimed
		sum.Promoted += t.Promoted
		sum.Took += t.Took
	}
	want(f, "recorded", sum.Recorded, 32)
	want(f, "claimed", sum.Claimed, 32)
	want(f, "promoted", sum.Promoted, 2)
	if sum.Took <= 0 {
		f.Errorf("the turns took %s", sum.Took)
	}
}

// Each write is counted once, whichever callers shared its transaction.
func testObserveCommits(f *fixture) {
	client, seen := f.observed()
	const callers = 40
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			if _, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}")); err != nil {
				f.Error(err)
			}
		})
	}
	group.Wait()
	seen.told()
	want(f, "writes", seen.writes, callers)
}

func testObserveStatements(f *fixture) {
	client, seen := f.observed()
	_, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}"))
	f.must(err)
	f.must(f.runner(client, jobs.Config{}, on("k", nothing)).Drain(f.ctx))
	tx, err := f.store.Begin(f.ctx)
	f.must(err)
	_, err = client.With(tx).EnqueueMany(f.ctx, "k", []json.RawMessage{json.RawMessage("{}")})
	f.must(err)
	f.must(tx.Rollback())
	seen.told()
	for _, name := range []string{"EnqueueKeylessJob", "ClaimJobs", "CompleteJobs", "GetNextRunAfter", "RegisterWorker", "EnqueueJobs"} {
		if !slices.Contains(seen.queries, name) {
			f.Errorf("%s was not told of", name)
		}
	}
	querier := reflect.TypeFor[db.Querier]()
	for _, name := range seen.queries {
		if _, ok := querier.MethodByName(name); !ok {
			f.Errorf("%s is no statement", name)
		}
	}
}

// A failure of the database is a fault; a refused request is none.
func testObserveFaults(f *fixture) {
	s := &seen{}
	store := s.open(f)
	client := jobs.New(store)
	if _, err := client.Get(f.ctx, 42); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("Get gives %v", err)
	}
	if err := client.Retry(f.ctx, 42); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("Retry gives %v", err)
	}
	ended, cancel := context.WithCancel(f.ctx)
	cancel()
	if _, err := client.Enqueue(ended, "k", json.RawMessage("{}")); err == nil {
		f.Error("a job was enqueued for a cancelled caller")
	}
	s.told()
	want(f, "faults before there is one", len(s.failed), 0)
	f.must(store.Close())
	if _, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}")); !errors.Is(err, jobs.ErrClosed) {
		f.Errorf("Enqueue gives %v", err)
	}
	s.told()
	if len(s.failed) != 1 || !errors.Is(s.failed[0], jobs.ErrClosed) {
		f.Errorf("faults: %v", s.failed)
	}
}

func testObserveWakes(f *fixture) {
	client, seen := f.observed()
	running, release := make(chan struct{}, 1), make(chan struct{})
	f.startOn(client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, on("k", nothing),
		on("held", func(ctx context.Context, _ jobs.Job) error {
			running <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil
		}))
	has := func(sources ...jobs.WakeSource) func() bool {
		return func() bool {
			return slices.ContainsFunc(seen.wakes(), func(s jobs.WakeSource) bool { return slices.Contains(sources, s) })
		}
	}
	until := func(what string, holds func() bool, enqueue func() (jobs.Receipt, error)) {
		f.eventually(what, func() bool {
			receipt, err := enqueue()
			f.must(err)
			f.ended(receipt.ID)
			return holds()
		})
	}
	// A job that finds a free slot is handed over, which wakes no runner. While the only slot is taken there is no
	// handover.
	held, err := client.Enqueue(f.ctx, "held", json.RawMessage("{}"))
	f.must(err)
	receive(f, "the held job runs", running)
	var last jobs.Receipt
	f.eventually("an enqueue of the same process wakes", func() bool { // the first may come while another wake waits
		last, err = client.Enqueue(f.ctx, "k", json.RawMessage("{}"))
		f.must(err)
		return has(jobs.WakeLocal)()
	})
	close(release)
	f.ended(held.ID)
	f.ended(last.ID)
	until("one of another process does", has(jobs.WakeEvent, jobs.WakeNotify, jobs.WakePoll, jobs.WakeSafety), func() (jobs.Receipt, error) {
		return f.client.Enqueue(f.ctx, "k", json.RawMessage("{}"))
	})
	until("a job that falls due does", has(jobs.WakeTimer), func() (jobs.Receipt, error) {
		return client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.In(20*time.Millisecond))
	})
	for _, source := range seen.wakes() {
		if !slices.Contains(jobs.WakeSources(), source) {
			f.Errorf("%q is no source", source)
		}
	}
}

func testObserveSeveral(f *fixture) {
	var a, b seen
	client := jobs.New(a.open(f, nil, &jobs.Observer{Enqueued: b.observer().Enqueued}))
	_, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}"))
	f.must(err)
	a.told()
	want(f, "enqueues that the first is told of", len(a.enqueued), 1)
	want(f, "enqueues that the last is told of", len(b.enqueued), 1)
	want(f, "statements that the first is told of", slices.Contains(a.queries, "EnqueueKeylessJob"), true)
	want(f, "statements that the last is told of", len(b.queries), 0)
	if jobs.Observers(nil, nil) != nil {
		f.Error("an observer was made of none")
	}
}
