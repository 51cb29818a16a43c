package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var enqueueTests = []test{
	{"EveryOption", testEveryOption},
	{"KindDefaults", testKindDefaults},
	{"PayloadByteForByte", testPayloadByteForByte},
	{"BoundsOfTime", testBoundsOfTime},
	{"BadInput", testBadInput},
	{"NilPayload", testNilPayload},
	{"ManyInOrder", testManyInOrder},
	{"ManyAllOrNothing", testManyAllOrNothing},
	{"ManyAtOnce", testManyAtOnce},
	{"ManyCallers", testManyCallers},
}

func testEveryOption(f *fixture) {
	at := f.store.Now().Add(time.Hour)
	id := f.enqueue("k", jobs.Queue("q"), jobs.Priority(-7), jobs.At(at), jobs.MaxAttempts(3), jobs.Timeout(time.Second),
		jobs.Unique("u"), jobs.RequestID("r"), jobs.UserID("someone"), jobs.Tags("a", "b\"c"), jobs.Tags("d"),
		jobs.Metadata(map[string]int{"n": 1}))
	job := f.get(id)
	want(f, "kind", job.Kind, "k")
	want(f, "queue", job.Queue, "q")
	want(f, "payload", string(job.Payload), "{}")
	want(f, "status", job.Status, jobs.StatusScheduled)
	want(f, "priority", job.Priority, -7)
	want(f, "run after", job.RunAfter.UnixMicro(), at.UnixMicro())
	want(f, "max attempts", job.MaxAttempts, 3)
	want(f, "timeout", job.Timeout, time.Second)
	want(f, "unique key", job.UniqueKey, "u")
	want(f, "request id", job.RequestID, "r")
	want(f, "user id", job.UserID, "someone")
	want(f, "metadata", string(job.Metadata), `{"n":1}`)
	if !slices.Equal(job.Tags, []string{"a", `b"c`, "d"}) {
		f.Errorf("tags are %q", job.Tags)
	}
	if job.CreatedAt.IsZero() || !job.StartedAt.IsZero() || !job.FinishedAt.IsZero() {
		f.Errorf("times are %v, %v, %v", job.CreatedAt, job.StartedAt, job.FinishedAt)
	}
}

type letter struct {
	To string `json:"to"`
}

func testKindDefaults(f *fixture) {
	kind := jobs.Kind[letter]{Name: "letter", Queue: "post", Priority: 4, MaxAttempts: 2}
	receipt, err := kind.Enqueue(f.ctx, f.client, letter{"me"})
	f.must(err)
	job := f.get(receipt.ID)
	want(f, "queue", job.Queue, "post")
	want(f, "priority", job.Priority, 4)
	f.wantAttempts("before a runner has declared the kind", job.ID, jobs.DefaultMaxAttempts, jobs.SettingDefault)
	want(f, "payload", string(job.Payload), `{"to":"me"}`)
	receipt, err = kind.Enqueue(f.ctx, f.client, letter{"me"}, jobs.Queue("express"), jobs.Priority(5), jobs.MaxAttempts(9))
	f.must(err)
	job = f.get(receipt.ID)
	want(f, "queue by option", job.Queue, "express")
	want(f, "priority by option", job.Priority, 5)
	want(f, "max attempts by option", job.MaxAttempts, 9)
	job = f.get(f.enqueue("plain"))
	want(f, "default queue", job.Queue, jobs.DefaultQueue)
	want(f, "default max attempts", job.MaxAttempts, jobs.DefaultMaxAttempts)
}

func testPayloadByteForByte(f *fixture) {
	payloads := []json.RawMessage{
		json.RawMessage(`null`), json.RawMessage(`"x"`), json.RawMessage(" {\"a\" :\t1.0e+05 ,\"a\":2}\n"),
		json.RawMessage(`"\/\u00e4\ud83d\ude00"`), json.RawMessage("\"\u2028\U0001F600\""),
		json.RawMessage(`[12345678901234567890.123456789012345678901234567890]`),
	}
	ids, err := receipts.IDs(f.client.EnqueueMany(f.ctx, "many", payloads))
	f.must(err)
	for i, payload := range payloads {
		receipt, err := f.client.Enqueue(f.ctx, "one", payload)
		f.must(err)
		want(f, "payload", string(f.get(receipt.ID).Payload), string(payload))
		want(f, "payload of many", string(f.get(ids[i]).Payload), string(payload))
	}
}

