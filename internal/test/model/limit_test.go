package model

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sqluice/sqluice/db"
	port "github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/limits"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/runner"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// limitedKind is the kind of the jobs.
const limitedKind = "k"

// limitedKinds is a list of it, as statements take it.
const limitedKinds = `["k"]`

var (
	limitKeys   = []string{"a", "b", ""}
	limitQueues = []string{jobs.DefaultQueue, "q"}
	limitValues = []jobs.LimitValues{
		{Running: 1}, {Running: 2}, {Running: 5}, {Rate: jobs.Per(1, time.Second)}, {Rate: jobs.Per(3, 100*time.Millisecond), Burst: 2},
		{Running: 2, Rate: jobs.Per(1, 10*time.Millisecond), Burst: 3}, {Ordered: true}, {Ordered: true, OnFail: jobs.OnFailSkip},
		{Ordered: true, OnFail: jobs.OnFailCancel}, {Ordered: true, Rate: jobs.Per(1, 10*time.Millisecond)},
		{Weight: 3}, {Running: 3, Weight: 2}, {Rate: jobs.Per(5, 10*time.Millisecond), Burst: 4, Weight: 1000},
	}
	limitWholes      = []whole{{}, {jobs.DefaultQueue}, {"q"}}
	limitWholeValues = []jobs.LimitValues{
		{Running: 1}, {Running: 4}, {Rate: jobs.Per(1, time.Second)}, {Running: 3, Rate: jobs.Per(2, 10*time.Millisecond), Burst: 3},
	}
	limitDelays = []time.Duration{0, 10 * time.Millisecond, time.Second}
	limitPasses = []time.Duration{time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second, time.Hour}
)

// TestLimits does random steps with limit keys on an engine. After each step the statuses must be those of the model, no lane may wait
// while its key has room, and a claim starts as many jobs as the limits allow.
func TestLimits(t *testing.T) {
	checkLimited(t, func(t *rapid.T, l *limitedMachine) {
		t.Repeat(map[string]func(*rapid.T){
			"": l.check, "enqueue": l.enqueue, "claim": l.claim, "claim more": l.claim, "end": l.end, "end another": l.end, "pass": l.pass,
			"set a limit": l.setLimit, "delete a limit": l.deleteLimit, "limit a whole": l.setWhole, "delete that": l.deleteWhole, "cancel": l.cancel, "crash": l.crash,
			"complete in a transaction": l.completeTx, "delete": l.delete, "retry": l.retry, "delete a failed one": l.deleteFailed, "resume": l.resume,
			"end some together": l.endTogether,
		})
	})
}

// checkLimited checks a property of an engine that has a worker and is empty otherwise, on each engine.
func checkLimited(t *testing.T, property func(*rapid.T, *limitedMachine)) {
	for name, open := range map[string]func(*testing.T, *clock) *engine{"SQLite": openSQLite, "PostgreSQL": openPostgres} {
		t.Run(name, func(t *testing.T) {
			c := &clock{}
			e := open(t, c)
			rapid.Check(t, func(t *rapid.T) {
				ctx, cancel := context.WithTimeout(t.Context(), hang)
				defer cancel()
				c.set(start)
				c.process.Store(0)
				if err := e.reset(ctx); err != nil {
					t.Fatalf("clear %s: %v", e.name, err)
				}
				l := &limitedMachine{ctx: ctx, engine: e, model: newLimitedQueue(start)}
				l.startWorker(t)
				defer func() { l.must(t, e.releaseLock(ctx, l.worker, true)) }()
				property(t, l)
			})
		})
	}
}

// limitedMachine does each step on the model and on an engine.
type limitedMachine struct {
	ctx    context.Context
	engine *engine
	model  *limitedQueue
	source limits.Source
	worker int64 // the engine's id of the worker that the test plays
	wakes  int   // that it has played
}

