package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"pgregory.net/rapid"
)

// drain lets a real runner work until no job is left, with handlers that end as drawn.
func (m *machine) drain(t *rapid.T) {
	m.drainAs(t, m.drawDrain(t))
}

// crash kills all processes at once, like a machine that stops, and starts a runner without jobs: its boot releases the
// workers' jobs.
func (m *machine) crash(t *rapid.T) {
	for _, w := range m.model.workers {
		w.locked = false
	}
	t.Logf("crash and restart")
	m.pruner = nil // another process remembers nothing
	each(m, "crash", struct{}{}, nil, func(e *engine) (struct{}, error) { return struct{}{}, e.restart(m.ctx) })
	d := m.drawDrain(t)
	d.kinds = []string{"unhandled"}
	m.drainAs(t, d)
}

func (m *machine) drainAs(t *rapid.T, d drain) {
	ready := m.model.clone()
	ready.boot(d.maxCrashes, d.failAll)
	ready.settleOverdue()
	for name := range d.queues { // the drain would wait for a job of a test worker, and for a clock that stands still
		d.kinds = slices.DeleteFunc(d.kinds, func(kind string) bool { return ready.busy(name, kind) })
	}
	// A runner promotes at most 100 jobs at once; beyond that the order is undefined.
	if len(d.kinds) == 0 || len(m.model.having(m.model.isDue)) > 100 {
		return
	}
	m.forget(7 * 24 * time.Hour) // the runner's pruner does this and the next at its own time
	m.prunePeriods(t)
	m.pruneBeforeDrain(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := m.model.drain(d, inspect.WorkerInfo{
		Name: d.name, Host: host, PID: os.Getpid(), Queues: d.queues, Kinds: d.kinds,
	})
	t.Logf("drain %+v: %d attempts", d, len(want))
	inOrder := len(d.queues) == 1
	for _, slots := range d.queues {
		inOrder = inOrder && slots == 1
	}
	if !inOrder {
		sortStarts(want)
	}
	each(m, "drain", want, nil, func(e *engine) ([]jobs.Job, error) {
		starts, err := e.drain(m.ctx, d, m.model.lastWorker)
		if !inOrder {
			sortStarts(starts)
		}
		return starts, err
	})
}

func sortStarts(list []jobs.Job) {
	slices.SortFunc(list, func(a, b jobs.Job) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Attempt, b.Attempt)) })
}

func (m *machine) drawDrain(t *rapid.T) drain {
	names := slices.DeleteFunc(append([]string{"runner"}, workers...), func(name string) bool {
		return slices.ContainsFunc(m.model.live(), func(w *worker) bool { return w.locked && w.Name == name })
	})
	d := drain{
		name: pick(t, "name", names), queues: map[string]int{},
		kinds: some(t, "kinds", kinds, 1, len(kinds)), lease: 24 * time.Hour, // whose renewal is never due
		failAll: seldom(t, "fail all", 5), maxCrashes: rapid.IntRange(1, 3).Draw(t, "max crashes"),
	}
	slices.Sort(d.kinds)
	if rapid.Bool().Draw(t, "keep nothing of some kinds") {
		d.brief = some(t, "kinds of which nothing is kept", kinds, 1, len(kinds))
	}
	if rapid.Bool().Draw(t, "kinds have settings") {
		d.settings = map[string]settings{}
		for _, kind := range some(t, "kinds that have settings", kinds, 1, len(kinds)) {
			d.settings[kind] = settings{pick(t, "attempts of the kind", attempts), pick(t, "timeout of the kind", kindTimeouts)}
		}
	}
	for _, name := range some(t, "queues", queues, 1, 2) {
		d.queues[name] = rapid.IntRange(1, 3).Draw(t, "slots")
	}
	for range rapid.IntRange(1, 5).Draw(t, "endings") {
		e := ending{
			what: pick(t, "ending", []ended{
				endsWell, endsInError, endsWithResult, endsInRetry, endsInSnooze, endsInDiscard, endsInCancel,
				endsInTx, endsRolledBack, endsAfterReport, endsInPanic,
			}),
			message: pick(t, "message", messages), delay: pick(t, "delay", []time.Duration{0, time.Second, time.Hour}),
			value: value(t, "value"),
		}
		d.endings = append(d.endings, e)
	}
	return d
}

