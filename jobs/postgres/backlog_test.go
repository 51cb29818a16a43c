package postgres

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var backlogTests = []engineTest{
	{"MuchToDo", testBacklog},
	{"RefusedClaims", testBacklogRefusedClaims},
	{"RefusedEnd", testBacklogRefusedEnd},
}

// manySlots is the number of slots with which one transaction records and claims many jobs.
const manySlots = 200

// backlog is a queue with many jobs, and a handler that counts the runs of each.
type backlog struct {
	client *jobs.Client
	url    string
	ids    []int64

	mu                sync.Mutex
	runs              map[int64]int
	recorded, claimed int
}

func newBacklog(t *testing.T, site *site) *backlog {
	t.Helper()
	b := &backlog{runs: map[int64]int{}}
	_, b.client, b.url = site.queue(t, WithObserver(&jobs.Observer{Turned: func(turn jobs.Turned) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.recorded, b.claimed = b.recorded+turn.Recorded, b.claimed+turn.Claimed
	}}))
	b.ids = enqueueMany(t, b.client, 3000)
	return b
}

func (b *backlog) run(_ context.Context, job jobs.Job) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs[job.ID]++
	return nil
}

// wantDone fails the test unless each job ran once and is done.
func (b *backlog) wantDone(t *testing.T) {
	t.Helper()
	want(t, "jobs that are done", countDone(t, b.client), int64(len(b.ids)))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range b.ids {
		if n := b.runs[id]; n != 1 {
			t.Errorf("job %d ran %d times", id, n)
		}
	}
}

func countDone(t *testing.T, client *jobs.Client) (done int64) {
	t.Helper()
	counts, err := inspect.New(client).Counts(t.Context())
	must(t, err)
	for _, c := range counts {
		if c.Status == jobs.StatusDone {
			done += c.Jobs
		}
	}
	return done
}

// With a large backlog, each job runs once, and each end is recorded once.
func testBacklog(t *testing.T, site *site) {
	b := newBacklog(t, site)
	drain(t, b.client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: manySlots}}, handlers{"k": b.run})
	b.wantDone(t)
	want(t, "ends that were recorded", b.recorded, len(b.ids))
	want(t, "jobs that were claimed", b.claimed, len(b.ids))
}

// Failed claims leave nothing behind, and do not affect the ends recorded beside them.
func testBacklogRefusedClaims(t *testing.T, site *site) {
	b := newBacklog(t, site)
	exec(t, dial(t, b.url), "refuse_claims")
	log := &journal{}
	drain(t, b.client, jobs.Config{Logger: slog.New(log), Queues: map[string]int{jobs.DefaultQueue: manySlots}}, handlers{"k": b.run})
	b.wantDone(t)
	if log.count("the application refuses") == 0 {
		t.Error("no refusal is logged")
	}
}

// An end that the database never accepts delays neither other ends nor the claims beside it.
func testBacklogRefusedEnd(t *testing.T, site *site) {
	b := newBacklog(t, site)
	exec(t, dial(t, b.url), "refuse_poison")
	poison := enqueue(t, b.client, "poison", jobs.Priority(1))
	log := &journal{}
	stop := work(t, b.client, jobs.Config{Logger: slog.New(log), Queues: map[string]int{jobs.DefaultQueue: manySlots}}, handlers{"k": b.run, "poison": nothing})
	eventually(t, "all others are done", func() bool { return countDone(t, b.client) == int64(len(b.ids)) })
	b.wantDone(t)
	eventually(t, "the refusal is logged", func() bool { return log.count("the database refuses a row") > 0 })
	want(t, "the refused job's status", get(t, b.client, poison).Status, jobs.StatusRunning)
	must(t, stop())
}
