package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// The newest enqueue wins: the running job is asked to end, and the newest payload runs after it.
func testUniqueSupersede(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	first := f.put(1, jobs.UniqueReplaceRunning("u"))
	f.start(jobs.Config{}, on("k", a.held(begun, goOn)))
	receive(f, "the start", begun)
	next := f.put(2, jobs.UniqueReplaceRunning("u"))
	if next.Existed || next.ID == first.ID {
		f.Errorf("the receipt is %+v", next)
	}
	want(f, "the second that runs", receive(f, "the second start", begun), next.ID)
	want(f, "the first", f.ended(first.ID).Status, jobs.StatusCancelled)
	third := f.put(3, jobs.UniqueReplaceRunning("u"))
	want(f, "receipt", f.put(4, jobs.UniqueReplaceRunning("u")), jobs.Receipt{ID: third.ID, Existed: true, Replaced: true})
	want(f, "the third that runs", receive(f, "the third start", begun), third.ID)
	want(f, "the second", f.ended(next.ID).Status, jobs.StatusCancelled)
	goOn <- nil
	want(f, "the third", f.ended(third.ID).Status, jobs.StatusDone)
	want(f, "payloads that ran", a.text(), "[1 2 4]")
}

// A job that waits is replaced, and keeps its time. Nothing is cancelled.
func testUniqueSupersedeWaiting(f *fixture) {
	for _, opts := range [][]jobs.EnqueueOption{nil, {jobs.In(time.Hour)}} {
		first := f.put(1, append(opts, jobs.UniqueReplaceRunning("u"))...)
		before := f.get(first.ID)
		want(f, "receipt", f.put(2, jobs.UniqueReplaceRunning("u")), jobs.Receipt{ID: first.ID, Existed: true, Replaced: true})
		after := f.get(first.ID)
		want(f, "payload", string(after.Payload), "2")
		want(f, "status", after.Status, before.Status)
		want(f, "it keeps its time", after.RunAfter.Equal(before.RunAfter), true)
		f.must(f.client.Delete(f.ctx, first.ID))
	}
}

// A job whose handler ends well after it was asked to end is done.
func testUniqueSupersedeDone(f *fixture) {
	begun := make(chan int64, 2)
	f.start(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		begun <- job.ID
		if string(job.Payload) == "1" {
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, jobs.ErrCancelRequested) {
				f.Errorf("the cause of the end is %v", cause)
			}
		}
		return nil
	}))
	first := f.put(1, jobs.UniqueReplaceRunning("u"))
	receive(f, "the start", begun)
	next := f.put(2, jobs.UniqueReplaceRunning("u"))
	want(f, "the first", f.ended(first.ID).Status, jobs.StatusDone)
	want(f, "the second", f.ended(next.ID).Status, jobs.StatusDone)
}

// A successor is replaced, the job before it is asked to end, and the audit log has both, also for items.
func testUniqueSupersedeSuccessor(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	f.start(jobs.Config{}, on("k", a.held(begun, goOn)))
	enqueue := map[string]func(key string) jobs.Receipt{
		"one": func(key string) jobs.Receipt {
			receipt, err := f.client.Enqueue(f.as("one"), "k", json.RawMessage("3"), jobs.UniqueReplaceRunning(key))
			f.must(err)
			return receipt
		},
		"items": func(key string) jobs.Receipt {
			receipts, err := f.client.EnqueueItems(f.as("items"), []jobs.Item{jobs.NewItem("k", json.RawMessage("3"), jobs.UniqueReplaceRunning(key))})
			f.must(err)
			return receipts[0]
		},
	}
	for _, actor := range []string{"one", "items"} {
		first := f.put(1, jobs.Unique(actor))
		receive(f, "the start", begun)
		next := f.put(2, jobs.UniqueAgain(actor))
		want(f, "receipt", enqueue[actor](actor), jobs.Receipt{ID: next.ID, Existed: true, Replaced: true})
		want(f, "what runs then", receive(f, "the second start", begun), next.ID)
		want(f, "the first", f.ended(first.ID).Status, jobs.StatusCancelled)
		goOn <- nil
		want(f, "the second", f.ended(next.ID).Status, jobs.StatusDone)
		log := map[inspect.Action]int64{}
		for _, entry := range f.audit(inspect.AuditFilter{Actor: actor}) {
			log[entry.Action] = entry.JobID
			if len(entry.JobIDs) == 1 {
				log[entry.Action] = entry.JobIDs[0]
			}
		}
		want(f, "the job that the audit log has as cancelled", log[inspect.ActionCancel], first.ID)
		want(f, "and as updated", log[inspect.ActionUpdate], next.ID)
	}
	want(f, "payloads that ran", a.text(), "[1 3 1 3]")
}

// A job that was asked to end and whose worker dies does not run again. The newest one does.
func testUniqueSupersedeCrash(f *fixture) {
	g := f.ghost("g", time.Hour)
	first := f.put(1, jobs.UniqueReplaceRunning("u"))
	want(f, "claimed", len(g.claim(1, time.Hour)), 1)
	next := f.put(2, jobs.UniqueReplaceRunning("u"))
	g.die()
	f.start(jobs.Config{}, on("k", nothing))
	want(f, "the first", f.ended(first.ID).Status, jobs.StatusCancelled)
	want(f, "the second", f.ended(next.ID).Status, jobs.StatusDone)
}

// Several processes enqueue with one key while runners work: no two runs overlap, every job ends, and nothing is left over.
func testUniqueSupersedeHammered(f *fixture) {
	const callers, each = 6, 8
	clients := []*jobs.Client{f.client, f.elsewhere(), f.elsewhere()}
	a := &attempts{f: f}
	for _, client := range clients {
		f.startOn(client, jobs.Config{Queues: map[string]int{"default": 3}}, on("k", func(_ context.Context, job jobs.Job) error {
			a.begin(job)
			defer a.end()
			return nil
		}))
	}
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			for n := range each {
				receipt, err := clients[i%len(clients)].Enqueue(f.ctx, "k", fmt.Append(nil, i*each+n), jobs.UniqueReplaceRunning("u"))
				if err != nil {
					f.Error(err)
					return
				}
				if _, err := clients[i%len(clients)].Wait(f.ctx, receipt.ID); err != nil {
					f.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if job, err := f.client.GetByUniqueKey(f.ctx, "k", "u"); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("job %d is left over: %v", job.ID, err)
	}
}
