package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// updateTests cover changes of jobs that have not started.
var updateTests = []test{
	{"StartsAnew", testUpdateStartsAnew},
	{"EveryColumn", testUpdateEveryColumn},
	{"TakesItsPlace", testUpdateOrder},
	{"Refused", testUpdateRefused},
	{"Redacted", testUpdateRedacted},
	{"OneWinsAgainstAClaim", testUpdateAgainstClaims},
	{"HandedOver", testUpdateHandedOver},
	{"GivesAnotherKey", testUpdateKey},
}

// Another payload restores all attempts, and the job keeps its time; any other change leaves the attempts as they are.
func testUpdateStartsAnew(f *fixture) {
	id := f.enqueue("k", jobs.MaxAttempts(2))
	f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return jobs.RetryIn(time.Hour, errors.New("bad")) }))
	before := f.get(id)
	f.must(f.client.Update(f.ctx, id, jobs.SetPriority(3)))
	want(f, "attempts used up after another priority", f.get(id).Counted(), 1)
	f.must(f.client.Update(f.ctx, id, jobs.SetPayload(json.RawMessage("2"))))
	job := f.get(id)
	want(f, "attempts used up after another payload", job.Counted(), 0)
	want(f, "attempts left", job.AttemptsLeft(), 2)
	if !job.RunAfter.Equal(before.RunAfter) {
		f.Errorf("the job is due at %v, not %v", job.RunAfter, before.RunAfter)
	}
}

// The key of a job is the same in each attempt, and another one with another payload.
func testUpdateKey(f *fixture) {
	var mu sync.Mutex
	var keys []string
	handler := on("k", func(_ context.Context, job jobs.Job) error {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, job.IdempotencyKey())
		return jobs.RetryIn(time.Hour, errors.New("bad"))
	})
	id, other := f.enqueue("k"), f.enqueue("k")
	again := func() {
		f.Helper()
		f.drain(jobs.Config{}, handler)
		f.must(f.client.Retry(f.ctx, id))
	}
	again()
	f.must(f.client.Delete(f.ctx, other))
	again()
	f.must(f.client.Update(f.ctx, id, jobs.SetPayload(map[string]int{"n": 2})))
	again()
	if len(keys) != 4 || keys[0] == keys[1] || keys[2] != keys[0] && keys[2] != keys[1] || keys[3] == keys[0] || keys[3] == keys[1] {
		f.Errorf("the keys are %q", keys)
	}
	for _, key := range keys {
		if len(key) > 64 || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			f.Errorf("the key is %q", key)
		}
	}
}

func testUpdateEveryColumn(f *fixture) {
	at := f.store.Now().Add(time.Hour).Truncate(time.Microsecond)
	for _, opts := range [][]jobs.EnqueueOption{nil, {jobs.In(2 * time.Hour)}} {
		id := f.enqueue("k", append(opts, jobs.UserID("u"), jobs.Tags("t"))...)
		before := f.get(id)
		f.must(f.client.Update(f.as("me"), id, jobs.SetPriority(7), jobs.SetRunAfter(at), jobs.SetPayload(map[string]int{"b": 2}),
			jobs.SetQueue("other"), jobs.SetMaxAttempts(3), jobs.OnlyIf(before.Status), jobs.AuditDetail(map[string]int{"ticket": 7})))
		job := f.get(id)
		if job.Priority != 7 || !job.RunAfter.Equal(at) || !sameJSON(job.Payload, `{"b":2}`) || job.Queue != "other" || job.MaxAttempts != 3 ||
			job.Status != jobs.StatusScheduled {
			f.Errorf("the job is %+v", job)
		}
		if job.Kind != before.Kind || job.UserID != "u" || len(job.Tags) != 1 || !job.CreatedAt.Equal(before.CreatedAt) || job.Attempt != 0 {
			f.Errorf("of %+v became %+v", before, job)
		}
	}
	f.wantAudit(
		inspect.AuditEntry{Actor: "me", Action: inspect.ActionUpdate, JobID: 1, Kind: "k", Queue: "default", Jobs: 1,
			Detail: json.RawMessage(`{"columns":["priority","run_after","payload","queue","max_attempts"],"detail":{"ticket":7}}`)},
		inspect.AuditEntry{Actor: "me", Action: inspect.ActionUpdate, JobID: 2, Kind: "k", Queue: "default", Jobs: 1,
			Detail: json.RawMessage(`{"columns":["priority","run_after","payload","queue","max_attempts"],"detail":{"ticket":7}}`)},
	)
	id := f.enqueue("k")
	f.must(f.client.Update(f.ctx, id, jobs.SetPayload(1)))
	want(f, "the status of a job whose place stays", f.get(id).Status, jobs.StatusPending)
}

