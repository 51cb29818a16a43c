package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var aheadTests = []test{
	{"OthersGetWaitingJobs", testAheadOthers},
	{"StopReleases", testAheadStop},
	{"Cancelled", testAheadCancelled},
	{"Goexit", testAheadGoexit},
	{"TimeBeginsWithTheHandler", testAheadTimeout},
	{"NoRiskyJobWaits", testAheadRisky},
	{"CrashChargesNoWaitingJob", testAheadCrash},
	{"LostLeaseIsExcusedOnce", testAheadLost},
	{"NegativeIsNone", testAheadNone},
	{"NoneWhereOneCrashFails", testAheadFatal},
}

// addMany adds jobs with the payload {}.
func (f *fixture) addMany(kind string, n int, opts ...jobs.EnqueueOption) []int64 {
	f.Helper()
	payloads := slices.Repeat([]json.RawMessage{json.RawMessage("{}")}, n)
	ids, err := receipts.IDs(f.client.EnqueueMany(f.ctx, kind, payloads, opts...))
	f.must(err)
	return ids
}

// stuckBehind starts a runner with one slot. It runs short jobs, after which it prefetches, and then one that runs
// until release is closed. It has prefetched some of the jobs behind that one.
func (f *fixture) stuckBehind(config jobs.Config, release chan struct{}, handle func(jobs.Job)) (r *running, slow int64, behind []int64) {
	f.Helper()
	f.addMany("short", 200, jobs.Priority(2))
	slow = f.enqueue("slow", jobs.Priority(1))
	behind = f.addMany("behind", 300)
	config.Queues, config.Ahead = map[string]int{jobs.DefaultQueue: 1}, 800
	started := make(chan struct{})
	r = f.start(config, on("short", nothing),
		on("slow", func(context.Context, jobs.Job) error {
			close(started)
			<-release
			return nil
		}),
		on("behind", func(_ context.Context, job jobs.Job) error { handle(job); return nil }))
	receive(f, "the slow job", started)
	return r, slow, behind
}

// testAheadOthers: an idle worker gets the jobs that another has claimed and cannot run.
func testAheadOthers(f *fixture) {
	release := make(chan struct{})
	_, slow, behind := f.stuckBehind(jobs.Config{}, release, func(job jobs.Job) {
		f.Errorf("job %d ran where no slot was free", job.ID)
	})
	f.startOn(f.elsewhere(), jobs.Config{}, on("behind", nothing))
	for _, id := range behind {
		job := f.ended(id)
		want(f, "status", job.Status, jobs.StatusDone)
		want(f, "attempts that count", job.Attempt-job.Uncounted, 1)
	}
	want(f, "status of the slow job", f.get(slow).Status, jobs.StatusRunning)
	close(release)
	want(f, "status of the slow job", f.ended(slow).Status, jobs.StatusDone)
}

// testAheadStop: jobs that wait for a slot are released before the handlers have ended.
func testAheadStop(f *fixture) {
	release := make(chan struct{})
	r, slow, behind := f.stuckBehind(jobs.Config{Grace: hang}, release, func(job jobs.Job) {
		f.Errorf("job %d was started by a worker that stops", job.ID)
	})
	r.cancel()
	for _, id := range behind {
		job := f.becomes(id, jobs.StatusPending)
		want(f, "attempts that count", job.Attempt-job.Uncounted, 0)
		want(f, "worker", job.WorkerID, 0)
	}
	close(release)
	f.must(receive(f, "the runner's end", r.done))
	want(f, "status of the slow job", f.get(slow).Status, jobs.StatusDone)
}

// testAheadCancelled: a job that is cancelled while it waits for a slot is never started.
func testAheadCancelled(f *fixture) {
	release := make(chan struct{})
	_, slow, behind := f.stuckBehind(jobs.Config{}, release, func(job jobs.Job) {
		f.Errorf("job %d was started after it had been cancelled", job.ID)
	})
	for _, id := range behind {
		_, err := f.client.Cancel(f.ctx, id)
		f.must(err)
	}
	for _, id := range behind {
		want(f, "status", f.ended(id).Status, jobs.StatusCancelled)
	}
	close(release)
	want(f, "status of the slow job", f.ended(slow).Status, jobs.StatusDone)
}

// testAheadGoexit: a handler that ends its goroutine does not lose the next job of that slot.
func testAheadGoexit(f *fixture) {
	ids := f.addMany("k", 300, jobs.MaxAttempts(1))
	var ran atomic.Int64
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}, Ahead: 800}, on("k", func(context.Context, jobs.Job) error {
		if ran.Add(1)%3 == 0 {
			runtime.Goexit()
		}
		return nil
	}))
	want(f, "handlers that ran", ran.Load(), int64(len(ids)))
	failed := 0
	for _, id := range ids {
		if f.get(id).Status == jobs.StatusFailed {
			failed++
		}
	}
	want(f, "jobs that failed", failed, len(ids)/3)
}

// testAheadTimeout: a job's timeout starts with its handler, not while it waits for a slot.
func testAheadTimeout(f *fixture) {
	f.addMany("short", 200, jobs.Priority(2))
	f.enqueue("slow", jobs.Priority(1))
	behind := f.addMany("behind", 20, jobs.Timeout(time.Hour))
	var slowEnded time.Time
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}, Ahead: 800}, on("short", nothing),
		on("slow", func(context.Context, jobs.Job) error {
			f.eventually("a job is claimed ahead", func() bool { return f.get(behind[0]).Attempt > 0 })
			slowEnded = time.Now()
			return nil
		}),
		on("behind", func(ctx context.Context, job jobs.Job) error {
			if deadline, ok := ctx.Deadline(); !ok || deadline.Before(slowEnded.Add(time.Hour)) {
				f.Errorf("the time of job %d ran before its handler was called", job.ID)
			}
			return nil
		}))
	want(f, "status", f.get(behind[0]).Status, jobs.StatusDone)
}

