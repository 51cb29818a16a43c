package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// endOfTime is the first instant that RFC 3339 cannot write.
var endOfTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestOptionsAtTheirBounds(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	name, key := strings.Repeat("\u00e9", jobs.MaxNameLength), strings.Repeat("\u00e9", jobs.MaxKeyLength)
	tags := slices.Repeat([]string{"tag"}, jobs.MaxTags)
	now := time.Now()
	for _, test := range []struct {
		name  string
		opt   jobs.EnqueueOption
		right func(jobs.Job) bool
	}{
		{"nothing", jobs.Priority(0), func(j jobs.Job) bool {
			return j.Status == jobs.StatusPending && j.Queue == jobs.DefaultQueue && j.MaxAttempts == jobs.DefaultMaxAttempts &&
				j.Timeout == 0 && j.UniqueKey == "" && j.Tags == nil && j.Metadata == nil
		}},
		{"longest queue", jobs.Queue(name), func(j jobs.Job) bool { return j.Queue == name }},
		{"lowest priority", jobs.Priority(jobs.MinPriority), func(j jobs.Job) bool { return j.Priority == jobs.MinPriority }},
		{"highest priority", jobs.Priority(jobs.MaxPriority), func(j jobs.Job) bool { return j.Priority == jobs.MaxPriority }},
		{"one attempt", jobs.MaxAttempts(1), func(j jobs.Job) bool { return j.MaxAttempts == 1 }},
		{"most attempts", jobs.MaxAttempts(jobs.MaxAttemptsLimit), func(j jobs.Job) bool { return j.MaxAttempts == jobs.MaxAttemptsLimit }},
		{"shortest timeout", jobs.Timeout(time.Millisecond), func(j jobs.Job) bool { return j.Timeout == time.Millisecond }},
		{"longest timeout", jobs.Timeout(math.MaxInt64), func(j jobs.Job) bool { return j.Timeout == time.Duration(math.MaxInt64).Truncate(time.Microsecond) }},
		{"longest keys", jobs.Unique(key), func(j jobs.Job) bool { return j.UniqueKey == key }},
		{"longest request id", jobs.RequestID(key), func(j jobs.Job) bool { return j.RequestID == key }},
		{"longest user id", jobs.UserID(key), func(j jobs.Job) bool { return j.UserID == key }},
		{"most tags", jobs.Tags(tags...), func(j jobs.Job) bool { return slices.Equal(j.Tags, tags) }},
		{"odd tags", jobs.Tags(`a"b`, `\`, "\u2028", "100%"), func(j jobs.Job) bool {
			return slices.Equal(j.Tags, []string{`a"b`, `\`, "\u2028", "100%"})
		}},
		{"metadata", jobs.Metadata(map[string]int{"a": 1}), func(j jobs.Job) bool { return string(j.Metadata) == `{"a":1}` }},
		{"no delay", jobs.In(0), func(j jobs.Job) bool { return j.Status == jobs.StatusPending }},
		{"a delay", jobs.In(time.Hour), func(j jobs.Job) bool {
			return j.Status == jobs.StatusScheduled && j.RunAfter.Sub(j.CreatedAt) == time.Hour
		}},
		{"the longest delay", jobs.In(math.MaxInt64), func(j jobs.Job) bool {
			return j.Status == jobs.StatusScheduled && j.RunAfter.After(now.AddDate(290, 0, 0))
		}},
		{"a moment ago", jobs.At(now), func(j jobs.Job) bool { return j.Status == jobs.StatusPending }},
		{"the last time", jobs.At(endOfTime.Add(-time.Microsecond)), func(j jobs.Job) bool {
			return j.Status == jobs.StatusScheduled && j.RunAfter.Equal(endOfTime.Add(-time.Microsecond))
		}},
		{"no time", jobs.At(time.Time{}), func(j jobs.Job) bool { return j.Status == jobs.StatusPending }},
		{"no unique key", jobs.Unique(""), func(j jobs.Job) bool { return j.UniqueKey == "" }},
		{"no request id", jobs.RequestID(""), func(j jobs.Job) bool { return j.RequestID == "" }},
		{"no queue", jobs.Queue(""), func(j jobs.Job) bool { return j.Queue == jobs.DefaultQueue }},
		{"no attempts", jobs.MaxAttempts(0), func(j jobs.Job) bool { return j.MaxAttempts == jobs.DefaultMaxAttempts }},
		{"no tag", jobs.Tags(""), func(j jobs.Job) bool { return j.Tags == nil }},
		{"an empty tag among others", jobs.Tags("a", "", "b"), func(j jobs.Job) bool { return slices.Equal(j.Tags, []string{"a", "b"}) }},
		{"no metadata", jobs.Metadata(nil), func(j jobs.Job) bool { return j.Metadata == nil }},
		{"no timeout", jobs.Timeout(0), func(j jobs.Job) bool { return j.Timeout == 0 }},
		{"the last time to start by", jobs.StartBy(endOfTime.Add(-time.Microsecond)), func(j jobs.Job) bool {
			return j.StartBy.Equal(endOfTime.Add(-time.Microsecond))
		}},
		{"the shortest time to start within", jobs.StartWithin(time.Microsecond), func(j jobs.Job) bool {
			return j.StartBy.Sub(j.RunAfter) == time.Microsecond
		}},
		{"no time to start by", jobs.StartBy(time.Time{}), func(j jobs.Job) bool { return j.StartBy.IsZero() }},
		{"no time to start within", jobs.StartWithin(0), func(j jobs.Job) bool { return j.StartBy.IsZero() }},
		{"no user id", jobs.UserID(""), func(j jobs.Job) bool { return j.UserID == "" }},
		{"another zone", jobs.At(time.Date(2999, 1, 1, 1, 0, 0, 1234, time.FixedZone("x", 3600))), func(j jobs.Job) bool {
			return j.RunAfter.Equal(time.Date(2999, 1, 1, 0, 0, 0, 1000, time.UTC))
		}},
	} {
		receipt, err := client.Enqueue(t.Context(), "report", json.RawMessage(`{}`), test.opt)
		if err != nil || receipt.Existed {
			t.Errorf("%s: %+v, %v", test.name, receipt, err)
			continue
		}
		job, err := client.Get(t.Context(), receipt.ID)
		if err != nil || !test.right(job) {
			t.Errorf("%s: the job is %+v: %v", test.name, job, err)
		}
	}
}