func (l *limitedMachine) must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func (l *limitedMachine) write(t *rapid.T, fn port.Func) {
	l.must(t, l.engine.writeElsewhere(l.ctx, fn))
}

func (l *limitedMachine) startWorker(t *rapid.T) {
	key, release, err := l.engine.store.WorkerLocks().HoldWorkerLock(l.ctx)
	l.must(t, err)
	l.wakes++
	l.write(t, func(ctx context.Context, q db.Querier) (err error) {
		l.worker, err = q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: fmt.Sprint("w", l.wakes), LockKey: key, Host: "host", Pid: 1, Queues: `{"default":9,"q":9}`, Kinds: limitedKinds,
			Now: micro(l.model.now), LeaseUntil: micro(l.model.now.Add(24 * 365 * time.Hour)),
		})
		return err
	})
	l.engine.locks[l.worker] = workerLock{key, release}
}

func (l *limitedMachine) enqueue(t *rapid.T) {
	key, queue := pick(t, "key", limitKeys), pick(t, "queue", limitQueues)
	priority, delay := pick(t, "priority", []int{0, 5}), pick(t, "delay", limitDelays)
	l.add(t, rapid.IntRange(1, 3).Draw(t, "jobs"), key, queue, priority, delay)
}

// add enqueues n jobs.
func (l *limitedMachine) add(t *rapid.T, n int, key, queue string, priority int, delay time.Duration) {
	for range n {
		receipt, err := l.engine.client.Enqueue(l.ctx, limitedKind, json.RawMessage("{}"),
			jobs.LimitKey(key), jobs.Queue(queue), jobs.Priority(priority), jobs.In(delay))
		l.must(t, err)
		due := l.model.now
		if delay > 0 {
			due = due.Add(delay)
		}
		status := jobs.StatusWaiting
		if delay > 0 || l.engine.store.LocksRows() {
			status = jobs.StatusScheduled // until a promotion
		}
		l.model.jobs[receipt.ID] = &limitedJob{id: receipt.ID, key: key, queue: queue, priority: priority, due: due, status: status}
		t.Logf("job %d: key %q, queue %s, priority %d, in %s", receipt.ID, key, queue, priority, delay)
	}
}

// claim promotes due jobs and claims from a queue, as often as a runner with free slots does.
func (l *limitedMachine) claim(t *rapid.T) {
	l.claimFrom(t, pick(t, "queue", limitQueues), rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(16, 24)).Draw(t, "slots"))
}

// claimFrom claims n jobs from a queue; fewer if the limits allow fewer.
func (l *limitedMachine) claimFrom(t *rapid.T, queue string, n int) {
	l.model.promote()
	want := l.model.startable(queue, n)
	var started []int64
	const most = 100 // claims
	for claims := 0; len(started) < n && l.hasReady(t, queue); claims++ {
		if claims == most {
			t.Fatalf("%d claims leave a lane ready", most)
		}
		for _, j := range l.claimOnce(t, queue, n-len(started)) {
			started = append(started, j.Row.ID)
		}
	}
	t.Logf("claim %d of %s: %v", n, queue, started)
	if len(started) != want {
		t.Fatalf("%d jobs start, not %d", len(started), want)
	}
	// The best of each key first, as the rows come in any order.
	slices.SortFunc(started, func(a, b int64) int {
		switch x, y := l.model.jobs[a], l.model.jobs[b]; {
		case x == nil || y == nil || x == y:
			return 0
		case limitedBefore(x, y):
			return -1
		}
		return 1
	})
	for _, id := range started {
		if fault := l.model.start(id, queue); fault != "" {
			t.Fatalf("job %d has started though %s", id, fault)
		}
	}
}

