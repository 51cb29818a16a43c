package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A handler that ignores its timeout and holds its job's row in an open transaction blocks the record of its attempt's
// end, and nothing else.
func TestAHeldRowDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	store, client, _ := newSite(t, SharedServer.Postgres(t)).queue(t)
	opened, release := make(chan struct{}), make(chan struct{})
	hold := func(ctx context.Context, job jobs.Job) error {
		if job.Attempt > 1 {
			return nil
		}
		tx, err := store.conns.pool.Begin(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		if err := jobs.CompleteTx(context.WithoutCancel(ctx), Tx(tx), job, nil); err != nil {
			return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
		}
		close(opened)
		<-release
		return tx.Rollback(context.WithoutCancel(ctx))
	}
	told := tells{slog.DiscardHandler, "set aside", make(chan struct{}, 1)}
	work(t, client, jobs.Config{Logger: slog.New(told), StuckAfter: time.Millisecond, Queues: map[string]int{jobs.DefaultQueue: 3}},
		handlers{"holds": hold, "k": nothing})
	held := enqueue(t, client, "holds", jobs.Timeout(time.Millisecond))
	receive(t, "the open transaction", opened)
	receive(t, "the end of the attempt, which cannot be written", told.ch)
	// Each of these jobs needs a separate claim and end.
	for range 5 {
		wantDone(t, client, enqueue(t, client, "k"), 1)
	}
	close(release)
	eventually(t, "the held job is tried again", func() bool { return get(t, client, held).Attempt == 2 })
	wantDone(t, client, held, 2)
}

// Another transaction holds the rows of some of the attempts that end together. Each of these costs the others one wait; `why` reports
// them, and a worker that stops waits for them.
func TestHeldRowsAmongMany(t *testing.T) {
	t.Parallel()
	site := newSite(t, SharedServer.Postgres(t))
	for name, stopping := range map[string]bool{"at work": false, "while stopping": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heldRowsAmongMany(t, site, stopping)
		})
	}
}

func heldRowsAmongMany(t *testing.T, site *site, stopping bool) {
	store, client, url := site.queue(t)
	const n, heldEvery = 60, 2
	var started sync.WaitGroup
	started.Add(n)
	release := make(chan struct{})
	counts := &waiting{Store: store}
	stop := work(t, jobs.New(engine.SealStore(counts)), jobs.Config{Queues: map[string]int{jobs.DefaultQueue: n, "other": 1}},
		handlers{"k": func(context.Context, jobs.Job) error {
			started.Done()
			<-release
			return nil
		}, "after": nothing})
	var held, free []int64
	for i := range n {
		if id := enqueue(t, client, "k"); i%heldEvery == 0 {
			held = append(held, id)
		} else {
			free = append(free, id)
		}
	}
	started.Wait()
	tx, err := dial(t, url).Begin(t.Context())
	must(t, err)
	for _, id := range held {
		_, err = tx.Exec(t.Context(), sqlFile(t, "lock_job"), id)
		must(t, err)
	}
	stopped := make(chan error, 1)
	if stopping {
		go func() { stopped <- stop() }()
	}
	close(release)
	for _, id := range free {
		wantDone(t, client, id, 1)
	}
	if !stopping {
		wantHeldRowsTold(t, client, held)
		for range 3 { // others continue while those are tried again
			wantDone(t, client, enqueue(t, client, "after", jobs.Queue("other")), 1)
		}
		if waits := int(counts.waits.Load()); waits < 1 || waits > len(held) {
			t.Errorf("%d cycles waited for %d rows", waits, len(held))
		}
		go func() { stopped <- stop() }()
	}
	must(t, tx.Rollback(t.Context()))
	must(t, receive(t, "the worker's end", stopped))
	for _, id := range held {
		wantDone(t, client, id, 1)
	}
}

// wantHeldRowsTold waits until why reports each held row, and that it was tried again.
func wantHeldRowsTold(t *testing.T, client *jobs.Client, held []int64) {
	t.Helper()
	in := inspect.New(client)
	eventually(t, "why tells of each, which was tried again", func() bool {
		for _, id := range held {
			why, err := in.Why(t.Context(), id)
			must(t, err)
			if !slices.ContainsFunc(why.Findings, func(f inspect.Finding) bool {
				return f.Reason == inspect.ReasonRefused && strings.Contains(f.Text, "another transaction has locked the job") && !strings.Contains(f.Text, "once")
			}) {
				return false
			}
		}
		return true
	})
}

// waiting counts the exchanges that waited in vain for a lock.
type waiting struct {
	engine.Store
	waits atomic.Int64
}

func (w *waiting) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	out, err := w.Store.Exchange(ctx, p)
	if errors.Is(err, jobs.ErrBusy) && !engine.IsBrief(ctx) {
		w.waits.Add(1)
	}
	return out, err
}

