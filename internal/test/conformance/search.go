package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var searchTests = []test{
	{"Text", testSearchText},
	{"Bounds", testSearchBounds},
	{"LargeJobs", testSearchLargeJobs},
	{"LatestAttempts", testLatestAttempts},
}

// Text is found in each of the columns, in either case of ASCII letters and of no others, and literally: no character
// of it stands for another.
func testSearchText(f *fixture) {
	at := map[string]int64{}
	add := func(name, kind, payload string, opts ...jobs.EnqueueOption) {
		f.Helper()
		added, err := f.client.Enqueue(f.ctx, kind, []byte(payload), opts...)
		f.must(err)
		at[name] = added.ID
	}
	add("kind", "Resize", `{}`)
	add("payload", "k", `{"file": "Straße 100%_\\\"x\u00e9"}`)
	add("request", "k", `1`, jobs.RequestID("req-0001"))
	add("unique", "k", `1`, jobs.Unique("Unique:'0002'"))
	add("user", "k", `1`, jobs.UserID("ÄNNE@example.com"))
	add("tag", "k", `1`, jobs.Tags("tagged"), jobs.Queue("queued"))
	add("bad", "bad", `1`, jobs.MaxAttempts(1))
	f.drain(jobs.Config{}, on("bad", func(context.Context, jobs.Job) error { return fmt.Errorf("disk FULL: %%s \U0001f600") }))
	for text, names := range map[string][]string{
		"resize": {"kind"}, "SIZE": {"kind"}, "straße": {"payload"}, "STRASSE": nil, "STRAßE": {"payload"}, "100%_": {"payload"}, "%": {"payload", "bad"},
		"1__%": nil, `\\\"`: {"payload"}, `\u00E9`: {"payload"}, "é": nil, "req-": {"request"}, ":'0002'": {"unique"}, "example.COM": {"user"},
		"Änne": {"user"}, "änne": nil, "tagged": nil, "queued": nil, "disk full": {"bad"}, "\U0001f600": {"bad"}, "%s": {"bad"}, "000": {"request", "unique"},
		fmt.Sprint(at["kind"]): nil, "nothing": nil, " ": {"payload", "bad"},
	} {
		var wanted []int64
		for _, name := range names {
			wanted = append(wanted, at[name])
		}
		if text == fmt.Sprint(at["kind"]) { // which may be in a payload as well
			list := f.list(inspect.Filter{Text: text})
			if !slices.Contains(list, at["kind"]) {
				f.Errorf("the id %s finds %v", text, list)
			}
			continue
		}
		slices.Sort(wanted)
		slices.Reverse(wanted)
		if ids := f.list(inspect.Filter{Text: text}); !slices.Equal(ids, wanted) {
			f.Errorf("the text %q finds %v, not %v (%v)", text, ids, wanted, names)
		}
	}
	if ids := f.list(inspect.Filter{Text: "e", Status: jobs.StatusFailed, Kind: "bad"}); len(ids) != 0 {
		f.Errorf("a text that the failed job does not have finds %v", ids)
	}
	if ids := f.list(inspect.Filter{Text: "disk", Status: jobs.StatusFailed}); !slices.Equal(ids, []int64{at["bad"]}) {
		f.Errorf("the text of the failed job finds %v", ids)
	}
	for name, text := range map[string]string{"NUL": "a\x00", "no UTF-8": "\xff", "length": strings.Repeat("a", jobs.MaxKeyLength+1)} {
		_, err := inspect.New(f.client).ListPage(f.ctx, inspect.Filter{Text: text})
		wantInvalid(f, "text with "+name, err)
	}
}

