package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// RunRefusals tests that a rule of the application which refuses some jobs affects no others: the rules are those of
// testdata/application_rules.sql, which exec runs, for jobs of the kind many by their ids.
func RunRefusals(t *testing.T, open Open, exec func(ctx context.Context, store Store, text string) error) {
	rules := func(f *fixture, name string) {
		f.Helper()
		text, err := os.ReadFile(filepath.Join("testdata", name+".sql"))
		f.must(err)
		f.must(exec(f.ctx, f.store, string(text)))
	}
	for name, run := range map[string]func(*fixture, func(*fixture, string)){
		"Many": testRefusalsOfMany, "OnePerUser": testOnePerUser, "OneWaits": testOneWaits, "Drain": testRefusalsInADrain, "ByHand": testRefusalsByHand,
		"Rescue": testRefusedRescue, "Counts": testRefusedCounts, "Workers": testRefusedWorkers,
		"Expiry": testRefusedExpiry, "Schedule": testRefusedSchedule, "ScheduleCancel": testIgnoredCancelOfASchedule, "Pauses": testRefusedPauses,
		"Times": testRefusalTimes, "Renewal": testRefusedRenewal, "PassesBesideKept": testPassesBesideKept, "Changes": testRefusedChanges,
		"Lanes": testLanesBesideRefusals, "Stop": testRefusedEndAtAStop, "Emptying": testRefusedEmptying, "IgnoredPauses": testIgnoredPauses, "Limits": testRefusedLimits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, open)
			rules(f, "application_rules")
			run(f, rules)
		})
	}
}

// A worker that stops while the database refuses the end of an attempt releases its job: it runs again, and the attempt does not count. One
// that cannot be released either is left to the rescue, and keeps the worker from nothing.
func testRefusedEndAtAStop(f *fixture, rules func(*fixture, string)) {
	id, stuck := f.addRuled(2)[0], f.enqueue("stuck")
	r := f.start(jobs.Config{Name: "stops"}, on("many", nothing), on("stuck", nothing))
	f.eventually("the ends are refused", func() bool {
		counts, err := inspect.New(f.client).Refusals(f.ctx)
		f.must(err)
		return counts["end"] == 2
	})
	f.must(r.stop())
	f.must(f.store.Read(f.ctx, func(ctx context.Context, q db.Querier) error {
		workers, err := q.ListWorkersFrom(ctx, db.ListWorkersFromParams{N: 10})
		if len(workers) != 1 || core.Deref(workers[0].EndReason) != core.EndStopped {
			f.Errorf("after the stop the workers are %+v", workers)
		}
		return err
	}))
	want(f, "status of the job that cannot be released", f.get(stuck).Status, jobs.StatusRunning)
	rules(f, "application_rules_gone")
	next := f.startOn(f.elsewhere(), jobs.Config{Name: "stops"}, on("many", nothing), on("stuck", nothing))
	f.wantReleased([]jobs.Job{f.ended(id)})
	want(f, "status of that job after the rescue", f.ended(stuck).Status, jobs.StatusDone)
	f.must(next.stop())
}

// A pause, or its end, that a trigger ignores changes nothing and is not in the audit. A new one is an error: nothing is paused.
func testIgnoredPauses(f *fixture, rules func(*fixture, string)) {
	rules(f, "ignore_pauses")
	if _, err := f.client.PauseQueue(f.as("ann"), "ignored"); err == nil || !strings.Contains(err.Error(), "sqluice_pauses") {
		f.Errorf("a new pause that is ignored gives %v", err)
	}
	_, err := f.client.PauseQueue(f.as("ann"), "q", jobs.PauseFor(time.Hour))
	f.must(err)
	changed, err := f.client.PauseQueue(f.as("bob"), "q", jobs.PauseFor(2*time.Hour))
	f.must(err)
	want(f, "whether a longer pause changed something", changed, false)
	changed, err = f.client.ResumeQueue(f.as("cay"), "q")
	f.must(err)
	want(f, "whether a resume changed something", changed, false)
	for _, e := range f.audit(inspect.AuditFilter{}) {
		want(f, "the actor of an entry", e.Actor, "ann")
	}
}

