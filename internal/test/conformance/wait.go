package conformance

import (
	"context"
	"errors"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

var waitTests = []test{
	{"UntilTheEnd", testWait},
	{"OfAnotherProcess", testWaitElsewhere},
	{"UnknownJob", testWaitUnknown},
	{"DeletedJob", testWaitDeleted},
	{"ContextEnds", testWaitContext},
	{"Watch", testWatch},
	{"InATransaction", testWaitInATransaction},
}

// In a transaction Wait would hold its locks until the context ends, for a job that no worker sees.
func testWaitInATransaction(f *fixture) {
	f.must(f.client.Tx(f.ctx, func(ctx context.Context, tx *jobs.Client) error {
		receipt, err := tx.Enqueue(ctx, "k", []byte("{}"))
		f.must(err)
		if _, err := tx.Wait(ctx, receipt.ID); !errors.As(err, new(*jobs.InvalidError)) {
			f.Errorf("the error is %v", err)
		}
		return nil
	}))
}

func testWait(f *fixture) {
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error { return job.SetResult(job.ID) }),
		on("bad", func(context.Context, jobs.Job) error { return jobs.Discard(nil) }))
	want(f, "status", f.ended(f.enqueue("k")).Status, jobs.StatusDone)
	want(f, "status", f.ended(f.enqueue("bad")).Status, jobs.StatusFailed)
	done := f.enqueue("k")
	f.ended(done)
	want(f, "status of a job that ended before", f.ended(done).Status, jobs.StatusDone)
}

func testWaitElsewhere(f *fixture) {
	there := f.elsewhere()
	f.start(jobs.Config{}, on("k", nothing))
	for range 20 {
		job, err := there.Wait(f.ctx, f.enqueue("k"))
		f.must(err)
		want(f, "status", job.Status, jobs.StatusDone)
	}
}

func testWaitUnknown(f *fixture) {
	if _, err := f.client.Wait(f.ctx, 12345); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("the error is %v", err)
	}
}

func testWaitDeleted(f *fixture) {
	id := f.enqueue("k")
	looked := make(chan struct{}, 1)
	there := jobs.New(engine.SealStore(counting{engine.StoreOf(f.elsewhere().Store()), looked}))
	failed := make(chan error, 1)
	go func() {
		_, err := there.Wait(f.ctx, id)
		failed <- err
	}()
	receive(f, "the waiter's first look", looked)
	f.must(f.client.Delete(f.ctx, id))
	if err := receive(f, "the waiter's end", failed); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("the error is %v", err)
	}
}

func testWaitContext(f *fixture) {
	id := f.enqueue("k")
	looked := make(chan struct{}, 1)
	there := jobs.New(engine.SealStore(counting{f.store, looked}))
	ctx, cancel := context.WithCancelCause(f.ctx)
	reason := errors.New("enough")
	go func() {
		<-looked
		cancel(reason)
	}()
	job, err := there.Wait(ctx, id)
	if !errors.Is(err, reason) {
		f.Errorf("the error is %v", err)
	}
	want(f, "status as last seen", job.Status, jobs.StatusPending)
}

// testWatch: changes of every process wake a watcher.
func testWatch(f *fixture) {
	there := f.elsewhere()
	changed, stop := there.Watch()
	defer stop()
	for _, client := range []*jobs.Client{f.client, there} {
		id, err := client.Enqueue(f.ctx, "k", []byte("1"))
		f.must(err)
		receive(f, "word of an enqueue", changed)
		_, err = client.Cancel(f.ctx, id.ID)
		f.must(err)
		receive(f, "word of an end", changed)
		f.must(client.Delete(f.ctx, id.ID))
		receive(f, "word of a removal", changed)
	}
}
