package conformance

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

var rescueTests = []test{
	{"NameOfALiveWorker", testNameTaken},
	{"NameOfADeadWorker", testNameFree},
	{"BootReleases", func(f *fixture) { testBoot(f, jobs.OnBootPending) }},
	{"BootFails", func(f *fixture) { testBoot(f, jobs.OnBootFailed) }},
	{"BootBesideALiveWorker", testBootBesideLive},
	{"CrashWhileRunning", testCrashWhileRunning},
	{"ThreeCrashesFail", testThreeCrashes},
	{"SnoozesForgiveNoCrash", testSnoozesBetweenCrashes},
	{"LastChancesOneAtATime", testLastChances},
	{"LastAttemptCrashes", testLastAttemptCrashes},
	{"CancelRequestedThenCrash", testCancelThenCrash},
	{"LeaseOver", testLeaseOver},
	{"LeaseOfOneJobOver", testJobLeaseOver},
	{"LeaseIsRenewed", testLeaseRenewed},
	{"UnknownHolder", testUnknownHolder},
	{"NoLock", testNoLock},
	{"RestoredBackup", testRestoredBackup},
}

func testNameTaken(f *fixture) {
	f.start(jobs.Config{Name: "w"}, on("k", nothing))
	f.ended(f.enqueue("k"))
	err := f.runner(f.elsewhere(), jobs.Config{Name: "w"}, on("k", nothing)).Run(f.ctx)
	if !errors.Is(err, jobs.ErrWorkerName) {
		f.Errorf("Run gives %v", err)
	}
}

func testNameFree(f *fixture) {
	f.ghost("w", time.Hour).die()
	id := f.enqueue("k")
	f.drain(jobs.Config{Name: "w"}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
}

func testBoot(f *fixture, policy jobs.OnBoot) {
	ids := f.many(3)
	g := f.ghost("dead", time.Hour)
	want(f, "claimed", len(g.claim(2, time.Hour)), 2)
	g.die()
	f.drain(jobs.Config{OnBoot: policy}, on("k", nothing))
	for i, id := range ids {
		job := f.get(id)
		switch {
		case i == 2:
			want(f, "attempt of the job without a holder", job.Attempt, 1)
			want(f, "status of the job without a holder", job.Status, jobs.StatusDone)
			continue
		case policy == jobs.OnBootFailed:
			want(f, "status", job.Status, jobs.StatusFailed)
			want(f, "attempt", job.Attempt, 1)
			if !strings.Contains(job.LastError, "dead") {
				f.Errorf("the last error %q does not name the worker", job.LastError)
			}
		default:
			want(f, "status", job.Status, jobs.StatusDone)
			want(f, "attempt", job.Attempt, 2)
		}
		want(f, "crashes", job.Crashes, 1)
		e := f.wantError(id, jobs.CauseCrash, "dead")
		want(f, "worker of the crash", e.Worker, "dead")
	}
}

func testBootBesideLive(f *fixture) {
	ids := f.many(4)
	alive, dead := f.ghost("alive", time.Hour), f.ghost("dead", time.Hour)
	held := map[int64]int64{}
	for _, row := range alive.claim(2, time.Hour) {
		held[row.ID] = row.Attempt
	}
	want(f, "claimed by the dead", len(dead.claim(2, time.Hour)), 2)
	dead.die()
	runner := f.runner(f.client, jobs.Config{OnBoot: jobs.OnBootFailed}, on("k", nothing))
	drained := make(chan error, 1)
	go func() { drained <- runner.Drain(f.ctx) }()
	for _, id := range ids {
		if _, ok := held[id]; !ok {
			want(f, "status of the dead worker's job", f.ended(id).Status, jobs.StatusFailed)
		}
	}
	for id, attempt := range held {
		job := f.get(id)
		want(f, "status of the live worker's job", job.Status, jobs.StatusRunning)
		want(f, "holder of the live worker's job", job.WorkerID, alive.id)
		want(f, "errors of the live worker's job", len(f.errors(id)), 0)
		want(f, "rows that the live worker completes", alive.complete(id, attempt), 1)
	}
	f.must(receive(f, "the drain's end", drained))
	f.must(alive.release(true))
}

func testCrashWhileRunning(f *fixture) {
	ids := f.many(3)
	g := f.ghost("doomed", time.Hour)
	g.claim(3, time.Hour)
	f.start(jobs.Config{}, on("k", nothing), on("first", nothing))
	f.ended(f.enqueue("first")) // the boot is over
	for _, id := range ids {
		want(f, "status while the worker lives", f.get(id).Status, jobs.StatusRunning)
	}
	g.die()
	for _, id := range ids {
		job := f.ended(id)
		want(f, "status", job.Status, jobs.StatusDone)
		want(f, "attempt", job.Attempt, 2)
		f.wantError(id, jobs.CauseCrash, "doomed")
	}
}

func testThreeCrashes(f *fixture) {
	id := f.many(1)[0]
	for crash := range 3 {
		g := f.ghost("killed", time.Hour)
		want(f, "claimed", len(g.claim(1, time.Hour)), 1)
		g.die()
		want(f, "crashes before the boot", f.get(id).Crashes, crash)
		f.drain(jobs.Config{}, on("other", nothing)) // a boot that does not run the job
	}
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusFailed)
	want(f, "crashes", job.Crashes, 3)
	want(f, "attempt", job.Attempt, 3)
	want(f, "errors", len(f.errors(id)), 3)
	f.must(f.client.Retry(f.ctx, id))
	want(f, "crashes after a retry", f.get(id).Crashes, 0)
}

