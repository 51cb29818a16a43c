package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var manyQueuesTests = []test{
	{"OnlyThoseWithJobsCost", testOnlyQueuesWithJobsCost},
	{"PausedOnesCostNothing", testPausedQueuesCostNothing},
	{"OthersHaveManyJobs", testForeignQueuesHaveJobs},
	{"AllHaveJobs", testAllQueuesHaveJobs},
	{"OrderWithinEach", testOrderWithinManyQueues},
	{"ABacklogStarvesNoOther", testBacklogBesideManyQueues},
	{"AKindOfOthers", testManyQueuesOfForeignKinds},
	{"AnEnqueueBesideABacklog", testEnqueueBesideABacklog},
	{"AFailedCycle", testFailedCycleOfManyQueues},
}

// fewMany is more queues than a runner claims from one by one.
const fewMany = 8

func fewManySlots() map[string]int {
	queues := map[string]int{}
	for i := range fewMany {
		queues[nameOfMany(i)] = 2
	}
	return queues
}

// A job that is enqueued into an empty queue while another one has a backlog does not wait for the end of that.
func testEnqueueBesideABacklog(f *fixture) {
	const backlog = 5000
	f.must(f.inTx(func(tx Tx) error {
		_, err := f.client.With(tx).EnqueueMany(f.ctx, "k", slices.Repeat([]json.RawMessage{json.RawMessage("{}")}, backlog), jobs.Queue(nameOfMany(0)))
		return err
	}))
	var ran atomic.Int64
	begun, before := make(chan struct{}), make(chan int64, 1)
	var once sync.Once
	f.start(jobs.Config{Queues: fewManySlots()}, on("k", func(context.Context, jobs.Job) error {
		if ran.Add(1) > 100 {
			once.Do(func() { close(begun) })
		}
		return nil
	}), on("other", func(context.Context, jobs.Job) error {
		before <- ran.Load()
		return nil
	}))
	receive(f, "the backlog begins", begun)
	f.enqueue("other", jobs.Queue(nameOfMany(3)))
	if n := receive(f, "the other job", before); n >= backlog {
		f.Errorf("the other job began after all %d jobs of the backlog", n)
	}
}

// failingExchange is a store whose next exchange fails while it is armed.
type failingExchange struct {
	engine.Store
	armed *atomic.Bool
}

func (s failingExchange) Exchange(ctx context.Context, p engine.Plan) (engine.Outcome, error) {
	if s.armed.Swap(false) {
		return engine.Outcome{}, jobs.ErrFull
	}
	return s.Store.Exchange(ctx, p)
}

// A cycle that fails when a job has just fallen due is repeated, with no other reason to wake up.
func testFailedCycleOfManyQueues(f *fixture) {
	var armed atomic.Bool
	client := jobs.New(engine.SealStore(failingExchange{engine.StoreOf(f.client.Store()), &armed}))
	f.startOn(client, jobs.Config{Queues: fewManySlots()}, on("k", nothing))
	f.ended(f.enqueue("k", jobs.Queue(nameOfMany(1))))
	id := f.enqueue("k", jobs.Queue(nameOfMany(2)), jobs.In(time.Second))
	armed.Store(true)
	want(f, "status", f.ended(id).Status, jobs.StatusDone)
	if armed.Load() {
		f.Error("no cycle has failed")
	}
}

// manyQueues is the number of queues of these tests' runners.
const manyQueues = 1000

// eachStatements is more than the runner's statements for one job that is enqueued while it rests, and those that its upkeep makes
// meanwhile. It is far below the number of queues.
const eachStatements = 30

func nameOfMany(i int) string { return fmt.Sprintf("queue-%d", i) }

func manySlots(slots int) map[string]int {
	queues := map[string]int{}
	for i := range manyQueues {
		queues[nameOfMany(i)] = slots
	}
	return queues
}

// fillEach adds a job to each of n queues, in one transaction.
func (f *fixture) fillEach(kind, queue string, n int) {
	f.Helper()
	f.must(f.inTx(func(tx Tx) error {
		for i := range n {
			if _, err := f.client.With(tx).Enqueue(f.ctx, kind, json.RawMessage("{}"), jobs.Queue(fmt.Sprintf(queue, i))); err != nil {
				return err
			}
		}
		return nil
	}))
}

// costOfEach enqueues jobs into some of many queues, one when the one before has ended, and returns how many statements the runner makes
// for each.
func (f *fixture) costOfEach(queues map[string]int, from int) int {
	f.Helper()
	client, seen := f.observed()
	f.startOn(client, jobs.Config{Queues: queues}, on("k", nothing))
	f.ended(f.enqueue("k", jobs.Queue(nameOfMany(from))))
	before := len(seen.asked())
	const n = 20
	for i := range n {
		options := []jobs.EnqueueOption{jobs.Queue(nameOfMany(from + i*7%(len(queues)-from)))}
		if i%4 == 3 {
			options = append(options, jobs.In(20*time.Millisecond))
		}
		f.ended(f.enqueue("k", options...))
	}
	return (len(seen.asked()) - before) / n
}

