package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var dueTests = []test{
	{"NotEarly", testNotEarly},
	{"EarlierThanTheKnownTime", testSooner},
	{"ManyDueAtOnce", testManyDue},
	{"PriorityOfADueBacklog", testDueBacklog},
	{"DueDuringADrain", testDueInDrain},
	{"DueBesideAnotherNewJob", testDueBesideNews},
	{"DueInASteadyStream", testDueInStream},
	{"SnoozedBesideABusyQueue", testSnoozedBeside},
	{"DueBehindForeignKinds", testDueBehindForeign},
	{"WokenByAnotherProcess", testWokenByOther},
	{"WokenByAResume", testWokenByResume},
	{"APauseEndsByItself", testPauseEnds},
	{"APauseThatEndedWithoutAWorker", testPauseEndedBefore},
}

func testNotEarly(f *fixture) {
	starts := make(chan time.Duration, 20)
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		starts <- f.store.Now().Sub(job.RunAfter)
		return nil
	}))
	for i := range 20 {
		f.enqueue("k", jobs.In(time.Duration(i)*17*time.Millisecond))
	}
	for range 20 {
		if late := receive(f, "a job that falls due", starts); late < 0 {
			f.Errorf("a job ran %s early", -late)
		}
	}
}

func testSooner(f *fixture) {
	far := f.enqueue("k", jobs.In(time.Hour))
	ran := make(chan int64, 1)
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	// The runner sleeps until the hour is over once it has run a job and found nothing more.
	now := f.enqueue("k")
	want(f, "the due job", receive(f, "the due job", ran), now)
	soon := f.enqueue("k", jobs.In(50*time.Millisecond))
	want(f, "the job due soon", receive(f, "the job due soon", ran), soon)
	want(f, "status of the far job", f.get(far).Status, jobs.StatusScheduled)
}

func testManyDue(f *fixture) {
	const n = 2500 // more than are promoted in one transaction
	at := f.store.Now().Add(300 * time.Millisecond)
	payloads := make([]letter, n)
	_, err := jobs.Kind[letter]{Name: "k"}.EnqueueMany(f.ctx, f.client, payloads, jobs.At(at))
	f.must(err)
	ran := make(chan int64, n)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 50}}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	seen := map[int64]bool{}
	for range n {
		seen[receive(f, "a job that fell due", ran)] = true
	}
	want(f, "jobs that ran", len(seen), n)
}

// A worker that always finds jobs to claim gets no notification of one that falls due before all that it knew of, and
// finds it soon.
func testDueInDrain(f *fixture) {
	const n, first = 1000, 20
	_, err := jobs.Kind[letter]{Name: "k"}.EnqueueMany(f.ctx, f.client, make([]letter, n))
	f.must(err)
	var begun atomic.Int64
	found := make(chan int64, 1)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, on("k", func(ctx context.Context, job jobs.Job) error {
		switch started := begun.Add(1); {
		case job.Priority > 0:
			found <- started
		case started == first:
			_, err := f.client.Enqueue(ctx, "k", []byte("{}"), jobs.In(time.Millisecond), jobs.Priority(1))
			return err
		}
		return nil
	}))
	if place := receive(f, "the job that fell due", found); place > n/2 {
		f.Errorf("it began as job %d of %d, having been added by job %d", place, n, first)
	}
}

// The best of a backlog that fell due while no slot was free comes first, although it fell due last.
func testDueBacklog(f *fixture) {
	ran := make(chan int64)
	release := make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, on("k", func(ctx context.Context, job jobs.Job) error {
		select {
		case ran <- job.ID:
		case <-ctx.Done():
		}
		<-release
		return nil
	}))
	blocker := f.enqueue("k")
	want(f, "the job in the only slot", receive(f, "its start", ran), blocker)
	at := f.store.Now().Add(50 * time.Millisecond)
	best := f.enqueue("k", jobs.At(at.Add(time.Millisecond)), jobs.Priority(9))
	_, err := jobs.Kind[letter]{Name: "k"}.EnqueueMany(f.ctx, f.client, make([]letter, 5000), jobs.At(at))
	f.must(err)
	f.eventually("the backlog is due", func() bool { return f.store.Now().After(at.Add(time.Millisecond)) })
	// The freed slot takes some of the early ones, and while they run the rest is promoted.
	release <- struct{}{}
	second := receive(f, "another start", ran)
	f.eventually("all are promoted", func() bool {
		stats, err := inspect.New(f.client).Stats(f.ctx)
		f.must(err)
		return stats.Jobs[jobs.StatusScheduled] == 0
	})
	release <- struct{}{}
	third := receive(f, "the next start", ran)
	if second != best { // it is, on a machine so busy that the backlog was due before it was there
		want(f, "the job after that", third, best)
	}
	close(release)
}