// hasReady promotes due jobs, and reports whether a claim would look at a lane of the queue.
func (l *limitedMachine) hasReady(t *rapid.T, queue string) bool {
	l.write(t, func(ctx context.Context, q db.Querier) error {
		made := lifecycle.NewTransitions()
		if _, err := lifecycle.PromoteLimited(ctx, q, l.model.now, 1000, made); err != nil {
			return err
		}
		return made.Conclude(ctx, q, micro(l.model.now))
	})
	var found []string
	l.must(t, l.engine.store.Read(l.ctx, func(ctx context.Context, q db.Querier) (err error) {
		found, _, err = l.source.Queues(ctx, q, port.Look{Kinds: limitedKinds, Now: l.model.now}, []string{queue})
		return err
	}))
	return len(found) > 0
}

func (l *limitedMachine) claimOnce(t *rapid.T, queue string, n int) (claimed []runner.Claimed) {
	quick := map[string]bool{limitedKind: rapid.Bool().Draw(t, "quick")}
	by := port.Claimer{WorkerID: l.worker, Lease: 24 * 365 * time.Hour, Kinds: limitedKinds}
	l.write(t, func(ctx context.Context, q db.Querier) (err error) {
		claimed, err = l.source.Claim(ctx, q, by, port.QueueClaim{Queue: queue, N: int64(n), Quick: quick}, l.model.now)
		return err
	})
	return claimed
}

// anyRunning draws a running job; nil: there is none.
func (l *limitedMachine) anyRunning(t *rapid.T) *limitedJob {
	running := l.model.having(jobs.StatusRunning)
	if len(running) == 0 {
		t.Skip("no job runs")
	}
	return running[rapid.IntRange(0, len(running)-1).Draw(t, "running job")]
}

// end ends an attempt.
func (l *limitedMachine) end(t *rapid.T) {
	j := l.anyRunning(t)
	delay := pick(t, "delay", limitDelays)
	key := j.key
	end := &lifecycle.End{Job: &jobs.Job{
		ID: j.id, Kind: limitedKind, Queue: j.queue, Attempt: j.attempt, WorkerID: l.worker, LimitKey: &key, StartedAt: l.model.now,
	}}
	way := pick(t, "end", []string{"done", "done", "failed", "retry", "snooze", "release", "unstarted", "throttle"})
	later := l.model.now.Add(delay)
	switch way {
	case "done":
		j.status = jobs.StatusDone
	case "failed":
		end.Fate, end.Cause, end.Message = lifecycle.FateFail, jobs.CauseError, "bad"
		j.status = jobs.StatusFailed
		l.model.cancelBehind(key)
	case "retry":
		end.Fate, end.Delay, end.Cause, end.Message = lifecycle.FateRetry, delay, jobs.CauseError, "bad"
		l.model.again(j, later)
	case "snooze":
		end.Fate, end.Delay = lifecycle.FateSnooze, delay
		l.model.again(j, later)
	case "release":
		end.Fate = lifecycle.FateRelease
		l.model.again(j, j.due)
	case "unstarted":
		end.Fate = lifecycle.FateReturn
		l.model.again(j, j.due)
	case "throttle":
		end.Fate, end.Delay, end.Throttle = lifecycle.FateSnooze, delay, true
		l.model.again(j, j.due)
		if later.After(l.model.closed[key]) {
			l.model.closed[key] = later
		}
	}
	t.Logf("job %d: %s, %s", j.id, way, delay)
	l.write(t, func(ctx context.Context, q db.Querier) error {
		made := lifecycle.NewTransitions()
		if err := lifecycle.Hide(ctx, q, []*lifecycle.End{end}); err != nil {
			return err
		}
		lost, err := lifecycle.Finish(ctx, l.engine.store, q, l.model.now, []*lifecycle.End{end}, made)
		if err == nil && len(lost) > 0 {
			err = fmt.Errorf("job %d is lost", j.id)
		}
		if err != nil {
			return err
		}
		return made.Conclude(ctx, q, micro(l.model.now))
	})
}

func (l *limitedMachine) pass(t *rapid.T) {
	l.model.now = l.model.now.Add(pick(t, "time", limitPasses))
	l.engine.clock.set(l.model.now)
}