// drain runs a real runner and returns the jobs as its handlers got them, with the model's ids.
func (e *engine) drain(ctx context.Context, d drain, worker int64) ([]jobs.Job, error) {
	var starts []jobs.Job
	err := e.elsewhere(ctx, func(store port.Store) (err error) {
		starts, err = e.drainWith(ctx, e.newClient(store), d)
		return err
	})
	err = errors.Join(err, e.learnRunner(ctx, worker, starts))
	for i := range starts {
		starts[i] = e.job(starts[i])
	}
	return starts, err
}

// learnRunner learns the id of the worker of a runner, which is the newest one, and must be that of the jobs that it started.
func (e *engine) learnRunner(ctx context.Context, worker int64, starts []jobs.Job) error {
	var mark db.GetChangeMarkRow
	err := e.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		mark, err = q.GetChangeMark(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if len(starts) > 0 && starts[0].WorkerID != mark.LastWorker {
		return fmt.Errorf("the runner's worker was %d, and the newest one is %d", starts[0].WorkerID, mark.LastWorker)
	}
	if !e.workers.learn(worker, mark.LastWorker) {
		return errors.New("the id of the runner's worker is not above all before it")
	}
	return nil
}

func (e *engine) drainWith(ctx context.Context, client *jobs.Client, d drain) ([]jobs.Job, error) {
	failAll := jobs.OnBootPending
	if d.failAll {
		failAll = jobs.OnBootFailed
	}
	runner, err := jobs.NewRunner(client, jobs.Config{
		Name: d.name, Queues: d.queues, Ahead: -1, Lease: d.lease, OnBoot: failAll, MaxCrashes: d.maxCrashes,
		Retention: jobs.Retention{Done: jobs.Forever, Cancelled: jobs.Forever, Failed: jobs.Forever},
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var starts []jobs.Job
	runs := map[int64]int{}
	for _, name := range d.kinds {
		kind := jobs.Kind[json.RawMessage]{
			Name: name, MaxAttempts: d.settings[name].attempts, Timeout: d.settings[name].timeout,
			RetryDelay: func(job jobs.Job, _ error) time.Duration { return retryDelay(job.Counted()) },
		}
		if slices.Contains(d.brief, name) {
			kind.Keep = jobs.Nothing
		}
		kind.Handle(runner,
			func(ctx context.Context, job jobs.Job, _ json.RawMessage) error {
				id := e.jobs.from(job.ID)
				mu.Lock()
				starts = append(starts, job)
				runs[id]++
				end := d.of(job, id, runs[id])
				mu.Unlock()
				return e.handle(ctx, job, end)
			})
	}
	ctx, cancel := context.WithTimeout(ctx, hang/4) // a drain that does not end is a fault that shows here first
	defer cancel()
	if err := runner.Drain(ctx); err != nil {
		return nil, err
	}
	return starts, ctx.Err() // at whose end a runner stops without an error
}

// handle ends an attempt as was drawn.
func (e *engine) handle(ctx context.Context, job jobs.Job, end ending) error {
	bad := errors.New(end.message)
	switch end.what {
	case endsWithResult:
		return job.SetResult(end.value)
	case endsAfterReport:
		return job.SetProgress(ctx, end.value)
	case endsInTx:
		return e.completeInTx(ctx, job, end.value, true)
	case endsRolledBack:
		return errors.Join(e.completeInTx(ctx, job, end.value, false), bad)
	case endsInError:
		return bad
	case endsInRetry:
		return jobs.RetryIn(end.delay, bad)
	case endsInSnooze:
		return jobs.Snooze(end.delay)
	case endsInDiscard:
		return jobs.Discard(bad)
	case endsInCancel:
		return jobs.Cancel(bad)
	case endsInPanic:
		panic(end.message)
	default:
		return nil
	}
}

func (e *engine) completeInTx(ctx context.Context, job jobs.Job, result any, commit bool) error {
	tx, err := e.begins[job.ID%int64(len(e.begins))](ctx)
	if err != nil {
		return err
	}
	if err := jobs.CompleteTx(ctx, tx, job, result); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if commit {
		return tx.Commit()
	}
	return tx.Rollback()
}