func (f *fixture) wantFewStatements(each int) {
	f.Helper()
	if each > eachStatements {
		f.Errorf("the runner makes %d statements for each job, more than %d", each, eachStatements)
	}
}

func testOnlyQueuesWithJobsCost(f *fixture) { f.wantFewStatements(f.costOfEach(manySlots(2), 0)) }

func testPausedQueuesCostNothing(f *fixture) {
	const paused = 300
	f.fillEach("k", "queue-%d", paused)
	f.must(f.inTx(func(tx Tx) error {
		for i := range paused {
			if _, err := f.client.With(tx).PauseQueue(f.ctx, nameOfMany(i)); err != nil {
				return err
			}
		}
		return nil
	}))
	f.wantFewStatements(f.costOfEach(manySlots(2), paused))
	counts := f.statuses()
	want(f, "jobs that wait in queues that are paused", counts[jobs.StatusPending], paused)
}

func testForeignQueuesHaveJobs(f *fixture) {
	f.fillEach("k", "foreign-%d", 300)
	queues := map[string]int{}
	for i := range 20 {
		queues[nameOfMany(i)] = 2
	}
	f.wantFewStatements(f.costOfEach(queues, 0))
}

func testManyQueuesOfForeignKinds(f *fixture) {
	f.fillEach("foreign", "queue-%d", manyQueues)
	f.wantFewStatements(f.costOfEach(manySlots(2), 0))
}

// statuses counts the jobs.
func (f *fixture) statuses() map[jobs.Status]int64 {
	f.Helper()
	counts := map[jobs.Status]int64{}
	list, err := inspect.New(f.client).Counts(f.ctx)
	f.must(err)
	for _, n := range list {
		counts[n.Status] += n.Jobs
	}
	return counts
}

func testAllQueuesHaveJobs(f *fixture) {
	f.fillEach("k", "queue-%d", manyQueues)
	client, seen := f.observed()
	var ran atomic.Int64
	f.must(f.runner(client, jobs.Config{Queues: manySlots(2)}, on("k", func(context.Context, jobs.Job) error {
		ran.Add(1)
		return nil
	})).Drain(f.ctx))
	want(f, "jobs that ran", ran.Load(), manyQueues)
	if n := len(seen.asked()); n > 10*manyQueues {
		f.Errorf("a drain of %d queues takes %d statements", manyQueues, n)
	}
}

func testOrderWithinManyQueues(f *fixture) {
	const queues, each = 50, 4
	for i := range queues * each {
		f.enqueue("k", jobs.Queue(nameOfMany(i%queues)), jobs.Priority(i/queues%3))
	}
	var mu sync.Mutex
	ran := map[string][]jobs.Job{}
	f.drain(jobs.Config{Queues: manySlots(1)}, on("k", func(_ context.Context, job jobs.Job) error {
		mu.Lock()
		defer mu.Unlock()
		ran[job.Queue] = append(ran[job.Queue], job)
		return nil
	}))
	want(f, "queues whose jobs ran", len(ran), queues)
	for queue, list := range ran {
		want(f, "jobs of "+queue, len(list), each)
		if !slices.IsSortedFunc(list, func(a, b jobs.Job) int {
			if a.Priority != b.Priority {
				return b.Priority - a.Priority
			}
			return int(a.ID - b.ID)
		}) {
			f.Errorf("the jobs of %s ran in the order %v", queue, list)
		}
	}
}

func testBacklogBesideManyQueues(f *fixture) {
	const backlog, others = 2000, 30
	payloads := make([]json.RawMessage, backlog)
	for i := range payloads {
		payloads[i] = json.RawMessage("{}")
	}
	_, err := f.client.EnqueueMany(f.ctx, "k", payloads, jobs.Queue(nameOfMany(0)), jobs.Priority(100))
	f.must(err)
	f.fillEach("k", "queue-%d", others+1)
	var ran, last atomic.Int64 // last is the place of the last of the other jobs
	f.drain(jobs.Config{Queues: manySlots(5)}, on("k", func(_ context.Context, job jobs.Job) error {
		place := ran.Add(1)
		if job.Queue != nameOfMany(0) {
			last.Store(place)
		}
		return nil
	}))
	want(f, "jobs that ran", ran.Load(), backlog+others+1)
	if last.Load() > backlog/4 {
		f.Errorf("a job of a queue without a backlog ran as number %d of %d", last.Load(), ran.Load())
	}
}