func testBoundsOfTime(f *fixture) {
	for _, c := range []struct {
		name   string
		option jobs.EnqueueOption
		status jobs.Status // empty: refused
	}{
		{"In(0)", jobs.In(0), jobs.StatusPending},
		{"In(-1)", jobs.In(-1), ""},
		{"In(1h)", jobs.In(time.Hour), jobs.StatusScheduled},
		{"In of 300 years", jobs.In(1<<63 - 1), jobs.StatusScheduled},
		{"At a moment ago", jobs.At(f.store.Now().Add(-time.Second)), jobs.StatusPending},
		{"At an hour ago", jobs.At(f.store.Now().Add(-time.Hour)), ""},
		{"At the zero time", jobs.At(time.Time{}), jobs.StatusPending},
		{"At the last time", jobs.At(time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)), jobs.StatusScheduled},
		{"At the year 10000", jobs.At(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), ""},
	} {
		receipt, err := f.client.Enqueue(f.ctx, "k", json.RawMessage("{}"), c.option)
		if c.status == "" {
			wantInvalid(f, c.name, err)
			continue
		}
		if err != nil {
			f.Errorf("%s: %v", c.name, err)
			continue
		}
		want(f, c.name, f.get(receipt.ID).Status, c.status)
	}
}

func testBadInput(f *fixture) {
	long := strings.Repeat("x", jobs.MaxKeyLength+1)
	tags := make([]string, jobs.MaxTags+1)
	for i := range tags {
		tags[i] = fmt.Sprint(i)
	}
	for _, c := range []struct {
		name    string
		kind    string
		payload string
		option  jobs.EnqueueOption
	}{
		{"empty kind", "", "{}", jobs.In(0)},
		{"kind with a line break", "a\nb", "{}", jobs.In(0)},
		{"long kind", long, "{}", jobs.In(0)},
		{"kind not UTF-8", "\xff", "{}", jobs.In(0)},
		{"no payload", "k", "", jobs.In(0)},
		{"payload not JSON", "k", "{", jobs.In(0)},
		{"queue with a bell", "k", "{}", jobs.Queue("\a")},
		{"priority too low", "k", "{}", jobs.Priority(jobs.MinPriority - 1)},
		{"priority too high", "k", "{}", jobs.Priority(jobs.MaxPriority + 1)},
		{"metadata with a tick", "k", "{}", jobs.Metadata(json.RawMessage(`{"sqluice_schedule": {"name": "s", "tick": "2026-01-01T00:00:00Z"}}`))},
		{"metadata with a tick in other letters", "k", "{}", jobs.Metadata(map[string]any{"SQLuice_\u017fchedule": 1})},
		{"metadata with a debounce", "k", "{}", jobs.Metadata(map[string]any{jobs.DebounceField: map[string]int{"quiet_ns": 1}})},
		{"metadata with a version that is none", "k", "{}", jobs.Metadata(map[string]any{jobs.VersionField: "one"})},
		{"attempts below none", "k", "{}", jobs.MaxAttempts(-1)},
		{"too many attempts", "k", "{}", jobs.MaxAttempts(jobs.MaxAttemptsLimit + 1)},
		{"negative timeout", "k", "{}", jobs.Timeout(-1)},
		{"long unique key", "k", "{}", jobs.Unique(long)},
		{"long user id", "k", "{}", jobs.UserID(long)},
		{"long tag", "k", "{}", jobs.Tags("a", long)},
		{"too many tags", "k", "{}", jobs.Tags(tags...)},
		{"metadata with a NUL", "k", "{}", jobs.Metadata("\x00")},
	} {
		_, err := f.client.Enqueue(f.ctx, c.kind, json.RawMessage(c.payload), c.option)
		wantInvalid(f, c.name, err)
	}
	list, err := inspect.New(f.client).List(f.ctx, inspect.Filter{})
	f.must(err)
	want(f, "number of jobs", len(list), 0)
}

func wantInvalid(f *fixture, what string, err error) {
	f.Helper()
	var invalid *jobs.InvalidError
	if !errors.As(err, &invalid) {
		f.Errorf("%s gives %v, not an InvalidError", what, err)
	}
}

func testManyInOrder(f *fixture) {
	payloads := make([]letter, 3500) // more than fits into one statement
	for i := range payloads {
		payloads[i].To = fmt.Sprint(i)
	}
	ids, err := receipts.IDs(jobs.Kind[letter]{Name: "letter"}.EnqueueMany(f.ctx, f.client, payloads, jobs.UserID("u"), jobs.Tags("t")))
	f.must(err)
	want(f, "number of ids", len(ids), len(payloads))
	if !slices.IsSorted(ids) {
		f.Error("ids do not rise in the payloads' order")
	}
	for _, i := range []int{0, 999, 1000, 3499} {
		job := f.get(ids[i])
		want(f, "payload", string(job.Payload), fmt.Sprintf(`{"to":"%d"}`, i))
		want(f, "user", job.UserID, "u")
	}
	ids, err = receipts.IDs(f.client.EnqueueMany(f.ctx, "k", nil))
	f.must(err)
	want(f, "ids of no payloads", len(ids), 0)
	for _, option := range []jobs.EnqueueOption{jobs.Unique("u"), jobs.RequestID("r")} {
		_, err = f.client.EnqueueMany(f.ctx, "k", []json.RawMessage{json.RawMessage("1")}, option)
		wantInvalid(f, "a key for many", err)
	}
}