// An updated job runs when and where its new values say.
func testUpdateOrder(f *fixture) {
	first, second, third := f.enqueue("k"), f.enqueue("k"), f.enqueue("k")
	later, never := f.enqueue("k", jobs.In(time.Hour)), f.enqueue("k")
	f.must(f.client.Update(f.ctx, third, jobs.SetPriority(5)))
	f.must(f.client.Update(f.ctx, first, jobs.SetPriority(-5)))
	f.must(f.client.Update(f.ctx, later, jobs.SetRunAfter(time.Time{}), jobs.SetPriority(9)))
	f.must(f.client.Update(f.ctx, never, jobs.SetQueue("other")))
	var order []int64
	f.drain(jobs.Config{Queues: map[string]int{"default": 1}}, on("k", func(_ context.Context, job jobs.Job) error {
		order = append(order, job.ID)
		return nil
	}))
	want(f, "the order", fmt.Sprint(order), fmt.Sprint([]int64{later, third, second, first}))
	want(f, "the job of the other queue", f.get(never).Status.Final(), false)
	f.drain(jobs.Config{Queues: map[string]int{"other": 1}}, on("k", nothing))
	want(f, "the job of the other queue", f.get(never).Status, jobs.StatusDone)
}

func testUpdateRefused(f *fixture) {
	id := f.enqueue("k")
	before := f.get(id)
	for text, opt := range map[string]jobs.UpdateOption{
		"priority":          jobs.SetPriority(1 << 20),
		"run-after time":    jobs.SetRunAfter(f.store.Now().Add(-24 * time.Hour)),
		"encode payload":    jobs.SetPayload(func() {}),
		"payload":           jobs.SetPayload(json.RawMessage(`"\u0000"`)),
		"must be valid":     jobs.SetPayload(json.RawMessage(nil)),
		"queue":             jobs.SetQueue(""),
		"max attempts":      jobs.SetMaxAttempts(-1),
		"pending, not done": jobs.OnlyIf(jobs.StatusDone),
	} {
		opts := []jobs.UpdateOption{jobs.SetPriority(1), opt}
		if err := f.client.Update(f.ctx, id, opts...); err == nil || !strings.Contains(err.Error(), text) {
			f.Errorf("a fault in %s: %v", text, err)
		}
	}
	if err := f.client.Update(f.ctx, id); err == nil || !strings.Contains(err.Error(), "no change is given") {
		f.Errorf("an update of nothing: %v", err)
	}
	if after := f.get(id); after.Priority != before.Priority || !after.UpdatedAt.Equal(before.UpdatedAt) {
		f.Errorf("of %+v became %+v", before, after)
	}
	if err := f.client.Update(f.ctx, 999, jobs.SetPriority(1)); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("a job that is not there: %v", err)
	}
	f.drain(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		if err := f.client.Update(ctx, job.ID, jobs.SetPriority(1)); !errors.Is(err, jobs.ErrStatus) || !strings.Contains(err.Error(), "running") {
			f.Errorf("a running job: %v", err)
		}
		return nil
	}))
	by := f.store.Now().Add(time.Hour)
	late := f.enqueue("k", jobs.StartBy(by))
	for _, at := range []time.Time{by, by.Add(time.Hour)} {
		err := f.client.Update(f.ctx, late, jobs.SetRunAfter(at))
		wantInvalid(f, "a job that cannot start in time", err)
		if err == nil || !strings.Contains(err.Error(), "lie before "+by.UTC().Format(time.RFC3339)) {
			f.Errorf("a job that cannot start in time: %v", err)
		}
	}
	f.must(f.client.Update(f.ctx, late, jobs.SetRunAfter(by.Add(-time.Second))))
	_, err := f.client.Cancel(f.ctx, late)
	f.must(err)
	for status, id := range map[jobs.Status]int64{jobs.StatusDone: id, jobs.StatusFailed: f.fail("k", "no")} {
		err := f.client.Update(f.ctx, id, jobs.SetPriority(1))
		if !errors.Is(err, jobs.ErrStatus) || !strings.Contains(err.Error(), string(status)) {
			f.Errorf("a job that is %s: %v", status, err)
		}
	}
}

