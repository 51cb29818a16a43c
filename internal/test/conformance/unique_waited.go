package conformance

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// An enqueue that waited for others with its key knows an earlier time than they do. The job is still due the quiet time after the newest
// of them, also when it is a successor, and no later than its bound. A time to start by that counts from the due time moves with it.
func testDebounceWaited(f *fixture) {
	behind := clocked{engine.StoreOf(f.elsewhere().Store()), new(atomic.Int64)}
	client := jobs.New(engine.SealStore(behind))
	again := func(by time.Duration, opts ...jobs.EnqueueOption) jobs.Job {
		behind.ahead.Store(int64(-by))
		receipt, err := client.Enqueue(f.ctx, "k", json.RawMessage("9"), opts...)
		f.must(err)
		want(f, "replaced", receipt.Replaced, true)
		return f.get(receipt.ID)
	}
	first := f.get(f.put(1, jobs.Debounce("u", time.Hour)).ID)
	for range 2 { // the second one must not take the time of the first for the newest
		job := again(10*time.Second, jobs.Debounce("u", time.Hour), jobs.StartWithin(time.Second))
		if string(job.Payload) != "9" || job.RunAfter.Before(first.RunAfter) {
			f.Errorf("the job, due at %v, became %+v", first.RunAfter, job)
		}
		want(f, "time to start", job.StartBy.Sub(job.RunAfter), time.Second)
	}
	job := again(10*time.Second, jobs.Debounce("u", time.Minute)) // the quiet time of the newest counts
	if job.RunAfter.Before(first.CreatedAt.Add(time.Minute)) || job.RunAfter.After(first.CreatedAt.Add(2*time.Minute)) {
		f.Errorf("with a shorter quiet time the job, added at %v, became %+v", first.CreatedAt, job)
	}
	at := again(5*time.Second, jobs.Debounce("u", time.Hour, jobs.AtMost(time.Hour))).RunAfter
	want(f, "due at the bound", at, first.CreatedAt.Add(time.Hour))
	if job := again(2*time.Hour, jobs.Debounce("u", time.Hour)); !job.RunAfter.Before(first.CreatedAt.Add(-30 * time.Minute)) {
		f.Errorf("by a clock that was set back the job is due at %v", job.RunAfter)
	}
	f.must(f.client.Delete(f.ctx, first.ID))

	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	behind.ahead.Store(0)
	f.put(1, jobs.UniqueAgain("s"))
	f.startOn(client, jobs.Config{}, on("k", a.held(begun, goOn)))
	runs := receive(f, "the start", begun)
	next := f.get(f.put(2, jobs.Debounce("s", time.Hour)).ID)
	if job := again(10*time.Second, jobs.Debounce("s", time.Hour)); !job.Successor || job.RunAfter.Before(next.RunAfter) {
		f.Errorf("the successor, due at %v, became %+v", next.RunAfter, job)
	}
	goOn <- nil // by a worker whose clock is behind, which must not take its time for that of the newest enqueue
	f.ended(runs)
	f.eventually("the successor is released", func() bool { return !f.get(next.ID).Successor })
	if job := again(5*time.Second, jobs.Debounce("s", time.Hour)); job.RunAfter.Before(next.RunAfter) {
		f.Errorf("the released successor, due at %v, became %+v", next.RunAfter, job)
	}
}
