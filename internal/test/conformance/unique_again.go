package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// However often a job is enqueued again while it runs, one runs after it, with the newest payload.
func testUniqueAgain(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	first := f.put(1, jobs.UniqueAgain("u"))
	f.start(jobs.Config{}, on("k", a.held(begun, goOn)))
	receive(f, "the start", begun)
	var next jobs.Receipt
	for n := 2; n < 12; n++ {
		receipt := f.put(n, jobs.UniqueAgain("u"))
		if n == 2 {
			next = receipt
		}
		want(f, "receipt", receipt, jobs.Receipt{ID: next.ID, Existed: n > 2, Replaced: n > 2})
	}
	if next.ID == first.ID {
		f.Fatal("the running job was replaced")
	}
	job := f.get(next.ID)
	if job.Status != jobs.StatusScheduled || !job.Successor || job.RunAfter.After(f.store.Now()) {
		f.Errorf("the successor is %+v", job)
	}
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "a job falls due at some time", stats.NextDue.IsZero(), true)
	finding := f.why(next.ID)
	want(f, "reason", finding.Reason, inspect.ReasonSuccessor)
	goOn <- nil
	want(f, "the next that runs", receive(f, "the second start", begun), next.ID)
	want(f, "the first", f.ended(first.ID).Status, jobs.StatusDone)
	if f.get(next.ID).Successor {
		f.Error("it is still a successor")
	}
	third := f.put(12, jobs.UniqueAgain("u"))
	goOn <- nil
	want(f, "the third that runs", receive(f, "the third start", begun), third.ID)
	goOn <- nil
	f.ended(third.ID)
	want(f, "payloads that ran", a.text(), "[1 11 12]")
}

// A job that is retried gets the newest payload for its next attempt, unless it has a successor, which waits until it has ended.
func testUniqueAgainRetried(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	first := f.put(1, jobs.UniqueAgain("u"))
	f.start(jobs.Config{}, onKind(again("k"), a.held(begun, goOn)))
	receive(f, "the start", begun)
	next := f.put(2, jobs.UniqueAgain("u"))
	goOn <- errors.New("no")
	want(f, "what runs next", receive(f, "the second start", begun), first.ID)
	f.put(3, jobs.UniqueAgain("u"))
	goOn <- nil
	want(f, "what runs then", receive(f, "the third start", begun), next.ID)
	goOn <- nil
	f.ended(next.ID)
	want(f, "payloads that ran", a.text(), "[1 1 3]")
}