// A value that was shown without its sensitive fields cannot be written back.
func testUpdateRedacted(f *fixture) {
	kind := jobs.Kind[json.RawMessage]{Name: "k", Sensitive: []string{"card.number"}}
	secret := json.RawMessage(`{"card": {"number": "4000"}, "amount": 1}`)
	receipt, err := kind.Enqueue(f.ctx, f.client, secret)
	f.must(err)
	shown := f.get(receipt.ID).Payload
	if err := f.client.Update(f.ctx, receipt.ID, jobs.SetPayload(shown)); err == nil || !strings.Contains(err.Error(), "sensitive field") {
		f.Errorf("the payload %s is taken: %v", shown, err)
	}
	f.must(f.client.Update(f.ctx, receipt.ID, jobs.SetPayload(json.RawMessage(`{"card": {"number": "5000"}, "amount": "`+jobs.Redacted+`"}`))))
	job, err := f.client.Revealed().Get(f.ctx, receipt.ID)
	f.must(err)
	if !strings.Contains(string(job.Payload), "5000") {
		f.Errorf("the payload is %s", job.Payload)
	}

	// Nor by an enqueue that replaces the payload of the job with its key.
	unique, err := kind.Enqueue(f.ctx, f.client, secret, jobs.UniqueReplace("u"))
	f.must(err)
	shown = f.get(unique.ID).Payload
	for name, mode := range map[string]jobs.EnqueueOption{
		"replace": jobs.UniqueReplace("u"), "again": jobs.UniqueAgain("u"), "debounce": jobs.Debounce("u", time.Hour),
	} {
		_, err = f.client.Enqueue(f.ctx, "k", shown, mode)
		wantInvalid(f, name, err)
		_, err = f.client.EnqueueMany(f.ctx, "k", []json.RawMessage{shown}, mode)
		wantInvalid(f, name+" of many", err)
	}
	receipt, err = f.client.Enqueue(f.ctx, "k", shown, jobs.Unique("u"))
	f.must(err)
	want(f, "existed", receipt.Existed, true)
	job, err = f.client.Revealed().Get(f.ctx, unique.ID)
	f.must(err)
	if !strings.Contains(string(job.Payload), "4000") {
		f.Errorf("the payload is %s", job.Payload)
	}
}

// Of an update and a claim of a job one wins: the handler sees the changes of an update, but not those of a refused one. The same holds
// for a job that is handed over. The long form has 10,000 races.
func testUpdateAgainstClaims(f *fixture) {
	rounds := 25
	if testing.Short() {
		rounds = 1
	}
	ctx, cancel := context.WithTimeout(f.T.Context(), 5*hang)
	defer cancel()
	f.ctx = ctx
	r := &updateRaces{fixture: f, other: f.elsewhere(), seen: map[int64]string{}, won: map[int64]bool{}}
	f.start(jobs.Config{Queues: map[string]int{"default": 4}}, on("k", r.see))
	for range rounds {
		ids := f.addMany("k", 350)
		for i := range ids {
			r.update(ids[len(ids)-1-i]) // toward the claims
		}
		for range 50 { // the runner may rest, and be handed the job
			id := f.enqueue("k")
			r.update(id)
			ids = append(ids, id)
		}
		r.check(ids)
	}
	f.Logf("%d of %d updates won", r.wins, len(r.won))
}

// updateRaces are races between updates and the runs of the same jobs.
type updateRaces struct {
	*fixture
	other *jobs.Client
	won   map[int64]bool
	wins  int

	mu   sync.Mutex
	seen map[int64]string // the payload that the handler saw
}

func (r *updateRaces) see(_ context.Context, job jobs.Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[job.ID] = fmt.Sprint(string(job.Payload), " ", job.Priority)
	return nil
}

func (r *updateRaces) update(id int64) {
	err := r.other.Update(r.ctx, id, jobs.SetPayload(2), jobs.SetPriority(1))
	if err != nil && !errors.Is(err, jobs.ErrStatus) {
		r.Fatal(err)
	}
	r.won[id] = err == nil
}

// check waits for jobs, and compares what their handlers saw.
func (r *updateRaces) check(ids []int64) {
	for _, id := range ids {
		want(r.fixture, "status", r.ended(id).Status, jobs.StatusDone)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		expected := "{} 0"
		if r.won[id] {
			r.wins++
			expected = "2 1"
		}
		if r.seen[id] != expected {
			r.Errorf("job %d, whose update won: %v, ran with %s", id, r.won[id], r.seen[id])
		}
	}
}

// A job that was handed to a runner of the same client runs: it cannot be updated.
func testUpdateHandedOver(f *fixture) {
	begun, release := make(chan int64), make(chan struct{})
	f.start(jobs.Config{}, on("k", func(_ context.Context, job jobs.Job) error {
		begun <- job.ID
		<-release
		return nil
	}))
	defer close(release)
	id := f.enqueue("k")
	receive(f, "the job runs", begun)
	if err := f.client.Update(f.ctx, id, jobs.SetPriority(1)); !errors.Is(err, jobs.ErrStatus) {
		f.Errorf("update: %v", err)
	}
}

// sameJSON compares JSON without its blanks.
func sameJSON(have json.RawMessage, want string) bool {
	var a, b any
	return json.Unmarshal(have, &a) == nil && json.Unmarshal([]byte(want), &b) == nil && fmt.Sprint(a) == fmt.Sprint(b)
}