// Another transaction holds some of many jobs to delete: the others are deleted, and the error names the held ones.
func TestHeldRowsOfDeleteMany(t *testing.T) {
	t.Parallel()
	_, client, url := newSite(t, SharedServer.Postgres(t)).queue(t)
	var ids, held []int64
	tx, err := dial(t, url).Begin(t.Context())
	must(t, err)
	for i := range 20 {
		ids = append(ids, enqueue(t, client, "k"))
		if i%7 == 0 {
			held = append(held, ids[i])
			_, err = tx.Exec(t.Context(), sqlFile(t, "lock_job"), ids[i])
			must(t, err)
		}
	}
	n, err := inspect.New(client).DeleteMany(t.Context(), ids)
	var refused *jobs.RefusedError
	if !errors.As(err, &refused) || !errors.Is(err, jobs.ErrBusy) {
		t.Fatalf("deleted %d, %v", n, err)
	}
	want(t, "jobs that were deleted", n, len(ids)-len(held))
	want(t, "jobs that were not", fmt.Sprint(refused.Jobs), fmt.Sprint(held))
	must(t, tx.Rollback(t.Context()))
	n, err = inspect.New(client).DeleteMany(t.Context(), ids)
	must(t, err)
	want(t, "jobs that were deleted afterwards", n, len(held))
}

// Another transaction holds some of the failed jobs to retry: the others are retried, and the error names the held ones.
func TestHeldRowsOfRetryFailed(t *testing.T) {
	t.Parallel()
	_, client, url := newSite(t, SharedServer.Postgres(t)).queue(t)
	var held []int64
	const n = 20
	var ids []int64
	for range n {
		ids = append(ids, enqueue(t, client, "k", jobs.MaxAttempts(1)))
	}
	drain(t, client, jobs.Config{}, handlers{"k": func(context.Context, jobs.Job) error { return errors.New("no") }})
	tx, err := dial(t, url).Begin(t.Context())
	must(t, err)
	for i, id := range ids {
		if i%7 == 0 {
			held = append(held, id)
			_, err = tx.Exec(t.Context(), sqlFile(t, "lock_job"), id)
			must(t, err)
		}
	}
	retried, err := inspect.New(client).RetryFailed(t.Context(), inspect.FailedFilter{})
	var refused *jobs.RefusedError
	if !errors.As(err, &refused) || !errors.Is(err, jobs.ErrBusy) {
		t.Fatalf("retried %d, %v", retried, err)
	}
	want(t, "jobs that were retried", retried, int64(n-len(held)))
	want(t, "jobs that were not", fmt.Sprint(slices.Sorted(slices.Values(refused.Jobs))), fmt.Sprint(held))
	must(t, tx.Rollback(t.Context()))
	retried, err = inspect.New(client).RetryFailed(t.Context(), inspect.FailedFilter{})
	must(t, err)
	want(t, "jobs that were retried afterwards", retried, int64(len(held)))
}

// tells is a log handler that signals messages with a text.
type tells struct {
	slog.Handler
	text string
	ch   chan struct{}
}

func (h tells) Enabled(context.Context, slog.Level) bool { return true }

func (h tells) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.text) {
		select {
		case h.ch <- struct{}{}:
		default: // already signalled
		}
	}
	return nil
}

// A worker with less time to stop than the wait for a lock records the ends beside a held row.
func TestHeldRowAtAShortStop(t *testing.T) {
	t.Parallel()
	_, client, url := newSite(t, SharedServer.Postgres(t)).queue(t)
	const n = 10
	var started sync.WaitGroup
	started.Add(n)
	runner := newRunner(t, client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: n}, Grace: 100 * time.Millisecond, StopTimeout: 3 * time.Second},
		handlers{"k": func(ctx context.Context, _ jobs.Job) error {
			started.Done()
			<-ctx.Done()
			return nil
		}})
	var ids []int64
	for range n {
		ids = append(ids, enqueue(t, client, "k"))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	end := make(chan error, 1)
	go func() { end <- runner.Run(ctx) }()
	started.Wait()
	tx, err := dial(t, url).Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), sqlFile(t, "lock_job"), ids[0])
	must(t, err)
	stop()
	if err := receive(t, "the end of the run", end); err == nil || !strings.Contains(err.Error(), "1 ends of attempts could not be recorded") {
		t.Errorf("Run gives %v", err)
	}
	for _, id := range ids[1:] {
		wantDone(t, client, id, 1)
	}
	must(t, tx.Rollback(t.Context()))
	drain(t, client, jobs.Config{}, handlers{"k": nothing})
	job := ended(t, client, ids[0])
	want(t, "crashes of the job whose row was held", job.Crashes, 0)
}