// testAheadCrash: the first crash costs no attempt of a job that may not have started, and the second one does: such a job has started. A job
// on its last attempt has started as well.
func testAheadCrash(f *fixture) {
	last := f.enqueue("k", jobs.MaxAttempts(1))
	two := f.enqueue("k", jobs.MaxAttempts(2))
	for i, death := range []struct {
		status    jobs.Status // afterwards
		uncounted int
	}{{jobs.StatusPending, 1}, {jobs.StatusPending, 1}, {jobs.StatusFailed, 1}} {
		g := f.ghost("doomed", time.Hour)
		g.prefetch(int64(2-min(i, 1)), time.Hour)
		g.die()
		f.must(inspect.New(f.client).RescueGone(f.ctx, quiet()))
		job := f.get(two)
		want(f, "status", job.Status, death.status)
		want(f, "attempt", job.Attempt, i+1)
		want(f, "attempts that do not count", job.Uncounted, death.uncounted)
		want(f, "crashes", job.Crashes, i+1)
	}
	for _, e := range f.errors(two) {
		want(f, "error", e.Message, "the process ended: worker doomed, and the handler may not have started")
	}
	job := f.get(last)
	want(f, "status of the job with one attempt", job.Status, jobs.StatusFailed)
	want(f, "its attempts that do not count", job.Uncounted, 0)
}

// testAheadLost: a lease that ran out costs no attempt of a job that may not have started, the first time.
func testAheadLost(f *fixture) {
	id := f.enqueue("k")
	for i := range 2 {
		g := f.ghost(fmt.Sprint("stopped ", i), -time.Second) // it holds its lock, but has not renewed its lease
		g.prefetch(1, -time.Second)
		f.must(inspect.New(f.client).RescueGone(f.ctx, quiet()))
		f.must(g.release(true))
	}
	job := f.get(id)
	want(f, "attempt", job.Attempt, 2)
	want(f, "attempts that do not count", job.Uncounted, 1)
	want(f, "crashes", job.Crashes, 0)
}

// testAheadNone: with a negative Ahead no job is claimed before a slot is free for it.
func testAheadNone(f *fixture) {
	f.addMany("short", 200)
	var handlers atomic.Int64
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 3}, Ahead: -1}, on("short", func(context.Context, jobs.Job) error {
		handlers.Add(1)
		if running := f.list(inspect.Filter{Status: jobs.StatusRunning}); len(running) > 3 {
			f.Errorf("%d jobs run, and there are 3 slots", len(running))
		}
		return nil
	}))
	want(f, "handlers that ran", handlers.Load(), int64(200))
}

// testAheadFatal: no job waits for a slot where the first crash fails a job, or leaves it to a person.
func testAheadFatal(f *fixture) {
	for name, config := range map[string]jobs.Config{"MaxCrashes 1": {MaxCrashes: 1}, "OnBootFailed": {OnBoot: jobs.OnBootFailed}} {
		behind := f.addMany("k", 300)
		f.addMany("short", 200, jobs.Priority(2))
		slow := f.enqueue("slow", jobs.Priority(1))
		config.Queues, config.Ahead = map[string]int{jobs.DefaultQueue: 1}, 800
		f.drain(config, on("short", nothing), on("k", nothing), on("slow", func(context.Context, jobs.Job) error {
			for _, id := range behind {
				if job := f.get(id); job.Status != jobs.StatusPending {
					f.Errorf("%s: job %d is %s while there is no slot for it", name, id, job.Status)
				}
			}
			return nil
		}))
		want(f, name+": status", f.get(slow).Status, jobs.StatusDone)
	}
}

// testAheadRisky: a job that a crash would fail does not wait for a slot, and no job waits beside one that may cause a
// crash.
func testAheadRisky(f *fixture) {
	for _, risky := range []struct {
		name    string
		opts    []jobs.EnqueueOption
		crashed bool // one of them was running when a process died
	}{
		{"last attempt", []jobs.EnqueueOption{jobs.MaxAttempts(1)}, false},
		{"crashed", nil, true},
	} {
		behind := f.addMany("k", 300, risky.opts...)
		if risky.crashed {
			ghost := f.ghost("died", time.Hour)
			ghost.claim(1, time.Hour)
			ghost.die()
			f.must(inspect.New(f.client).RescueGone(f.ctx, quiet()))
		}
		f.addMany("short", 200, jobs.Priority(2))
		slow := f.enqueue("slow", jobs.Priority(1))
		f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}, Ahead: 800}, on("short", nothing), on("k", nothing),
			on("slow", func(context.Context, jobs.Job) error {
				for _, id := range behind {
					if job := f.get(id); job.Status != jobs.StatusPending {
						f.Errorf("%s: job %d is %s while there is no slot for it", risky.name, id, job.Status)
					}
				}
				return nil
			}))
		want(f, risky.name+": status", f.get(slow).Status, jobs.StatusDone)
		for _, id := range behind {
			want(f, risky.name+": status", f.get(id).Status, jobs.StatusDone)
		}
	}
}