// A page reads a bounded number of jobs, and says where it stopped. Jobs of a rare status are found in spite of all others.
func testSearchBounds(f *fixture) {
	needle := f.enqueue("needle")
	users := f.enqueue("k", jobs.UserID("user"), jobs.Queue("small"))
	later := f.enqueue("k", jobs.UserID("user"), jobs.Queue("small"), jobs.In(time.Hour))
	failed := f.enqueue("fails", jobs.Queue("fails"))
	f.drain(jobs.Config{Queues: map[string]int{"fails": 1}}, on("fails", func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("for good")) }))
	cancelled := f.enqueue("k")
	_, err := f.client.Cancel(f.ctx, cancelled)
	f.must(err)
	const others = 12_000 // more than one page reads
	_, err = f.client.EnqueueMany(f.ctx, "k", slices.Repeat([]json.RawMessage{[]byte("{}")}, others))
	f.must(err)
	for name, filter := range map[string]inspect.Filter{"kind": {Kind: "needle"}, "text": {Text: "needle"}, "status": {Text: "needle", Status: jobs.StatusPending}} {
		pages := 0
		for filter.After = 0; ; pages++ {
			page, err := inspect.New(f.client).ListPage(f.ctx, filter)
			f.must(err)
			if len(page.Jobs) == 1 && page.Jobs[0].ID == needle {
				break
			}
			if len(page.Jobs) > 0 || page.Next == 0 || filter.After > 0 && page.Next >= filter.After {
				f.Fatalf("by %s: after %d the page has %d jobs and goes on after %d", name, filter.After, len(page.Jobs), page.Next)
			}
			filter.After = page.Next
		}
		if pages == 0 {
			f.Errorf("by %s: one page looks at all jobs", name)
		}
		filter.After = 0
		if ids := f.list(filter); !slices.Equal(ids, []int64{needle}) {
			f.Errorf("by %s: the list has %v", name, ids)
		}
	}
	// An index leads to these past all others.
	for _, found := range []struct {
		filter inspect.Filter
		ids    []int64
	}{
		{inspect.Filter{UserID: "user"}, []int64{later, users}},
		{inspect.Filter{UserID: "user", After: later}, []int64{users}},
		{inspect.Filter{UserID: "user", Status: jobs.StatusPending, Kind: "k"}, []int64{users}},
		{inspect.Filter{UserID: "user", Status: jobs.StatusDone}, nil},
		{inspect.Filter{UserID: "none"}, nil},
		{inspect.Filter{Status: jobs.StatusPending, Queue: "small"}, []int64{users}},
		{inspect.Filter{Status: jobs.StatusPending, Queue: "small", Kind: "needle"}, nil},
		{inspect.Filter{Status: jobs.StatusScheduled, Queue: "small", Kind: "k"}, []int64{later}},
		{inspect.Filter{Status: jobs.StatusScheduled, Queue: "small"}, []int64{later}},
		{inspect.Filter{Status: jobs.StatusPending, Kind: "needle", Queue: jobs.DefaultQueue}, []int64{needle}},
		{inspect.Filter{Status: jobs.StatusFailed, Kind: "fails"}, []int64{failed}},
		{inspect.Filter{Status: jobs.StatusFailed, Kind: "k"}, nil},
	} {
		page, err := inspect.New(f.client).ListPage(f.ctx, found.filter)
		f.must(err)
		var ids []int64
		for _, job := range page.Jobs {
			ids = append(ids, job.ID)
		}
		if !slices.Equal(ids, found.ids) || page.Next != 0 {
			f.Errorf("a page by %+v has %v and goes on after %d, not %v alone", found.filter, ids, page.Next, found.ids)
		}
	}
	page, err := inspect.New(f.client).ListPage(f.ctx, inspect.Filter{Status: jobs.StatusCancelled})
	f.must(err)
	if len(page.Jobs) != 1 || page.Jobs[0].ID != cancelled || page.Next != 0 {
		f.Errorf("the cancelled jobs are %+v", page)
	}
	page, err = inspect.New(f.client).ListPage(f.ctx, inspect.Filter{Status: jobs.StatusCancelled, After: cancelled})
	f.must(err)
	want(f, "cancelled jobs after the last", len(page.Jobs), 0)
}

// A page of large jobs is cut, and the next continues.
func testSearchLargeJobs(f *fixture) {
	large := []byte(`"` + strings.Repeat("x", jobs.MaxPayload-2) + `"`)
	const all = 12
	for range all {
		_, err := f.client.Enqueue(f.ctx, "k", large)
		f.must(err)
	}
	var ids []int64
	for filter := (inspect.Filter{}); ; {
		page, err := inspect.New(f.client).ListPage(f.ctx, filter)
		f.must(err)
		if n := len(page.Jobs); n == 0 || n == all {
			f.Fatalf("a page has %d of %d large jobs", n, all)
		}
		for _, j := range page.Jobs {
			ids = append(ids, j.ID)
		}
		if filter.After = page.Next; page.Next == 0 {
			break
		}
	}
	if list := f.list(inspect.Filter{}); len(list) != all || !slices.Equal(list, ids) {
		f.Errorf("the list has %v, the pages %v", list, ids)
	}
}

// The latest failed attempts of a job come first, page by page.
func testLatestAttempts(f *fixture) {
	id := f.enqueue("k", jobs.MaxAttempts(7))
	f.drain(jobs.Config{}, on("k", func(_ context.Context, j jobs.Job) error {
		return jobs.RetryIn(0, fmt.Errorf("attempt %d", j.Attempt))
	}))
	var attempts [][]int
	for before := int64(0); ; {
		read, err := inspect.New(f.client).Attempts(f.ctx, id, before, 3)
		f.must(err)
		var page []int
		for _, e := range read.Failed {
			page = append(page, e.Attempt)
		}
		attempts = append(attempts, page)
		if before = read.Next; before == 0 {
			break
		}
	}
	if want := "[[5 6 7] [2 3 4] [1]]"; fmt.Sprint(attempts) != want {
		f.Errorf("the pages have %v, not %s", attempts, want)
	}
	all, err := inspect.New(f.client).Errors(f.ctx, id)
	f.must(err)
	want(f, "all errors", len(all), 7)
	_, err = inspect.New(f.client).Attempts(f.ctx, id, -1, 3)
	wantInvalid(f, "negative cursor", err)
	_, err = inspect.New(f.client).Attempts(f.ctx, id, 0, inspect.MaxPage+1)
	wantInvalid(f, "high limit", err)
}