// Crashes add up over the whole life of a job, as the Go doc of MaxCrashes says.
func testSnoozesBetweenCrashes(f *fixture) {
	id := f.many(1)[0]
	for crash := range 3 {
		f.must(f.client.Update(f.ctx, id, jobs.SetRunAfter(f.store.Now())))
		f.drain(jobs.Config{}, on("other", nothing)) // makes it pending
		g := f.ghost("killed", time.Hour)
		want(f, "claimed", len(g.claim(1, time.Hour)), 1)
		g.die()
		f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return jobs.Snooze(time.Hour) }))
		want(f, "crashes", f.get(id).Crashes, crash+1)
	}
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusFailed)
	want(f, "attempts that went well", job.Uncounted, 2)
}

func testLastAttemptCrashes(f *fixture) {
	id := f.many(1, jobs.MaxAttempts(1))[0]
	g := f.ghost("killed", time.Hour)
	g.claim(1, time.Hour)
	g.die()
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusFailed)
}

func testCancelThenCrash(f *fixture) {
	id := f.many(1)[0]
	g := f.ghost("killed", time.Hour)
	g.claim(1, time.Hour)
	status, err := f.client.Cancel(f.ctx, id)
	f.must(err)
	want(f, "status by Cancel", status, jobs.StatusRunning)
	g.die()
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusCancelled)
}

func testLeaseOver(f *fixture) {
	id := f.many(1)[0]
	g := f.ghost("stopped", -time.Second) // it holds its lock, but has not renewed its lease
	rows := g.claim(1, -time.Second)
	f.drain(jobs.Config{}, on("k", nothing))
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 2)
	want(f, "crashes", job.Crashes, 0)
	f.wantError(id, jobs.CauseLost, "stopped")
	want(f, "rows that the stopped worker completes", g.complete(id, rows[0].Attempt), 0)
	f.must(g.release(true))
}

func testJobLeaseOver(f *fixture) {
	id := f.many(1)[0]
	g := f.ghost("forgetful", time.Hour) // the worker lives, but has not renewed this job's lease
	g.claim(1, -time.Second)
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "attempt", f.get(id).Attempt, 2)
	f.wantError(id, jobs.CauseLost, "forgetful")
	f.must(g.release(true))
}

func testLeaseRenewed(f *fixture) {
	release := make(chan struct{})
	r, id := f.blocked(jobs.Config{Lease: 3 * time.Second}, release, true)
	first := f.get(id).LeaseUntil
	f.eventually("the lease is renewed twice", func() bool { return f.get(id).LeaseUntil.Sub(first) > 1500*time.Millisecond })
	want(f, "attempt", f.get(id).Attempt, 1)
	close(release)
	want(f, "status", f.ended(id).Status, jobs.StatusDone)
	f.must(r.stop())
}

func testUnknownHolder(f *fixture) {
	id := f.many(1)[0]
	g := f.ghost("pruned", time.Hour)
	g.claim(1, time.Hour)
	f.must(g.release(true))
	f.write(func(ctx context.Context, q db.Querier) error {
		now := f.store.Now().UnixMicro()
		if _, err := q.EndWorker(ctx, db.EndWorkerParams{Now: now, EndReason: "stopped", ID: g.id}); err != nil {
			return err
		}
		_, err := q.DeleteEndedWorkers(ctx, now+1)
		return err
	})
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "attempt", f.get(id).Attempt, 2)
	f.wantError(id, jobs.CauseCrash, "unknown")
}

// testNoLock checks that a worker without a lock, as behind a pooler, lives until its lease is over. A restored backup has running jobs,
// whose workers' leases are over and whose locks are gone. A worker rescues them at its start, also one that ends before it judges
// leases: two thirds of its own lease after the start.
func testRestoredBackup(f *fixture) {
	id := f.many(1)[0]
	g := f.ghost("of the backup", -time.Second)
	g.claim(1, -time.Second)
	f.must(g.release(true))
	f.drain(jobs.Config{Lease: 24 * time.Hour}, on("k", nothing))
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusDone)
	want(f, "attempt", job.Attempt, 2)
	want(f, "errors", len(f.errors(id)), 1)
}

func testNoLock(f *fixture) {
	id := f.many(1)[0]
	g := f.lockless("unlocked", time.Hour)
	rows := g.claim(1, time.Hour)
	f.start(jobs.Config{}, on("k", nothing), on("first", nothing))
	f.ended(f.enqueue("first"))
	want(f, "status", f.get(id).Status, jobs.StatusRunning)
	want(f, "rows that the worker completes", g.complete(id, rows[0].Attempt), 1)
}
