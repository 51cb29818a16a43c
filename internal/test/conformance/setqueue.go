package conformance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// setQueueTests cover changes of a runner's queues.
var setQueueTests = []test{
	{"AddsAndRemoves", testSetQueue},
	{"BeforeRun", testSetQueueBeforeRun},
	{"MoreAndFewerSlots", testSetQueueSlots},
	{"Refused", testSetQueueRefused},
	{"TheLastOne", testSetLastQueue},
	{"PrefetchedJobsGoBack", testSetQueuePrefetched},
	{"PrefetchedJobsGetNewSlots", testSetQueueForPrefetched},
	{"NoMoreIsHandedOver", testSetQueueHandover},
	{"WorkersFollow", testSetQueueShown},
	{"InADrain", testSetQueueInDrain},
	{"ManyChangesBesideWork", testSetQueueOften},
}

// slotsOf returns the slots of the only live worker, as the database has them.
func (f *fixture) slotsOf() map[string]int {
	f.Helper()
	workers, err := inspect.New(f.client).Workers(f.ctx)
	f.must(err)
	if len(workers) != 1 {
		return nil
	}
	return workers[0].Queues
}

func (f *fixture) wantSlots(wanted map[string]int) {
	f.Helper()
	f.eventually(fmt.Sprint("the worker has the queues ", wanted), func() bool { return maps.Equal(f.slotsOf(), wanted) })
}

func testSetQueue(f *fixture) {
	started, release := make(chan int64, 10), make(chan struct{})
	r := f.start(jobs.Config{Queues: map[string]int{"other": 1}}, on("k", nothing), on("slow", func(_ context.Context, job jobs.Job) error {
		started <- job.ID
		<-release
		return nil
	}))
	f.live(1)
	id := f.enqueue("k", jobs.Queue("q"))
	f.must(r.runner.SetQueue("q", 2))
	want(f, "status of a job of the new queue", f.ended(id).Status, jobs.StatusDone)
	receipt, err := f.elsewhere().Enqueue(f.ctx, "k", []byte("{}"), jobs.Queue("q"))
	f.must(err)
	want(f, "status of a job of another process", f.ended(receipt.ID).Status, jobs.StatusDone)

	slow := f.enqueue("slow", jobs.Queue("q"))
	want(f, "the job that started", receive(f, "it", started), slow)
	f.must(r.runner.SetQueue("q", 0))
	late := f.enqueue("k", jobs.Queue("q"))
	other := f.enqueue("k", jobs.Queue("other"))
	want(f, "status of a job of the queue that stays", f.ended(other).Status, jobs.StatusDone)
	f.becomes(late, jobs.StatusPending) // a claim that had begun before may have taken it, and gives it back
	close(release)
	job := f.ended(slow)
	want(f, "status of the job that ran", job.Status, jobs.StatusDone)
	want(f, "its attempts", job.Attempt, 1)
	want(f, "status of a job of the removed queue", f.get(late).Status, jobs.StatusPending)
	f.must(r.runner.SetQueue("q", 1))
	want(f, "status of that job", f.ended(late).Status, jobs.StatusDone)
	f.must(r.stop())
	f.must(r.runner.SetQueue("q", 3)) // it has no effect any more
}

func testSetQueueBeforeRun(f *fixture) {
	runner := f.runner(f.client, jobs.Config{Queues: map[string]int{"a": 1}}, on("k", nothing))
	for name, slots := range map[string]int{"a": 0, "b": 3, "never": 0} {
		f.must(runner.SetQueue(name, slots))
	}
	id, not := f.enqueue("k", jobs.Queue("b")), f.enqueue("k", jobs.Queue("a"))
	f.run(runner)
	want(f, "status", f.ended(id).Status, jobs.StatusDone)
	f.wantSlots(map[string]int{"b": 3})
	want(f, "status of a job of the removed queue", f.get(not).Status, jobs.StatusPending)
}

