package conformance

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/runner"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

var sourceTests = []test{
	{"Lanes", testLanes},
	{"LanesBesideHandover", testLanesBesideHandover},
	{"LanesAlone", testLanesAlone},
}

// lanes is a second source of claimable jobs, beside the pending jobs. Each lane lets one job run at a time. The jobs of the lanes are
// scheduled for the far future, and so no other source has them.
type lanes struct {
	mu      sync.Mutex
	waiting [3][]laneJob // by priority, the highest first
	running [3]int64     // the running job of each lane; 0: none
	most    [3]int       // the largest number of jobs of each lane that ran at once
	inVain  int          // looks while each lane with jobs ran one
}

type laneJob struct{ id, priority int64 }

// heads returns the lanes that could start a job, the one with the highest priority first. Callers hold mu.
func (l *lanes) heads() (free []int) {
	for i := range l.waiting {
		if l.running[i] == 0 && len(l.waiting[i]) > 0 {
			free = append(free, i)
		}
	}
	slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(l.waiting[b][0].priority, l.waiting[a][0].priority) })
	return free
}

// MayHave implements [runner.Source].
func (l *lanes) MayHave(engine.Next) bool { return true }

// Queues implements [runner.Source].
func (l *lanes) Queues(_ context.Context, _ db.Querier, _ engine.Look, queues []string) ([]string, time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.heads()) == 0 {
		l.inVain++
	}
	if len(l.heads()) == 0 || !slices.Contains(queues, jobs.DefaultQueue) {
		return nil, time.Time{}, nil
	}
	return []string{jobs.DefaultQueue}, time.Time{}, nil
}

// Peek implements [runner.Source].
func (l *lanes) Peek(_ context.Context, _ db.Querier, _ engine.Look, _ string, n int64) (priorities []int64, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.heads() {
		priorities = append(priorities, l.waiting[i][0].priority)
	}
	return priorities[:min(len(priorities), int(n))], nil
}

// Claim implements [runner.Source].
func (l *lanes) Claim(ctx context.Context, q db.Querier, by engine.Claimer, claim engine.QueueClaim, now time.Time) ([]runner.Claimed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	us := core.Micros(now)
	for _, i := range l.heads()[:min(len(l.heads()), int(claim.N))] {
		id := l.waiting[i][0].id
		if _, err := q.UpdateWaitingJob(ctx, db.UpdateWaitingJobParams{Now: us, RunAfter: &us, ID: id}); err != nil {
			return nil, err
		}
		claim.IDs = append(claim.IDs, id)
	}
	if _, err := q.PromoteListedJobs(ctx, engine.Promote{IDs: claim.IDs}.Listed(now)); err != nil {
		return nil, err
	}
	rows, err := by.ClaimListed(ctx, q, claim, now)
	return core.Map(rows, func(row db.ClaimJobsRow) runner.Claimed { return runner.Claimed{Row: row} }), err
}

// HasUnfinished implements [runner.Source].
func (l *lanes) HasUnfinished(context.Context, db.Querier, engine.Look, []string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.waiting[:], func(list []laneJob) bool { return len(list) > 0 }), nil
}

// start records that a job of a lane runs: the lane is closed to others until end.
func (l *lanes) start(id int64) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, list := range l.waiting {
		if len(list) == 0 || list[0].id != id {
			continue
		}
		if l.running[i] != 0 {
			l.most[i] = 2
		}
		l.waiting[i], l.running[i] = list[1:], id
		return func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.running[i] = 0
		}
	}
	return func() {}
}

// lanesOf enqueues n jobs for each of three lanes. The first job of each lane has the highest priority.
func (f *fixture) lanesOf(n int) *lanes {
	f.Helper()
	l := &lanes{}
	for i := range l.waiting {
		for k := range n {
			priority := 100*(i+1) - k
			id := f.enqueue("lane", jobs.In(10000*time.Hour), jobs.Priority(priority))
			l.waiting[i] = append(l.waiting[i], laneJob{id, int64(priority)})
		}
	}
	return l
}

// runLanes runs a worker with the lanes as a further source. The kinds have the same handler.
func (f *fixture) runLanes(ctx context.Context, l *lanes, drain bool, registry *runner.Registry, slots int, ran func(jobs.Job)) error {
	f.Helper()
	run := func(_ context.Context, job *jobtype.Job) error {
		defer l.start(job.ID)()
		ran(*job)
		return nil
	}
	handler := &runner.Handler{Settings: jobrow.Settings{MaxAttempts: 3}, RetryDelay: runner.DefaultRetryDelay, Run: run}
	return runner.Run(ctx, runner.Config{
		Grace: time.Second, Lease: 30 * time.Second, StuckAfter: time.Minute, Stop: time.Minute, MaxCrashes: 3, Drain: drain,
		HistoryNames: 10, Log: slog.New(slog.DiscardHandler),
	}, runner.Options{
		Scope: &engine.Scope{Store: engine.StoreOf(f.client.Store())}, Registry: registry,
		Queues:   runner.NewQueues(map[string]int{jobs.DefaultQueue: slots}),
		Handlers: map[string]*runner.Handler{"k": handler, "lane": handler, "many": handler}, Sources: []runner.Source{l},
		Prepare: func(context.Context) error { return nil }, Schedules: "[]", Settings: &jobrow.Declared{},
	})
}

