package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var movedTests = []test{
	{"NothingIsAddedOrChanged", testMoved},
	{"InTheCallersTransaction", testMovedInTransaction},
}

// closeQueue closes the queue as a move does.
func (f *fixture) closeQueue() {
	f.Helper()
	f.write(func(ctx context.Context, q db.Querier) error {
		n, err := q.CloseQueue(ctx, db.CloseQueueParams{
			Direction: "out", Token: "t", Peer: "elsewhere", Now: f.store.Now().UnixMicro(),
		})
		want(f, "rows that close the queue", n, 1)
		return err
	})
}

func (f *fixture) wantMoved(what string, err error) {
	f.Helper()
	if !errors.Is(err, jobs.ErrMoved) {
		f.Errorf("%s on a queue that was moved gives %v", what, err)
	}
}

func testMoved(f *fixture) {
	id := f.enqueue("k", jobs.Unique("u"))
	cancelled := f.enqueue("k")
	_, err := f.client.Cancel(f.ctx, cancelled)
	f.must(err)
	before := f.get(id)
	f.closeQueue()

	_, err = f.client.Enqueue(f.ctx, "k", json.RawMessage("{}"))
	f.wantMoved("an enqueue", err)
	_, err = f.client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.Unique("free"), jobs.RequestID("free"))
	f.wantMoved("an enqueue with keys", err)
	for name, option := range map[string]jobs.EnqueueOption{
		"UniqueReplace": jobs.UniqueReplace("u"), "UniqueAgain": jobs.UniqueAgain("u"), "UniqueReplaceRunning": jobs.UniqueReplaceRunning("u"), "Debounce": jobs.Debounce("u", time.Hour), "UniqueFor": jobs.UniqueFor("p", time.Hour),
	} {
		_, err = f.client.Enqueue(f.ctx, "k", json.RawMessage("2"), option)
		f.wantMoved(name, err)
	}
	want(f, "payload of a job that was not replaced", string(f.get(id).Payload), "{}")
	_, err = f.client.EnqueueMany(f.ctx, "k", []json.RawMessage{json.RawMessage("1"), json.RawMessage("2")})
	f.wantMoved("an enqueue of many", err)
	_, err = f.client.Cancel(f.ctx, id)
	f.wantMoved("a cancel", err)
	f.wantMoved("a retry", f.client.Retry(f.ctx, cancelled))
	f.wantMoved("a delete", f.client.Delete(f.ctx, cancelled))
	pruned, err := inspect.New(f.client).Prune(f.ctx, jobs.StatusCancelled, 0)
	f.wantMoved("a prune", err)
	want(f, "jobs that it says it pruned", pruned, 0)
	_, err = f.client.PauseQueue(f.ctx, "q")
	f.wantMoved("a pause", err)
	f.wantMoved("a runner", f.runner(f.client, jobs.Config{}, on("k", nothing)).Run(f.ctx))

	list, err := inspect.New(f.client).List(f.ctx, inspect.Filter{})
	f.must(err)
	want(f, "number of jobs", len(list), 2)
	want(f, "status", f.get(id).Status, before.Status)

	f.write(func(ctx context.Context, q db.Querier) error {
		_, err := q.OpenQueue(ctx, "t")
		return err
	})
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status after it was opened again", f.get(id).Status, jobs.StatusDone)
}

func testMovedInTransaction(f *fixture) {
	f.closeQueue()
	err := f.inTx(func(tx Tx) error {
		_, err := f.client.With(tx).Enqueue(f.ctx, "k", json.RawMessage("{}"))
		return err
	})
	f.wantMoved("an enqueue in a transaction", err)
}