// The number of handlers that run at once follows.
func testSetQueueSlots(f *fixture) {
	started, release := make(chan struct{}, 100), make(chan struct{}, 100)
	r := f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}, Ahead: -1}, on("k", func(context.Context, jobs.Job) error {
		started <- struct{}{}
		<-release
		return nil
	}))
	f.many(10)
	receive(f, "the first start", started)
	f.must(r.runner.SetQueue(jobs.DefaultQueue, 4))
	for i := range 3 {
		receive(f, fmt.Sprint("start ", i+2), started)
	}
	f.must(r.runner.SetQueue(jobs.DefaultQueue, 1))
	for range 3 { // until one is left
		release <- struct{}{}
	}
	f.eventually("three jobs have ended", func() bool { return f.statuses()[jobs.StatusDone] == 3 })
	want(f, "jobs that run", f.statuses()[jobs.StatusRunning], 1)
	want(f, "jobs that started beyond the slots", len(started), 0)
	for n := range 7 {
		release <- struct{}{}
		if n < 6 {
			receive(f, "the next start", started)
			want(f, "jobs that started beyond the slot", len(started), 0)
		}
	}
	f.eventually("all jobs have ended", func() bool { return f.statuses()[jobs.StatusDone] == 10 })
}

func testSetQueueRefused(f *fixture) {
	runner := f.runner(f.client, jobs.Config{Queues: map[string]int{"a": 1}}, on("k", nothing))
	for _, test := range []struct {
		name  string
		slots int
		texts []string
	}{
		{"", 1, []string{"queue"}}, {strings.Repeat("q", 201), 1, []string{"queue", "200"}}, {"a", -1, []string{`slots of queue "a"`, "-1", "from 0", "100000"}},
		{"a", 100_001, []string{`set queue "a"`, "100001", "100000"}},
	} {
		err := runner.SetQueue(test.name, test.slots)
		wantInvalid(f, fmt.Sprintf("%d slots of the queue %.10s", test.slots, test.name), err)
		for _, text := range test.texts {
			if err != nil && !strings.Contains(err.Error(), text) {
				f.Errorf("%q does not say %q", err, text)
			}
		}
	}
	f.run(runner)
	f.wantSlots(map[string]int{"a": 1})
}

func testSetLastQueue(f *fixture) {
	r := f.start(jobs.Config{Queues: map[string]int{"a": 1}}, on("k", nothing))
	f.ended(f.enqueue("k", jobs.Queue("a")))
	f.must(r.runner.SetQueue("a", 0))
	f.wantSlots(map[string]int{})
	id := f.enqueue("k", jobs.Queue("a"))
	f.wantWhy(id, inspect.ReasonNoWorker)
	f.must(r.runner.SetQueue("b", 1))
	want(f, "status of a job of the next queue", f.ended(f.enqueue("k", jobs.Queue("b"))).Status, jobs.StatusDone)
	want(f, "status of the job of the removed queue", f.get(id).Status, jobs.StatusPending)
	f.must(r.stop())
}

func testSetQueuePrefetched(f *fixture) {
	release := make(chan struct{})
	r, slow, behind := f.stuckBehind(jobs.Config{}, release, func(job jobs.Job) { f.Errorf("job %d ran in a removed queue", job.ID) })
	f.must(r.runner.SetQueue(jobs.DefaultQueue, 0))
	for _, id := range behind {
		f.becomes(id, jobs.StatusPending)
	}
	close(release)
	want(f, "status of the job that ran", f.ended(slow).Status, jobs.StatusDone)
	for _, id := range behind {
		job := f.get(id)
		want(f, "status of a job behind it", job.Status, jobs.StatusPending)
		want(f, "attempts that count", job.Attempt-job.Uncounted, 0)
	}
}

func testSetQueueForPrefetched(f *fixture) {
	release := make(chan struct{})
	r, slow, behind := f.stuckBehind(jobs.Config{}, release, func(jobs.Job) {})
	f.must(r.runner.SetQueue(jobs.DefaultQueue, 2))
	for _, id := range behind {
		want(f, "status of a job behind the slow one", f.ended(id).Status, jobs.StatusDone)
	}
	want(f, "status of the slow one", f.get(slow).Status, jobs.StatusRunning)
	close(release)
	f.ended(slow)
}

