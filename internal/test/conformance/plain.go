package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// plainTests cover jobs that another program adds by an INSERT without a status.
var plainTests = []test{
	{"RunsWhenItIsDue", testPlainRuns},
	{"RunsInADrain", testPlainDrain},
	{"DrainLeavesTheFuture", testPlainFuture},
	{"BeforeWorseJobs", testPlainBeforeWorse},
	{"BeforeALaterJobOfTheLibrary", testPlainBeforeLibrary},
	{"ManyAtOnce", testPlainMany},
	{"WithoutAWorker", testPlainWithoutWorker},
}

// sql runs a statement of this package's testdata as another program does, and returns the numbers of its first column.
// replaced are words of the statement, each with the text for it.
func (f *fixture) sql(name string, replaced ...string) []int64 {
	f.Helper()
	return f.sqls([]string{name}, replaced...)
}

// sqls runs statements as sql does, all in one transaction.
func (f *fixture) sqls(names []string, replaced ...string) []int64 {
	f.Helper()
	f.plain = true
	statements := make([]string, len(names))
	for i, name := range names {
		text, err := os.ReadFile(filepath.Join("..", "..", "internal", "test", "conformance", "testdata", name+".sql")) // from an engine's package
		f.must(err)
		statements[i] = strings.NewReplacer(replaced...).Replace(string(text))
	}
	numbers, err := f.store.Plain(f.ctx, statements...)
	f.must(err)
	return numbers
}

// insert adds a job by a plain INSERT of some columns beside the kind k, and returns its id.
func (f *fixture) insert(columns, values string) int64 {
	f.Helper()
	return f.sql("insert_plain", "MORE_COLUMNS", columns, "MORE_VALUES", values)[0]
}

func testPlainRuns(f *fixture) {
	ran := make(chan jobs.Job, 3)
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		ran <- job
		return nil
	}))
	for _, after := range []int64{0, 100_000_000_000_000, f.store.Now().UnixMicro(), f.store.Now().Add(100 * time.Millisecond).UnixMicro()} {
		id := f.insert("run_after", fmt.Sprint(after))
		job := receive(f, "the job", ran)
		want(f, "the job that runs", job.ID, id)
		if early := job.RunAfter.Sub(f.store.Now()); early > 0 {
			f.Errorf("the job that is due at %d runs %s early", after, early)
		}
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
}

func testPlainDrain(f *fixture) {
	var wanted []int64
	for priority := range 3 {
		wanted = append(wanted, f.insert("priority", fmt.Sprint(-priority)))
	}
	wanted = append(wanted, f.insert("priority, run_after", "-5, 0"))
	if ids := f.order("k"); !slices.Equal(ids, wanted) {
		f.Errorf("a drain ran %v, not %v", ids, wanted)
	}
}

// Also where the row looks as if it were due when it was made, and where it says that it is pending.
func testPlainFuture(f *fixture) {
	later := f.store.Now().AddDate(1, 0, 0).UnixMicro()
	var future []int64
	for _, status := range []string{"scheduled", "pending"} {
		future = append(future,
			f.insert("status, run_after", fmt.Sprintf("'%s', %d", status, later)),
			f.insert("status, created_at, run_after", fmt.Sprintf("'%s', %d, %d", status, later, later)))
	}
	due := f.insert("priority", "-1")
	if ids := f.order("k"); !slices.Equal(ids, []int64{due}) {
		f.Errorf("a drain ran %v, not only %d", ids, due)
	}
	for _, id := range future {
		want(f, "attempts", f.get(id).Attempt, 0)
	}
}

func testPlainBeforeWorse(f *fixture) {
	ran, release := make(chan int64), make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}}, on("k", func(ctx context.Context, job jobs.Job) error {
		select {
		case ran <- job.ID:
		case <-ctx.Done():
		}
		<-release
		return nil
	}))
	defer close(release)
	blocker := f.enqueue("k")
	want(f, "the job in the only slot", receive(f, "its start", ran), blocker)
	low := f.enqueue("k")
	middle := f.insert("priority", "1")
	high := f.insert("priority", "9")
	for i, id := range []int64{high, middle, low} {
		release <- struct{}{}
		want(f, fmt.Sprint("job ", i+1, " after that"), receive(f, "the next start", ran), id)
	}
}

// A job that is committed before the enqueue of a worse one begins runs before it, in whichever process their runner is.
func testPlainBeforeLibrary(f *fixture) {
	h := f.handing()
	other := f.elsewhere()
	for round := range 20 {
		h.hand() // the runner is idle
		high := f.insert("priority", "9")
		client := h.client
		if round%2 > 0 {
			client = other
		}
		low, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}"))
		f.must(err)
		first, second := receive(f, "a job", h.ran), receive(f, "another job", h.ran)
		if first.ID != high || second.ID != low.ID {
			f.Errorf("round %d: job %d ran before job %d", round, first.ID, second.ID)
		}
		f.ended(low.ID)
	}
}

func testPlainMany(f *fixture) {
	f.sql("insert_3000_plain")
	want(f, "jobs that ran", len(f.order("k")), 3000)
}

func testPlainWithoutWorker(f *fixture) {
	id := f.insert("priority", "0")
	f.enqueue("k")
	f.insert("run_after", fmt.Sprint(f.store.Now().Add(time.Hour).UnixMicro()))
	f.wantWhy(id, inspect.ReasonNoWorker)
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "scheduled jobs", stats.Jobs[jobs.StatusScheduled], 2)
	want(f, "pending jobs", stats.Jobs[jobs.StatusPending], 1)
	want(f, "since when a due job waits", stats.OldestPending.UnixMicro(), f.get(id).RunAfter.UnixMicro())
	if want := []inspect.UnhandledWork{{Queue: jobs.DefaultQueue, Kind: "k", Jobs: 2}}; !slices.Equal(stats.Unhandled, want) {
		f.Errorf("due jobs without a worker are %+v, not %+v", stats.Unhandled, want)
	}
	queues, err := inspect.New(f.client).Queues(f.ctx)
	f.must(err)
	want(f, "queues", len(queues), 1)
	want(f, "the oldest due job of the queue", queues[0].Oldest.UnixMicro(), f.get(id).RunAfter.UnixMicro())
}