// dueJob returns the columns of a job that is due now.
func (f *fixture) dueJob(kind string) db.EnqueueKeylessJobParams {
	now := core.Micros(engine.StoreOf(f.client.Store()).Now())
	return db.EnqueueKeylessJobParams{
		Kind: kind, Queue: jobs.DefaultQueue, Payload: "{}", Status: string(jobs.StatusPending), MaxAttempts: 3, RunAfter: now, Now: now,
	}
}

// A drain runs the jobs of all sources, the best first by priority, and lets each lane run one job at a time.
func testLanes(f *fixture) {
	l := f.lanesOf(4)
	for range 5 {
		f.enqueue("k", jobs.Priority(150)) // after the head of two lanes, and before the third lane
	}
	var order []string
	var mu sync.Mutex
	f.must(f.runLanes(f.ctx, l, true, &runner.Registry{}, 1, func(job jobs.Job) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, job.Kind)
	}))
	want(f, "the jobs that ran", len(order), 17)
	for i, kind := range order {
		// 300, 299 ... of the third lane, then 200 ... 197 of the second, then the pending jobs, then the first lane.
		if due := i >= 8 && i < 13; due != (kind == "k") {
			f.Errorf("the jobs ran in the order %q", order)
			break
		}
	}
	want(f, "the largest number of jobs of a lane at once", slices.Max(l.most[:]), 0)
}

// With several slots each lane still runs one job at a time, and jobs without a lane fill the others. The idle worker then accepts a job
// during its enqueue.
func testLanesBesideHandover(f *fixture) {
	l, registry := f.lanesOf(6), &runner.Registry{}
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	ran := make(chan jobs.Job, 100)
	done := make(chan error, 1)
	go func() { done <- f.runLanes(ctx, l, false, registry, 4, func(job jobs.Job) { ran <- job }) }()
	for range 20 {
		f.enqueue("k")
	}
	kinds := map[string]int{}
	for range 38 {
		kinds[receive(f, "a job", ran).Kind]++
	}
	f.eventually("the idle worker accepts a job", func() bool {
		ids, accepted, err := registry.HandOver(ctx, engine.Insert{Job: f.dueJob("k")})
		if accepted {
			f.must(err)
			want(f, "the handed-over job", receive(f, "the handed-over job", ran).ID, ids[0])
		}
		return accepted
	})
	cancel()
	f.must(<-done)
	want(f, "jobs of lanes", kinds["lane"], 18)
	want(f, "the largest number of jobs of a lane at once", slices.Max(l.most[:]), 0)
}

// The end of a job lets the next one of its lane run at once, also when nothing else wakes the worker.
func testLanesAlone(f *fixture) {
	l := f.lanesOf(2)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	release, ran, done := make(chan struct{}), make(chan struct{}, 6), make(chan error, 1)
	go func() {
		done <- f.runLanes(ctx, l, false, &runner.Registry{}, 4, func(jobs.Job) {
			<-release
			ran <- struct{}{}
		})
	}()
	f.eventually("the worker finds no further job", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.running != [3]int64{} && l.inVain > 0
	})
	close(release)
	late := time.After(15 * time.Second)
	for i := range 6 {
		select {
		case <-ran:
		case <-late:
			f.Fatalf("only %d jobs have run", i)
		}
	}
	cancel()
	f.must(<-done)
}

// A job that the database does not let a worker claim keeps no job of a further source from running.
func testLanesBesideRefusals(f *fixture, _ func(*fixture, string)) {
	ids, l := f.addRuled(100), f.lanesOf(4)
	ctx, cancel := context.WithTimeout(f.ctx, 30*time.Second)
	defer cancel()
	ran := map[string]int{}
	var mu sync.Mutex
	f.must(f.runLanes(ctx, l, true, &runner.Registry{}, 10, func(job jobs.Job) {
		mu.Lock()
		defer mu.Unlock()
		ran[job.Kind]++
	}))
	f.must(ctx.Err()) // the drain has ended by itself
	want(f, "jobs of lanes that ran", ran["lane"], 12)
	refused := 0
	for i, id := range ids {
		if text := refusedFor(id, i < 50); text == noClaim || text == noPromotion {
			refused++
		}
	}
	want(f, "jobs without a lane that ran", ran["many"], 100-refused)
	want(f, "the largest number of jobs of a lane at once", slices.Max(l.most[:]), 0)
}