func (l *limitedMachine) setLimit(t *rapid.T) {
	key, v := pick(t, "key", limitKeys), pick(t, "limit", limitValues)
	t.Logf("the limit of %q is %+v", key, v)
	l.must(t, l.engine.client.SetLimit(l.ctx, limitedKind, key, v))
	l.model.limits[key] = v
}

func (l *limitedMachine) deleteLimit(t *rapid.T) {
	key := pick(t, "key", limitKeys)
	_, set := l.model.limits[key]
	deleted, err := l.engine.client.DeleteLimit(l.ctx, limitedKind, key)
	l.must(t, err)
	if deleted != set {
		t.Fatalf("the limit of %q was deleted: %t, not %t", key, deleted, set)
	}
	delete(l.model.limits, key)
}

// setWhole sets the limit of all jobs of the kind, or of a queue.
func (l *limitedMachine) setWhole(t *rapid.T) {
	of, v := pick(t, "whole", limitWholes), pick(t, "limit", limitWholeValues)
	t.Logf("the limit of %+v is %+v", of, v)
	if of.queue == "" {
		l.must(t, l.engine.client.SetTotalLimit(l.ctx, limitedKind, v))
	} else {
		l.must(t, l.engine.client.SetQueueLimit(l.ctx, of.queue, v))
	}
	l.model.wholes[of] = v
}

func (l *limitedMachine) deleteWhole(t *rapid.T) {
	of := pick(t, "whole", limitWholes)
	var deleted bool
	var err error
	if of.queue == "" {
		deleted, err = l.engine.client.DeleteTotalLimit(l.ctx, limitedKind)
	} else {
		deleted, err = l.engine.client.DeleteQueueLimit(l.ctx, of.queue)
	}
	l.must(t, err)
	if _, set := l.model.wholes[of]; deleted != set {
		t.Fatalf("the limit of %+v was deleted: %t, not %t", of, deleted, set)
	}
	delete(l.model.wholes, of)
}

// anyUnstarted draws a job that waits.
func (l *limitedMachine) anyUnstarted(t *rapid.T) *limitedJob {
	list := append(l.model.having(jobs.StatusScheduled), l.model.having(jobs.StatusWaiting)...)
	if len(list) == 0 {
		t.Skip("no job waits")
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(t, "job that waits")]
}

func (l *limitedMachine) cancel(t *rapid.T) {
	j := l.anyUnstarted(t)
	_, err := l.engine.client.Cancel(l.ctx, j.id)
	l.must(t, err)
	j.status = jobs.StatusCancelled
}

func (l *limitedMachine) delete(t *rapid.T) {
	j := l.anyUnstarted(t)
	l.must(t, l.engine.client.Delete(l.ctx, j.id))
	delete(l.model.jobs, j.id)
}

// anyFailed draws a failed job.
func (l *limitedMachine) anyFailed(t *rapid.T) *limitedJob {
	failed := l.model.having(jobs.StatusFailed)
	if len(failed) == 0 {
		t.Skip("no job has failed")
	}
	return failed[rapid.IntRange(0, len(failed)-1).Draw(t, "failed job")]
}

func (l *limitedMachine) retry(t *rapid.T) {
	j := l.anyFailed(t)
	l.must(t, l.engine.client.Retry(l.ctx, j.id))
	l.model.again(j, l.model.now)
}

func (l *limitedMachine) deleteFailed(t *rapid.T) {
	j := l.anyFailed(t)
	l.must(t, l.engine.client.Delete(l.ctx, j.id))
	delete(l.model.jobs, j.id)
}

// resume lets the jobs of a key go on that a failed one holds.
func (l *limitedMachine) resume(t *rapid.T) {
	key := pick(t, "key", limitKeys)
	held := l.model.heldBy(key)
	resumed, err := l.engine.client.ResumeSequence(l.ctx, limitedKind, key)
	l.must(t, err)
	if resumed != (held != 0) {
		t.Fatalf("the sequence of %q was resumed: %t, and job %d held it", key, resumed, held)
	}
	if resumed {
		l.model.passed[key] = held
	}
}