// Every refusal names the field, the value and the bound, and adds nothing.
func TestOptionsBeyondTheirBounds(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	name, key := strings.Repeat("n", jobs.MaxNameLength+1), strings.Repeat("k", jobs.MaxKeyLength+1)
	for _, test := range []struct {
		kind   string
		opt    jobs.EnqueueOption
		field  string
		naming []string
	}{
		{"", jobs.Priority(0), "kind", []string{"empty"}},
		{name, jobs.Priority(0), "kind", []string{"200", "201"}},
		{"a\nb", jobs.Priority(0), "kind", []string{`a\nb`, "control"}},
		{"a\x00", jobs.Priority(0), "kind", []string{`a\x00`, "control"}},
		{"\xff", jobs.Priority(0), "kind", []string{`\xff`, "UTF-8"}},
		{"report", jobs.Queue(name), "queue", []string{"200", "201"}},
		{"report", jobs.Queue("a\u0085b"), "queue", []string{`a\u0085b`, "control"}},
		{"report", jobs.Priority(jobs.MinPriority - 1), "priority", []string{"-32769", "-32768", "32767"}},
		{"report", jobs.Priority(jobs.MaxPriority + 1), "priority", []string{"32768", "-32768", "32767"}},
		{"report", jobs.MaxAttempts(-1), "max attempts", []string{"-1", "1", "32767"}},
		{"report", jobs.MaxAttempts(jobs.MaxAttemptsLimit + 1), "max attempts", []string{"32768", "32767"}},
		{"report", jobs.Timeout(-time.Second), "timeout", []string{"-1s", "negative"}},
		{"report", jobs.In(-time.Second), "delay", []string{"-1s", "negative"}},
		{"report", jobs.At(time.Now().Add(-jobs.PastTolerance - time.Minute)), "run-after time", []string{"past"}},
		{"report", jobs.At(endOfTime), "run-after time", []string{"10000-01-01", "9999"}},
		{"report", jobs.StartBy(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)), "start-by time", []string{"2020-01-01T00:00:00Z", "future"}},
		{"report", jobs.StartBy(endOfTime), "start-by time", []string{"10000-01-01", "9999"}},
		{"report", jobs.StartWithin(-time.Second), "start-within time", []string{"-1s", "negative"}},
		{"report", jobs.StartWithin(1), "start-within time", []string{"1ns", "1us"}},
		{"report", jobs.Unique(key), "unique key", []string{"1000", "1001"}},
		{"report", jobs.RequestID(key), "request id", []string{"1000", "1001"}},
		{"report", jobs.UserID("\t"), "user id", []string{`\t`, "control"}},
		{"report", jobs.Tags(slices.Repeat([]string{"t"}, jobs.MaxTags+1)...), "number of tags", []string{"51", "50"}},
		{"report", jobs.Tags("good", "\n"), "tag", []string{`\n`, "control"}},
		{"report", jobs.Metadata("a\x00b"), "metadata", []string{"NUL"}},
		{"report", jobs.Metadata(strings.Repeat("x", jobs.MaxPayload)), "metadata", []string{"1048578", "1048576"}},
	} {
		_, one := client.Enqueue(t.Context(), test.kind, json.RawMessage(`{}`), test.opt)
		_, many := client.EnqueueMany(t.Context(), test.kind, []json.RawMessage{json.RawMessage(`{}`)}, test.opt)
		for _, err := range []error{one, many} {
			var invalid *jobs.InvalidError
			if !errors.As(err, &invalid) {
				t.Errorf("%s %v: the error is %v, not an InvalidError", test.field, test.naming, err)
				continue
			}
			// Keys are for one job, so many jobs are refused for having any key.
			if invalid.Field == "a unique key or request id" {
				continue
			}
			if invalid.Field != test.field {
				t.Errorf("%s: the error names %q: %v", test.field, invalid.Field, err)
			}
			for _, part := range test.naming {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: the error does not say %q: %v", test.field, part, err)
				}
			}
		}
	}
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{})
	if err != nil || len(list) != 0 {
		t.Errorf("%d jobs were added: %v", len(list), err)
	}
}