// A successor runs after whatever end of the job before it.
func testUniqueAgainEnds(f *fixture) {
	ends := map[string]func(id int64) error{
		"failed":    func(int64) error { return jobs.Discard(errors.New("no")) },
		"cancelled": func(int64) error { return jobs.Cancel(errors.New("no")) },
		"result":    func(int64) error { return nil },
		"asked": func(id int64) error {
			_, err := f.client.Cancel(f.ctx, id)
			return errors.Join(err, errors.New("stopped"))
		},
	}
	release := make(chan struct{})
	begun := make(chan string, len(ends)+1)
	f.start(jobs.Config{Queues: map[string]int{"default": 2 * len(ends)}}, on("k", func(ctx context.Context, job jobs.Job) error {
		if string(job.Payload) == "2" {
			return nil
		}
		begun <- job.UniqueKey
		<-release
		if job.UniqueKey == "result" {
			return job.SetResult(1)
		}
		return ends[job.UniqueKey](job.ID)
	}), on("tx", func(ctx context.Context, job jobs.Job) error {
		if string(job.Payload) == "2" {
			return nil
		}
		begun <- job.UniqueKey
		<-release
		tx, err := f.store.Begin(ctx)
		if err != nil {
			return err
		}
		return errors.Join(jobs.CompleteTx(ctx, tx, job, nil), tx.Commit())
	}))
	var next []int64
	enqueue := func(kind, key, payload string) int64 {
		receipt, err := f.client.Enqueue(f.ctx, kind, json.RawMessage(payload), jobs.UniqueAgain(key))
		f.must(err)
		return receipt.ID
	}
	for key := range ends {
		enqueue("k", key, "1")
	}
	enqueue("tx", "tx", "1")
	for range len(ends) + 1 {
		receive(f, "a start", begun)
	}
	for key := range ends {
		next = append(next, enqueue("k", key, "2"))
	}
	next = append(next, enqueue("tx", "tx", "2"))
	close(release)
	for _, id := range next {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
}

// A successor of a job that waits for another attempt runs when that is cancelled or deleted.
func testUniqueAgainEndedByCaller(f *fixture) {
	later := jobs.Kind[json.RawMessage]{Name: "k", RetryDelay: func(jobs.Job, error) time.Duration { return time.Hour }}
	begun, goOn := make(chan int64, 1), make(chan error, 1)
	f.start(jobs.Config{}, onKind(later, (&attempts{f: f}).held(begun, goOn)))
	for _, end := range []func(id int64){
		func(id int64) { _, err := f.client.Cancel(f.ctx, id); f.must(err) },
		func(id int64) { f.must(f.client.Delete(f.ctx, id)) },
	} {
		first := f.put(1, jobs.UniqueAgain("u"))
		want(f, "what runs", receive(f, "a start", begun), first.ID)
		second := f.put(2, jobs.UniqueAgain("u"))
		goOn <- errors.New("no")
		f.becomes(first.ID, jobs.StatusScheduled)
		end(first.ID)
		want(f, "what runs then", receive(f, "the start of the successor", begun), second.ID)
		goOn <- nil
		f.ended(second.ID)
	}
}

// A job that waits for another attempt is retried at once, also beside its successor, which goes on waiting.
func testUniqueAgainFirstRetried(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	later := jobs.Kind[json.RawMessage]{Name: "k", RetryDelay: jobs.FixedRetry(time.Hour)}
	first := f.put(1, jobs.UniqueAgain("u"))
	f.start(jobs.Config{}, onKind(later, a.held(begun, goOn)))
	receive(f, "the start", begun)
	next := f.put(2, jobs.UniqueAgain("u"))
	goOn <- errors.New("no")
	f.becomes(first.ID, jobs.StatusScheduled)
	f.must(f.client.Retry(f.ctx, first.ID))
	want(f, "what runs then", receive(f, "the second start", begun), first.ID)
	want(f, "it is still a successor", f.get(next.ID).Successor, true)
	goOn <- nil
	want(f, "what runs last", receive(f, "the start of the successor", begun), next.ID)
	goOn <- nil
	f.ended(next.ID)
	want(f, "payloads that ran", a.text(), "[1 1 2]")
}

// A successor runs when a rescue has ended the job before it.
func testUniqueAgainCrash(f *fixture) {
	g := f.ghost("g", time.Hour)
	first := f.put(1, jobs.UniqueAgain("u"), jobs.MaxAttempts(1))
	want(f, "claimed", len(g.claim(1, time.Hour)), 1)
	next := f.put(2, jobs.UniqueAgain("u"))
	g.die()
	f.start(jobs.Config{}, on("k", nothing))
	want(f, "the first", f.ended(first.ID).Status, jobs.StatusFailed)
	want(f, "the second", f.ended(next.ID).Status, jobs.StatusDone)
}

// A handler enqueues its own job again.
func testUniqueAgainByHandler(f *fixture) {
	a := &attempts{f: f}
	f.put(1, jobs.UniqueAgain("u"))
	f.drain(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		a.begin(job)
		defer a.end()
		if n := len(a.list); n < 4 {
			f.put(n+1, jobs.UniqueAgain("u"))
		}
		return nil
	}))
	want(f, "payloads that ran", a.text(), "[1 2 3 4]")
}