// A newest job that the database does not let the pruner empty is set aside, and emptied later by the same pruner.
func testRefusedEmptying(f *fixture, rules func(*fixture, string)) {
	newest := f.enqueue("emptied")
	f.drain(jobs.Config{}, on("emptied", nothing))
	p := f.pruner(prune.Retention{Done: time.Hour, Failed: time.Hour, Cancelled: time.Hour})
	p.clock.late.Store(int64(2 * time.Hour))
	for _, want := range []int{1, 0} { // it is set aside, and not tried again
		sum, err := p.Pass(f.ctx)
		f.must(err)
		if sum.Deleted != 0 || sum.Refused.N != want {
			f.Errorf("a pass removes %d jobs and is refused %v, not %d", sum.Deleted, sum.Refused.Jobs, want)
		}
	}
	payload := string(f.get(newest).Payload)
	rules(f, "application_rules_gone")
	p.pass()
	want(f, "payload of the newest while it is set aside", string(f.get(newest).Payload), payload)
	f.must(prune.Retry(f.ctx, p.Scope))
	p.pass()
	refusals, err := inspect.New(f.client).Refusals(f.ctx)
	f.must(err)
	want(f, "refusals that are left", refusals["prune"], 0)
	want(f, "payload of the newest after all", string(f.get(newest).Payload), `"`+jobs.Forgotten+`"`)
}

// addRuled adds n jobs of the kind many, half of them by plain SQL, and returns their ids.
func (f *fixture) addRuled(n int) []int64 {
	f.Helper()
	ids := f.sql("insert_many_plain", "HOW_MANY", strconv.Itoa(n/2))
	list := make([]any, n-n/2)
	for i := range list {
		list[i] = struct{}{}
	}
	more, err := jobs.Kind[any]{Name: "many"}.EnqueueMany(f.ctx, f.client, list)
	f.must(err)
	for _, receipt := range more {
		ids = append(ids, receipt.ID)
	}
	return ids
}

// The messages of the application's rules.
const (
	noClaim     = "no claim today"
	noPromotion = "no promotion today"
)

// refusedFor returns the message with which a job of the kind many is refused; empty when it is not.
func refusedFor(id int64, scheduled bool) string {
	switch id % 50 {
	case 1:
		return "no end today"
	case 2:
		return noClaim
	case 3:
		if scheduled {
			return noPromotion
		}
	case 4:
		return "check constraint"
	}
	return ""
}

// counter counts the runs of each job, until each of a number of jobs has run.
type counter struct {
	mu   sync.Mutex
	runs map[int64]int
	most int
	all  chan struct{} // closed when that many jobs ran
}

func (c *counter) run(_ context.Context, job jobs.Job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs[job.ID]++; len(c.runs) == c.most {
		close(c.all)
	}
	return nil
}