// crash ends the worker, whose jobs others rescue, and starts another one.
func (l *limitedMachine) crash(t *rapid.T) {
	l.must(t, l.engine.releaseLock(l.ctx, l.worker, false))
	l.must(t, l.engine.elsewhere(l.ctx, func(store port.Store) error {
		log := slog.New(slog.DiscardHandler)
		r := &maintenance.Rescuer{Store: store, Log: log, MaxCrashes: 1000, Notes: &refusal.Notes{Log: log}}
		return r.EndGoneWorkers(l.ctx, false, 0)
	}))
	for _, j := range l.model.having(jobs.StatusRunning) {
		l.model.again(j, j.due)
	}
	l.startWorker(t)
}

// completeTx ends an attempt like CompleteTx, which makes no lane ready, and mends the lanes as a worker does.
func (l *limitedMachine) completeTx(t *rapid.T) {
	j := l.anyRunning(t)
	j.status = jobs.StatusDone
	l.write(t, func(ctx context.Context, q db.Querier) error {
		_, err := q.CompleteJob(ctx, db.CompleteJobParams{Now: micro(l.model.now), ID: j.id, Attempt: int64(j.attempt), WorkerID: l.worker})
		return err
	})
	found, err := inspect.New(l.engine.client).RecountLanes(l.ctx)
	l.must(t, err)
	if found.Added != 0 {
		t.Fatalf("%d lanes were missing", found.Added)
	}
}

// check compares the statuses and the lanes with the model.
func (l *limitedMachine) check(t *rapid.T) {
	list, err := inspect.New(l.engine.client).List(l.ctx, inspect.Filter{Limit: inspect.MaxPage})
	l.must(t, err)
	if len(list) != len(l.model.jobs) && len(l.model.jobs) <= inspect.MaxPage {
		t.Fatalf("there are %d jobs, not %d", len(list), len(l.model.jobs))
	}
	for _, job := range list {
		if want := l.model.jobs[job.ID].status; job.Status != want {
			t.Fatalf("job %d is %s, not %s", job.ID, job.Status, want)
		}
	}
	l.checkLanes(t)
}

// checkLanes checks that each waiting job has a lane, and that each lane is ready, or will be by itself, when its key has room.
func (l *limitedMachine) checkLanes(t *rapid.T) {
	lanes := map[[2]string]db.Lane{}
	l.must(t, l.engine.store.Read(l.ctx, func(ctx context.Context, q db.Querier) error {
		rows, err := q.ListAllLanes(ctx)
		for _, row := range rows {
			lanes[[2]string{row.LimitKey, row.Queue}] = row
		}
		return err
	}))
	for _, j := range l.model.having(jobs.StatusWaiting) {
		lane, has := lanes[[2]string{j.key, j.queue}]
		switch {
		case !has:
			t.Fatalf("job %d waits in no lane", j.id)
		case lane.Priority < int64(j.priority):
			t.Fatalf("job %d has the priority %d, and its lane only %d", j.id, j.priority, lane.Priority)
		case l.model.isFull(j.key): // an end makes its lanes ready
		case l.model.isBehind(j.key, j.queue):
		case lane.ReadyAt == nil:
			t.Fatalf("the lane of job %d waits for an end, and its key is not full", j.id)
		case lane.ReadyAt != nil && *lane.ReadyAt > micro(l.model.now) && *lane.ReadyAt > micro(l.model.opens(j.key)):
			t.Fatalf("the lane of job %d is ready in %s, and its key opens in %s", j.id, time.UnixMicro(*lane.ReadyAt).Sub(l.model.now), l.model.opens(j.key).Sub(l.model.now))
		}
	}
}