// A successor can be updated and cancelled; it cannot be made to run beside the job before it.
func testSuccessorChanged(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	first := f.put(1, jobs.UniqueAgain("u"))
	f.start(jobs.Config{}, on("k", a.held(begun, goOn)))
	receive(f, "the start", begun)
	next := f.put(2, jobs.UniqueAgain("u"))
	if err := f.client.Retry(f.ctx, next.ID); !errors.Is(err, jobs.ErrUniqueTaken) {
		f.Errorf("a successor is retried: %v", err)
	}
	at := f.store.Now().Add(time.Hour).Truncate(time.Second)
	f.must(f.client.Update(f.ctx, next.ID, jobs.SetRunAfter(at), jobs.SetPriority(4), jobs.SetPayload(3)))
	job := f.get(next.ID)
	if !job.Successor || !job.RunAfter.Equal(at) || job.Priority != 4 || string(job.Payload) != "3" {
		f.Errorf("the successor is %+v", job)
	}
	f.put(4, jobs.UniqueAgain("u")) // keeps the time
	goOn <- nil
	f.ended(first.ID)
	f.eventually("it is no successor", func() bool { return !f.get(next.ID).Successor })
	job = f.get(next.ID)
	if job.Status != jobs.StatusScheduled || !job.RunAfter.Equal(at) || string(job.Payload) != "4" {
		f.Errorf("the successor became %+v", job)
	}
	f.must(f.client.Retry(f.ctx, next.ID))
	receive(f, "the second start", begun)
	third := f.put(5, jobs.UniqueAgain("u"))
	became, err := f.client.Cancel(f.ctx, third.ID)
	f.must(err)
	want(f, "it became", became, jobs.StatusCancelled)
	job = f.get(third.ID)
	if job.Successor || job.RunAfter.After(f.store.Now()) {
		f.Errorf("the cancelled successor is %+v", job)
	}
	if err := f.client.Retry(f.ctx, third.ID); !errors.Is(err, jobs.ErrUniqueTaken) {
		f.Errorf("a cancelled successor is retried beside the job before it: %v", err)
	}
	goOn <- nil
	f.ended(next.ID)
	f.must(f.client.Retry(f.ctx, third.ID))
	receive(f, "the third start", begun)
	goOn <- nil
	f.ended(third.ID)
	want(f, "payloads that ran", a.text(), "[1 4 5]")
}

// Unique finds the running job, and UniqueReplace replaces the successor that there is.
func testSuccessorFound(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	first := f.put(1, jobs.Unique("u"))
	f.start(jobs.Config{}, on("k", a.held(begun, goOn)))
	receive(f, "the start", begun)
	next := f.put(2, jobs.UniqueAgain("u"))
	want(f, "receipt of Unique", f.put(3, jobs.Unique("u")), jobs.Receipt{ID: first.ID, Existed: true})
	want(f, "receipt of UniqueReplace", f.put(4, jobs.UniqueReplace("u")), jobs.Receipt{ID: next.ID, Existed: true, Replaced: true})
	found, err := f.client.GetByUniqueKey(f.ctx, "k", "u")
	f.must(err)
	want(f, "the job by its unique key", found.ID, first.ID)
	goOn <- nil
	receive(f, "the second start", begun)
	goOn <- nil
	f.ended(next.ID)
	want(f, "payloads that ran", a.text(), "[1 4]")
}

// A successor that is not started in time ends, and the job before it goes on; and the end of a job of which nothing is kept releases its
// successor.
func testSuccessorExpires(f *fixture) {
	a, begun, goOn := &attempts{f: f}, make(chan int64, 1), make(chan error, 1)
	first := f.put(1, jobs.UniqueAgain("u"))
	kind := jobs.Kind[json.RawMessage]{Name: "k", Keep: jobs.Nothing}
	f.start(jobs.Config{}, onKind(kind, a.held(begun, goOn)))
	want(f, "what runs", receive(f, "the start", begun), first.ID)
	late := f.put(2, jobs.UniqueAgain("u"), jobs.StartWithin(time.Millisecond))
	job := f.becomes(late.ID, jobs.StatusCancelled)
	if job.Successor || job.RunAfter.After(f.store.Now()) || f.errors(late.ID)[0].Cause != jobs.CauseExpired {
		f.Errorf("the successor became %+v", job)
	}
	next := f.put(3, jobs.UniqueAgain("u"))
	goOn <- nil
	want(f, "what runs then", receive(f, "the second start", begun), next.ID)
	goOn <- nil
	f.eventually("nothing is kept of it", func() bool {
		_, err := f.client.Get(f.ctx, next.ID)
		return errors.Is(err, jobs.ErrNotFound)
	})
	want(f, "payloads that ran", a.text(), "[1 3]")
}