// sharedText is a log that a test reads while it is written to.
type sharedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *sharedText) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *sharedText) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// All jobs that no rule refuses run once and are done; the others stay as they are, say why, and go on when the rule is gone.
func testRefusalsOfMany(f *fixture, rules func(*fixture, string)) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	} else {
		ctx, cancel := context.WithTimeout(f.T.Context(), 5*hang)
		defer cancel()
		f.ctx = ctx
	}
	ids := f.addRuled(n)
	wanted, other := map[int64]string{}, f.enqueue("other", jobs.Queue("q"))
	for i, id := range ids {
		if why := refusedFor(id, i < n/2); why != "" {
			wanted[id] = why
		}
	}
	var log sharedText
	runs := counter{runs: map[int64]int{}, most: n, all: make(chan struct{})}
	for _, why := range wanted {
		if why == noClaim || why == noPromotion {
			runs.most--
		}
	}
	r := f.start(jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: 50, "q": 1}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}, on("many", runs.run), on("other", nothing))
	want(f, "status of a job of another queue", f.ended(other).Status, jobs.StatusDone)
	receive(f, "the last job", runs.all)
	in := inspect.New(f.client)
	f.eventually("all others are done", func() bool {
		stats, err := in.Stats(f.ctx)
		f.must(err)
		return stats.Jobs[jobs.StatusDone] == int64(n-len(wanted)+1)
	})
	f.eventually("all refusals are noted", func() bool {
		counts, err := in.Refusals(f.ctx)
		f.must(err)
		return counts["claim"]+counts["promote"]+counts["end"] == int64(len(wanted))
	})
	for id, message := range wanted {
		f.eventually(fmt.Sprintf("job %d is not done because of %q", id, message), func() bool { // the last try may have met a locked row
			d, err := in.Why(f.ctx, id)
			f.must(err)
			return slices.ContainsFunc(d.Findings, func(finding inspect.Finding) bool {
				return finding.Reason == inspect.ReasonRefused && strings.Contains(strings.ToLower(finding.Text), message)
			})
		})
	}
	runs.mu.Lock()
	for _, id := range ids {
		most := 1
		if why := wanted[id]; why == noClaim || why == noPromotion {
			most = 0
		}
		if runs.runs[id] != most {
			f.Errorf("job %d ran %d times", id, runs.runs[id])
		}
	}
	runs.mu.Unlock()
	if lines := strings.Count(log.String(), "the database refuses"); lines == 0 || lines > 60 {
		f.Errorf("%d lines say that the database refuses something:\n%s", lines, log.String())
	}

	// Jobs that the application keeps stay, and all others go.
	kept := f.sql("insert_receipts")
	pruned, err := in.Prune(f.ctx, jobs.StatusDone, 0)
	var refused *jobs.RefusedError
	if !errors.As(err, &refused) || refused.N != len(kept) || pruned != int64(n-len(wanted)+1-len(kept)) {
		f.Errorf("%d jobs were pruned, %v; %d are kept, %d were done", pruned, err, len(kept), n-len(wanted)+1)
	}
	f.wantWhy(kept[0], inspect.ReasonEnded, inspect.ReasonRefused)
	wrong, err := in.Recount(f.ctx)
	f.must(err)
	want(f, "wrong counts", wrong, 0)

	rules(f, "application_rules_gone")
	f.must(r.stop()) // which tries once more to record ends
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 50}}, on("many", nothing))
	again, err := in.Prune(f.ctx, jobs.StatusDone, 0)
	f.must(err)
	want(f, "jobs that were pruned when the application let them go", again, int64(len(kept)+len(wanted)))
}

// A unique index over running jobs lets one job of each user run at a time, and holds up no other user's.
func testOnePerUser(f *fixture, _ func(*fixture, string)) {
	var mu sync.Mutex
	running, most := 0, 0
	var ids []int64
	for range 8 {
		ids = append(ids, f.enqueue("k", jobs.UserID("alice"), jobs.Priority(9)))
	}
	others := []int64{f.enqueue("k", jobs.UserID("bob")), f.enqueue("other", jobs.Queue("q"), jobs.UserID("carol"))}
	release := make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 4, "q": 1}}, on("k", func(_ context.Context, job jobs.Job) error {
		if job.UserID != "alice" {
			return nil
		}
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		<-release
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	}), on("other", nothing))
	for _, id := range others {
		want(f, "status of another user's job", f.ended(id).Status, jobs.StatusDone)
	}
	close(release)
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
	want(f, "jobs of the user that ran at once", most, 1)
}

// A unique index over pending jobs lets one due job of each user wait at a time: the others of that user follow one after the other, and
// those of other users are not held up.
func testOneWaits(f *fixture, _ func(*fixture, string)) {
	var ids []int64
	for range 8 {
		ids = append(ids, f.enqueue("waits", jobs.UserID("alice"), jobs.In(time.Millisecond)))
	}
	other := f.enqueue("waits", jobs.UserID("bob"), jobs.In(time.Millisecond))
	release := make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 2}}, on("waits", func(_ context.Context, job jobs.Job) error {
		if job.UserID == "alice" {
			<-release
		}
		return nil
	}))
	want(f, "status of another user's job", f.ended(other).Status, jobs.StatusDone)
	close(release)
	for _, id := range ids {
		want(f, "status", f.ended(id).Status, jobs.StatusDone)
	}
}

// A drain ends when only refused jobs are left.
func testRefusalsInADrain(f *fixture, _ func(*fixture, string)) {
	ids := f.addRuled(200)
	f.drain(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 10}}, on("many", nothing))
	for i, id := range ids {
		job := f.get(id)
		if done := refusedFor(id, i < 100) == ""; done != (job.Status == jobs.StatusDone) {
			f.Errorf("job %d is %s", id, job.Status)
		}
	}
}