func testSetQueueHandover(f *fixture) {
	h := f.handing()
	for range 5 {
		h.hand()
		f.must(h.runner.runner.SetQueue(jobs.DefaultQueue, 0))
		receipt, handed, err := h.add("k")
		f.must(err)
		want(f, "it is handed over", handed, false)
		f.becomes(receipt.ID, jobs.StatusPending) // a claim that had begun before may have taken it, and gives it back
		f.must(h.runner.runner.SetQueue(jobs.DefaultQueue, 1))
		want(f, "the job that runs", receive(f, "the job", h.ran).ID, receipt.ID)
		f.ended(receipt.ID)
	}
}

func testSetQueueShown(f *fixture) {
	r := f.start(jobs.Config{Queues: map[string]int{"a": 1}}, on("k", nothing))
	f.wantSlots(map[string]int{"a": 1})
	f.must(r.runner.SetQueue("b", 5))
	f.must(r.runner.SetQueue("a", 2))
	f.wantSlots(map[string]int{"a": 2, "b": 5})
	queues, err := inspect.New(f.client).Queues(f.ctx)
	f.must(err)
	if len(queues) != 2 || queues[0].Slots != 2 || queues[1].Slots != 5 {
		f.Errorf("the queues are %+v", queues)
	}
	f.must(r.runner.SetQueue("a", 0))
	f.wantSlots(map[string]int{"b": 5})
	f.wantWhy(f.enqueue("k", jobs.Queue("a")), inspect.ReasonNoWorker)
}

// A drain also waits for the jobs of queues that a handler adds.
func testSetQueueInDrain(f *fixture) {
	var runner *jobs.Runner
	runner = f.runner(f.client, jobs.Config{Queues: map[string]int{"a": 1}}, on("k", nothing), on("more", func(context.Context, jobs.Job) error {
		return runner.SetQueue("b", 1)
	}))
	first, second := f.enqueue("more", jobs.Queue("a")), f.enqueue("k", jobs.Queue("b"))
	f.must(runner.Drain(f.ctx))
	want(f, "status of the first job", f.get(first).Status, jobs.StatusDone)
	want(f, "status of the job of the added queue", f.get(second).Status, jobs.StatusDone)
}

// No job is lost or runs twice while queues come and go.
func testSetQueueOften(f *fixture) {
	const queues, each, changes = 7, 60, 300
	var mu sync.Mutex
	ran := map[int64]int{}
	count := on("k", func(_ context.Context, job jobs.Job) error {
		mu.Lock()
		defer mu.Unlock()
		ran[job.ID]++
		return nil
	})
	var runners []*jobs.Runner
	for _, client := range []*jobs.Client{f.client, f.elsewhere()} {
		runner := f.runner(client, jobs.Config{Queues: map[string]int{nameOfMany(0): 1}, Ahead: 50}, count)
		f.run(runner)
		runners = append(runners, runner)
	}
	var ids []int64
	var writers sync.WaitGroup
	var failed atomic.Pointer[error]
	for w := range 3 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for range changes {
				if err := runners[random.IntN(2)].SetQueue(nameOfMany(random.IntN(queues)), random.IntN(4)); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	for i := range queues * each {
		ids = append(ids, f.enqueue("k", jobs.Queue(nameOfMany(i%queues))))
	}
	writers.Wait()
	if err := failed.Load(); err != nil {
		f.Fatal(*err)
	}
	for i := range queues {
		f.must(runners[0].SetQueue(nameOfMany(i), 2))
	}
	for _, id := range ids {
		job := f.ended(id)
		if job.Status != jobs.StatusDone || job.Attempt-job.Uncounted != 1 {
			f.Errorf("job %d is %s after %d attempts that count", id, job.Status, job.Attempt-job.Uncounted)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, id := range ids {
		if ran[id] != 1 {
			f.Errorf("job %d ran %d times", id, ran[id])
		}
	}
	f.eventually("the workers show their queues", func() bool {
		workers, err := inspect.New(f.client).Workers(f.ctx)
		f.must(err)
		return len(workers) == 2 && len(workers[0].Queues) == queues || len(workers) == 2 && len(workers[1].Queues) == queues
	})
}