// Jobs of kinds without a handler here fall due first, more than one transaction promotes; only time wakes the runner.
func testDueBehindForeign(f *fixture) {
	at := f.store.Now().Add(300 * time.Millisecond)
	mine := f.enqueue("k", jobs.At(at.Add(time.Millisecond)))
	_, err := jobs.Kind[letter]{Name: "foreign"}.EnqueueMany(f.ctx, f.client, make([]letter, 3500), jobs.At(at))
	f.must(err)
	ran := make(chan int64, 1)
	store := poked{Store: f.store, wake: make(chan struct{})}
	f.startOn(jobs.New(engine.SealStore(store)), jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	want(f, "the job that ran", receive(f, "its start", ran), mine)
}

func testWokenByOther(f *fixture) {
	ran := make(chan int64, 1)
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	f.ended(f.enqueue("k"))
	receive(f, "the first job", ran)
	there := f.elsewhere()
	for range 20 {
		receipt, err := there.Enqueue(f.ctx, "k", []byte("{}"))
		f.must(err)
		want(f, "the job of the other process", receive(f, "the job of the other process", ran), receipt.ID)
	}
}

func testWokenByResume(f *fixture) {
	paused, err := f.client.PauseQueue(f.ctx, jobs.DefaultQueue)
	f.must(err)
	want(f, "paused", paused, true)
	again, err := f.client.PauseQueue(f.ctx, jobs.DefaultQueue)
	f.must(err)
	want(f, "paused twice", again, false)
	ran := make(chan int64, 2)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1, "other": 1}}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job.ID
		return nil
	}))
	id := f.enqueue("k")
	other := f.enqueue("k", jobs.Queue("other"))
	want(f, "the job of the queue that is not paused", receive(f, "that job", ran), other)
	want(f, "status while paused", f.get(id).Status, jobs.StatusPending)
	resumed, err := f.elsewhere().ResumeQueue(f.ctx, jobs.DefaultQueue)
	f.must(err)
	want(f, "resumed", resumed, true)
	want(f, "the job of the resumed queue", receive(f, "that job", ran), id)
	resumed, err = f.client.ResumeQueue(f.ctx, jobs.DefaultQueue)
	f.must(err)
	want(f, "resumed twice", resumed, false)
	_, err = f.client.PauseQueue(f.ctx, "")
	wantInvalid(f, "an empty name", err)
}

// A pause ends at its time, by whatever runner.
func testPauseEnds(f *fixture) {
	for _, opt := range []jobs.PauseOption{jobs.PauseFor(-time.Second), jobs.PauseUntil(f.store.Now().Add(-time.Second))} {
		_, err := f.client.PauseQueue(f.ctx, "q", opt)
		wantInvalid(f, "an end that has passed", err)
	}
	pause := func(opts ...jobs.PauseOption) bool {
		changed, err := f.client.PauseQueue(f.ctx, "q", opts...)
		f.must(err)
		return changed
	}
	far := f.store.Now().Add(time.Hour)
	for i, wanted := range []bool{
		pause(jobs.PauseFor(time.Minute)), !pause(jobs.PauseFor(time.Second)), pause(jobs.PauseUntil(far)), !pause(jobs.PauseUntil(far)),
	} {
		want(f, fmt.Sprint("pause ", i), wanted, true)
	}
	queues, err := inspect.New(f.client).Queues(f.ctx)
	f.must(err)
	if len(queues) != 1 || queues[0].PausedUntil.Sub(far).Abs() > time.Minute || queues[0].PausedAt.IsZero() {
		f.Errorf("the queue is %+v", queues)
	}
	id := f.enqueue("k", jobs.Queue("q"))
	why, err := inspect.New(f.client).Why(f.ctx, id)
	f.must(err)
	if text := fmt.Sprint(why.Findings); !strings.Contains(text, "until "+far.Format("2006-01-02T15")) && !strings.Contains(text, "until 2") {
		f.Errorf("why it does not run: %s", text)
	}
	want(f, "a pause without an end, which is the latest", pause(jobs.PauseFor(0)), true)
	want(f, "a pause with an end after it", pause(jobs.PauseUntil(far)), false)
	f.startOn(f.elsewhere(), jobs.Config{Queues: map[string]int{"q": 1}}, on("k", nothing))
	f.live(1)
	resumed, err := f.client.ResumeQueue(f.ctx, "q")
	f.must(err)
	want(f, "resumed", resumed, true)
	want(f, "status after it was resumed", f.ended(id).Status, jobs.StatusDone)
	want(f, "a pause that a live worker ends", pause(jobs.PauseFor(300*time.Millisecond)), true)
	want(f, "status after the end", f.ended(f.enqueue("k", jobs.Queue("q"))).Status, jobs.StatusDone)
	queues, err = inspect.New(f.client).Queues(f.ctx)
	f.must(err)
	if len(queues) > 0 && !queues[0].PausedAt.IsZero() {
		f.Errorf("the queue is %+v", queues)
	}
}

func testPauseEndedBefore(f *fixture) {
	_, err := f.client.PauseQueue(f.ctx, jobs.DefaultQueue, jobs.PauseFor(time.Millisecond))
	f.must(err)
	id := f.enqueue("k")
	f.eventually("the pause is over", func() bool {
		queues, err := inspect.New(f.client).Queues(f.ctx)
		f.must(err)
		return f.store.Now().After(queues[0].PausedUntil)
	})
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
}