func TestLaterOptionsWin(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	kind := jobs.Kind[struct{}]{Name: "report", Queue: "reports", Priority: 7, MaxAttempts: 3}
	get := func(opts ...jobs.EnqueueOption) jobs.Job {
		t.Helper()
		receipt, err := kind.Enqueue(t.Context(), client, struct{}{}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		job, err := client.Get(t.Context(), receipt.ID)
		if err != nil {
			t.Fatal(err)
		}
		return job
	}
	if j := get(); j.Queue != "reports" || j.Priority != 7 || j.MaxAttempts != jobs.DefaultMaxAttempts {
		t.Errorf("the kind's defaults made %+v", j)
	}
	if j := get(jobs.Queue("a"), jobs.Queue("b"), jobs.Priority(1), jobs.Priority(0), jobs.MaxAttempts(9)); j.Queue != "b" || j.Priority != 0 || j.MaxAttempts != 9 {
		t.Errorf("the options made %+v", j)
	}
	if j := get(jobs.Queue("a"), jobs.Queue(""), jobs.MaxAttempts(9), jobs.MaxAttempts(0)); j.Queue != "reports" || j.MaxAttempts != jobs.DefaultMaxAttempts {
		t.Errorf("options that are empty made %+v", j)
	}
	far := time.Now().AddDate(1, 0, 0)
	if j := get(jobs.At(far), jobs.In(0)); j.Status != jobs.StatusPending {
		t.Errorf("In after At made %+v", j)
	}
	if j := get(jobs.In(time.Minute), jobs.At(far)); !j.RunAfter.Equal(far.Truncate(time.Microsecond)) {
		t.Errorf("At after In made %+v", j)
	}
}

// Options are values: one enqueue's changes do not show in another.
func TestOptionsCanBeReused(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	shared := []string{"a", "b", "spare"}
	base := jobs.Tags(shared[:2]...)
	for _, more := range []string{"c", "d"} {
		receipt, err := client.Enqueue(t.Context(), "report", json.RawMessage(`{}`), base, jobs.Tags(more))
		if err != nil {
			t.Fatal(err)
		}
		job, err := client.Get(t.Context(), receipt.ID)
		if want := []string{"a", "b", more}; err != nil || !reflect.DeepEqual(job.Tags, want) {
			t.Errorf("the tags are %v, want %v: %v", job.Tags, want, err)
		}
	}
	if shared[2] != "spare" {
		t.Errorf("the caller's slice now holds %v", shared)
	}
}

func TestUniqueAndRequestIDFindTheJobThatIsThere(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	enqueue := func(kind string, opts ...jobs.EnqueueOption) jobs.Receipt {
		t.Helper()
		receipt, err := client.Enqueue(t.Context(), kind, json.RawMessage(`{}`), opts...)
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	first := enqueue("report", jobs.Unique("k"), jobs.RequestID("r"))
	for name, again := range map[string]jobs.Receipt{
		"unique":     enqueue("report", jobs.Unique("k")),
		"request id": enqueue("report", jobs.RequestID("r")),
		"both":       enqueue("report", jobs.Unique("k"), jobs.RequestID("r")),
	} {
		if !again.Existed || again.ID != first.ID {
			t.Errorf("%s: %+v, want job %d that existed", name, again, first.ID)
		}
	}
	if other := enqueue("letter", jobs.Unique("k"), jobs.RequestID("r")); other.Existed {
		t.Errorf("another kind found %+v", other)
	}
	if _, err := client.Cancel(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	if after := enqueue("report", jobs.Unique("k")); after.Existed {
		t.Errorf("the key of a job that ended is still held: %+v", after)
	}
	if after := enqueue("report", jobs.RequestID("r")); !after.Existed || after.ID != first.ID {
		t.Errorf("the request id of a job that ended is free: %+v", after)
	}
}

// Zero values of public types are refused or reported, and do not panic.
func TestZeroValues(t *testing.T) {
	own := jobs.New(testdb.SQLite(t), jobs.WithMiddleware(func(next jobs.EnqueueFunc) jobs.EnqueueFunc {
		return func(ctx context.Context, _ *jobs.EnqueueRequest) error { return next(ctx, &jobs.EnqueueRequest{}) }
	}))
	if _, err := own.Enqueue(t.Context(), "k", json.RawMessage("{}")); err == nil || !strings.Contains(err.Error(), "a request that it made itself") {
		t.Errorf("a middleware that passes on the zero EnqueueRequest: %v", err)
	}
	client := jobs.New(testdb.SQLite(t))
	for what, err := range map[string]error{
		"item":     func() error { _, err := client.EnqueueItems(t.Context(), []jobs.Item{{}}); return err }(),
		"schedule": client.PutSchedule(t.Context(), jobs.Schedule{}),
	} {
		if invalid := (*jobs.InvalidError)(nil); !errors.As(err, &invalid) || invalid.Field != what {
			t.Errorf("the zero %s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"item": jobs.Item{}.Validate(), "schedule": jobs.Schedule{}.Validate(),
		"tag":            jobs.NewItem("k", []byte("{}"), jobs.Tags(strings.Repeat("t", 201))).Validate(),
		"payload":        jobs.NewItem("k", []byte("{")).Validate(),
		"run-after time": jobs.NewItem("k", []byte("{}"), jobs.At(time.Unix(0, 0))).Validate(),
		"catch-up":       jobs.NewSchedule("s", "@daily", "k", []byte("{}"), jobs.CatchUp("bogus")).Validate(),
		"specification":  jobs.NewSchedule("s", "never", "k", []byte("{}")).Validate(),
	} {
		if invalid := (*jobs.InvalidError)(nil); !errors.As(err, &invalid) || invalid.Field != what {
			t.Errorf("the zero %s: %v", what, err)
		}
	}
	if err := errors.Join(jobs.NewItem("k", []byte("{}")).Validate(), jobs.NewSchedule("s", "@daily", "k", []byte("{}")).Validate()); err != nil {
		t.Errorf("a sound item and a sound schedule: %v", err)
	}
	if text := (&jobs.RefusedError{}).Error(); !strings.Contains(text, "refused 0 jobs") {
		t.Errorf("the zero RefusedError says %q", text)
	}
	if text := (&jobs.RefusedError{N: 1, Jobs: []int64{7}, Err: jobs.ErrBusy}).Error(); !strings.HasPrefix(text, "the database refused job 7: ") {
		t.Errorf("the RefusedError of one job says %q", text)
	}
	var job jobs.Job
	if job.SetResult(1) == nil || job.SetProgress(t.Context(), 1) == nil || jobs.CompleteTx(t.Context(), nil, job, nil) == nil {
		t.Error("the zero Job can be ended")
	}
	if job.Schedule() != "" || !job.Tick().IsZero() || job.AttemptsLeft() != 0 || job.Debounced().Quiet != 0 {
		t.Errorf("the zero Job tells %q, %s", job.Schedule(), job.Tick())
	}
}
