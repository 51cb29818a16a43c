package conformance

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// hang is the limit of a wait: no test depends on how long anything takes.
const hang = 2 * time.Minute

// fixture is one test with its database.
type fixture struct {
	*testing.T
	ctx    context.Context
	open   Open
	store  Store
	client *jobs.Client
	plain  bool // statements ran that the library does not run alone: they are in no count
}

func newFixture(t *testing.T, open Open) *fixture {
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	store := open(t)
	f := &fixture{T: t, ctx: ctx, open: open, store: store, client: jobs.New(store)}
	t.Cleanup(f.checkCounts)
	return f
}

// checkCounts checks after every test whether the counts of jobs and the lanes of limits equal a recount.
func (f *fixture) checkCounts() {
	ctx := context.Background()
	if f.plain || f.client.CheckSchema(ctx) != nil {
		return
	}
	wrong, err := inspect.New(f.client).Recount(ctx)
	if err != nil || wrong != 0 {
		f.Errorf("%d counts of jobs are wrong, %v", wrong, err)
	}
	lanes, err := inspect.New(f.client).RecountLanes(ctx)
	if err != nil || lanes.Added != 0 || lanes.Opened != 0 {
		f.Errorf("lanes of limits are wrong: %+v, %v", lanes, err)
	}
}

// elsewhere returns a client like that of another process: with a separate store on the same database.
func (f *fixture) elsewhere() *jobs.Client {
	f.Helper()
	return jobs.New(f.open(f.T))
}

// must stops the test at an error that it does not expect.
func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// enqueue adds a job with the payload {}.
func (f *fixture) enqueue(kind string, opts ...jobs.EnqueueOption) int64 {
	f.Helper()
	receipt, err := f.client.Enqueue(f.ctx, kind, json.RawMessage("{}"), opts...)
	f.must(err)
	if receipt.Existed {
		f.Fatalf("job %d was there before", receipt.ID)
	}
	return receipt.ID
}

func (f *fixture) get(id int64) jobs.Job {
	f.Helper()
	job, err := f.client.Get(f.ctx, id)
	f.must(err)
	return job
}

// ended waits until a job has ended.
func (f *fixture) ended(id int64) jobs.Job {
	f.Helper()
	job, err := f.client.Wait(f.ctx, id)
	f.must(err)
	return job
}

func (f *fixture) errors(id int64) []inspect.AttemptEnd {
	f.Helper()
	list, err := inspect.New(f.client).Errors(f.ctx, id)
	f.must(err)
	return list
}

// eventually waits until a condition on the database holds, for which no signal exists.
func (f *fixture) eventually(what string, holds func() bool) {
	f.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-f.ctx.Done():
			f.Fatalf("given up waiting until %s", what)
		case <-tick.C:
		}
	}
}

// becomes waits until a job has a status.
func (f *fixture) becomes(id int64, status jobs.Status) jobs.Job {
	f.Helper()
	var job jobs.Job
	f.eventually("the job is "+string(status), func() bool {
		job = f.get(id)
		return job.Status == status
	})
	return job
}

// want compares and continues, so that one run shows all differences.
func want[T comparable](f *fixture, what string, have, want T) {
	f.Helper()
	if have != want {
		f.Errorf("%s is %v, not %v", what, have, want)
	}
}

// receive waits for a value of a channel.
func receive[T any](f *fixture, what string, ch <-chan T) T {
	f.Helper()
	select {
	case v := <-ch:
		return v
	case <-f.ctx.Done():
		f.Fatalf("given up waiting for %s", what)
		panic("not reached")
	}
}

// write runs statements as another program might.
func (f *fixture) write(fn func(ctx context.Context, q db.Querier) error) {
	f.Helper()
	f.plain = true
	f.must(f.store.Write(f.ctx, fn))
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