func testManyAllOrNothing(f *fixture) {
	payloads := make([]json.RawMessage, 2500)
	for i := range payloads {
		payloads[i] = json.RawMessage("1")
	}
	payloads[2400] = json.RawMessage("{")
	_, err := f.client.EnqueueMany(f.ctx, "k", payloads)
	wantInvalid(f, "a bad payload", err)
	if err != nil && !strings.Contains(err.Error(), "payload 2400") {
		f.Errorf("the bad payload is not named by: %v", err)
	}
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "pending jobs", stats.Jobs[jobs.StatusPending], 0)
}

func testManyAtOnce(f *fixture) {
	if testing.Short() {
		f.Skip("many jobs")
	}
	const n = many
	payloads := make([]json.RawMessage, n)
	body := json.RawMessage(`{"path":"` + strings.Repeat("x", 1000) + `"}`) // shared: 100 MB in the database, 1 kB here
	for i := range payloads {
		payloads[i] = body
	}
	ids, err := receipts.IDs(f.client.EnqueueMany(f.ctx, "k", payloads))
	f.must(err)
	want(f, "number of ids", len(ids), n)
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "pending jobs", stats.Jobs[jobs.StatusPending], n)
}

// Concurrent callers that add jobs may share a transaction and statements. Each gets the id of its job.
func testManyCallers(f *fixture) {
	const callers, each = 64, 20
	type added struct {
		id      int64
		payload string
		user    string
		queue   string
		others  int64 // the id of a job that was added in between, by another statement
	}
	results := make([][]added, callers)
	errs := make([]error, callers)
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range each {
				a := added{payload: fmt.Sprintf(`{"of": "caller %d",  "n": %d, "s": "\"\u00e9<\\"}`, c, i), queue: jobs.DefaultQueue}
				opts := []jobs.EnqueueOption{jobs.Tags("t"), jobs.Metadata(map[string]int{"n": 1})}
				if i%5 == c%5 {
					a.queue = "near"
					opts = append(opts, jobs.Queue(a.queue))
				}
				if i%7 == c%7 {
					a.user, a.queue = fmt.Sprintf("user %d", c), "other"
					opts = append(opts, jobs.UserID(a.user), jobs.Queue(a.queue), jobs.In(time.Hour))
				}
				receipt, err := f.client.Enqueue(f.ctx, "k", json.RawMessage(a.payload), opts...)
				if err == nil && i%11 == c%11 {
					var other jobs.Receipt
					other, err = f.client.Enqueue(f.ctx, "unique", json.RawMessage(a.payload), jobs.Unique(fmt.Sprintf("%d %d", c, i)))
					a.others = other.ID
				}
				if err != nil {
					errs[c] = err
					return
				}
				a.id = receipt.ID
				results[c] = append(results[c], a)
			}
		})
	}
	all.Wait()
	f.must(errors.Join(errs...))
	seen := map[int64]bool{}
	for _, list := range results {
		for _, a := range list {
			job := f.get(a.id)
			want(f, "payload", string(job.Payload), a.payload)
			want(f, "user", job.UserID, a.user)
			want(f, "queue", job.Queue, a.queue)
			want(f, "metadata", string(job.Metadata), `{"n":1}`)
			seen[a.id] = true
			if a.others != 0 {
				want(f, "payload of the other", string(f.get(a.others).Payload), a.payload)
				seen[a.others] = true
			}
		}
	}
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "jobs", stats.Jobs[jobs.StatusPending]+stats.Jobs[jobs.StatusScheduled], int64(len(seen)))
}

// A nil payload is an empty object, in whichever way a job is added.
func testNilPayload(f *fixture) {
	one, err := f.client.Enqueue(f.ctx, "k", nil)
	f.must(err)
	many, err := f.client.EnqueueMany(f.ctx, "k", []json.RawMessage{nil, json.RawMessage("1")})
	f.must(err)
	items, err := f.client.EnqueueItems(f.ctx, []jobs.Item{jobs.NewItem("k", nil)})
	f.must(err)
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("s", "@daily", "k", nil)))
	tick, err := f.client.RunSchedule(f.ctx, "s")
	f.must(err)
	for _, id := range []int64{one.ID, many[0].ID, items[0].ID, tick} {
		want(f, "payload", string(f.get(id).Payload), "{}")
	}
	want(f, "payload that was given", string(f.get(many[1].ID).Payload), "1")
	_, err = f.client.Enqueue(f.ctx, "k", json.RawMessage{})
	wantInvalid(f, "an empty payload that is not nil", err)
}