// Changes of many jobs change all that the application lets change, and name the others.
func testRefusalsByHand(f *fixture, _ func(*fixture, string)) {
	for range 12 {
		f.one(nothing)
	}
	kept := f.sql("insert_receipts")
	var ids []int64
	for id := int64(1); id <= 12; id++ {
		ids = append(ids, id)
	}
	n, err := inspect.New(f.client).DeleteMany(f.ctx, ids)
	var refused *jobs.RefusedError
	if !errors.As(err, &refused) || refused.N != len(kept) || len(kept) == 0 || refused.Jobs[0] != kept[0] || n != len(ids)-len(kept) {
		f.Errorf("%d of %d jobs were deleted, %v; %v are kept", n, len(ids), err, kept)
	}

	for range 100 {
		_, err := f.client.Cancel(f.ctx, f.enqueue("k"))
		f.must(err)
	}
	kept = f.sql("insert_receipts")[1:] // the first one is that of before
	pruned, err := inspect.New(f.client).Prune(f.ctx, jobs.StatusCancelled, 0)
	if !errors.As(err, &refused) || refused.N != len(kept) || len(kept) == 0 || pruned != 100-int64(len(kept)) {
		f.Errorf("%d cancelled jobs were pruned, %v; %v are kept", pruned, err, kept)
	}
}

// A note that must not be added to the history keeps no other from it.
func testRefusedCounts(f *fixture, _ func(*fixture, string)) {
	for range 5 {
		f.enqueue("uncounted")
		f.enqueue("k")
	}
	f.drain(jobs.Config{}, on("uncounted", nothing), on("k", nothing))
	want(f, "notes that are left", f.sql("count_notes", "KIND", "k")[0], 0)
	if n := f.sql("count_notes", "KIND", "uncounted")[0]; n == 0 {
		f.Error("no note was refused")
	}
}

// A job that may not leave a worker that is gone keeps no other there.
func testRefusedRescue(f *fixture, rules func(*fixture, string)) {
	ids := f.many(10)
	g := f.ghost("dead", time.Hour)
	want(f, "jobs of the worker that is gone", len(g.claim(10, time.Hour)), 10)
	g.die()
	f.start(jobs.Config{}, on("k", nothing))
	var stuck int64
	for _, id := range ids {
		if id%50 == 6 {
			stuck = id
			continue
		}
		want(f, "attempt of a job of the worker that is gone", f.ended(id).Attempt, 2)
	}
	want(f, "status of the job that is refused", f.get(stuck).Status, jobs.StatusRunning)
	f.wantWhy(stuck, inspect.ReasonRunning, inspect.ReasonRefused)
	rules(f, "application_rules_gone")
	want(f, "attempt of the job when the application lets it go", f.ended(stuck).Attempt, 2)
}

// A row of a worker that the application keeps keeps no other, and no later part of a pass.
func testRefusedWorkers(f *fixture, _ func(*fixture, string)) {
	old := f.store.Now().Add(-30 * 24 * time.Hour)
	for _, name := range []string{"gone", "kept", "gone too"} {
		g := f.lockless(name, time.Hour)
		f.write(func(ctx context.Context, q db.Querier) error {
			_, err := q.EndWorker(ctx, db.EndWorkerParams{Now: old.UnixMicro(), EndReason: "stopped", ID: g.id})
			return err
		})
	}
	done := f.enqueue("k")
	_, err := f.client.Cancel(f.ctx, done)
	f.must(err)
	f.waiting() // which is the newest, so that the other may go
	p := &maintenance.Pruner{
		Scope: engine.ScopeOf(f.client), Log: quiet(),
		Retention: prune.Retention{Done: prune.Forever, Cancelled: 0, Failed: prune.Forever, Audit: time.Hour},
	}
	sum, err := p.Pass(f.ctx)
	f.must(err)
	want(f, "jobs that were pruned", sum.Deleted, 1)
	var left []int64
	f.must(f.store.Read(f.ctx, func(ctx context.Context, q db.Querier) (err error) {
		left, err = q.ListEndedWorkerIDs(ctx, f.store.Now().UnixMicro())
		return err
	}))
	want(f, "workers that are left", len(left), 1)
}
