package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var inspectTests = []test{
	{"ListFilters", testListFilters},
	{"UnknownNames", testUnknownNames},
	{"ListOddTags", testListOddTags},
	{"ListForeignTags", testListForeignTags},
	{"ForeignTimes", testForeignTimes},
	{"ListPages", testListPages},
	{"FailedReport", testFailedReport},
	{"FailedReportPatterns", testFailedReportPatterns},
	{"FailedReportCauses", testFailedReportCauses},
	{"FailedReportTies", testFailedReportTies},
	{"FailedReportBound", testFailedReportBound},
	{"ListFailedPages", testListFailedPages},
	{"ListFailedLargeJobs", testListFailedLarge},
	{"ManyFailed", testManyFailed},
	{"Failures", testFailures},
	{"TimesOfZero", testTimesOfZero},
	{"Stats", testStats},
	{"UnhandledOrder", testUnhandledOrder},
	{"Queues", testQueues},
	{"Workers", testWorkers},
	{"NotFound", testGetNotFound},
}

func (f *fixture) list(filter inspect.Filter) []int64 {
	f.Helper()
	list, err := inspect.New(f.client).List(f.ctx, filter)
	f.must(err)
	ids := make([]int64, len(list))
	for i, job := range list {
		ids[i] = job.ID
	}
	return ids
}

func testListFilters(f *fixture) {
	a := f.enqueue("a", jobs.Tags("red", `qu"ote`), jobs.UserID("u"))
	b := f.enqueue("b", jobs.Queue("q"), jobs.Tags("redder"))
	c := f.enqueue("a", jobs.In(time.Hour), jobs.UserID("v"))
	for _, t := range []struct {
		name   string
		filter inspect.Filter
		want   []int64
	}{
		{"none", inspect.Filter{}, []int64{c, b, a}},
		{"status", inspect.Filter{Status: jobs.StatusPending}, []int64{b, a}},
		{"kind", inspect.Filter{Kind: "a"}, []int64{c, a}},
		{"queue", inspect.Filter{Queue: "q"}, []int64{b}},
		{"user", inspect.Filter{UserID: "u"}, []int64{a}},
		{"tag", inspect.Filter{Tag: "red"}, []int64{a}},
		{"tag with a quote", inspect.Filter{Tag: `qu"ote`}, []int64{a}},
		{"part of a tag", inspect.Filter{Tag: "re"}, nil},
		{"kind and status", inspect.Filter{Kind: "a", Status: jobs.StatusScheduled}, []int64{c}},
		{"after", inspect.Filter{After: b}, []int64{a}},
	} {
		if ids := f.list(t.filter); !slices.Equal(ids, t.want) {
			f.Errorf("filter by %s gives %v, not %v", t.name, ids, t.want)
		}
	}
	for name, filter := range map[string]inspect.Filter{
		"unknown status": {Status: "lost"}, "negative limit": {Limit: -1}, "high limit": {Limit: inspect.MaxPage + 1},
		"negative cursor": {After: -1}, "kind with a NUL": {Kind: "a\x00"}, "queue that is no UTF-8": {Queue: "\xff"},
		"user with a NUL": {UserID: "a\x00b"}, "user that is no UTF-8": {UserID: "\xff"},
		"long user": {UserID: strings.Repeat("u", jobs.MaxKeyLength+1)}, "tag with a NUL": {Tag: "\x00"},
	} {
		_, err := inspect.New(f.client).List(f.ctx, filter)
		wantInvalid(f, name, err)
	}
	for name, kind := range map[string]string{"kind with a NUL": "a\x00", "kind that is no UTF-8": "\xff", "long kind": strings.Repeat("k", jobs.MaxNameLength+1)} {
		_, err := inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{Kind: kind})
		wantInvalid(f, "a report of a "+name, err)
		_, err = inspect.New(f.client).ListFailed(f.ctx, inspect.FailedFilter{Kind: kind}, jobs.Job{})
		wantInvalid(f, "failed jobs of a "+name, err)
	}
}

// A tag finds the jobs that have it and no others, whatever its characters and its neighbours.
func testListOddTags(f *fixture) {
	tags := []string{
		"a", "A", "ab", "b", ",", `","`, `"`, `""`, `\`, `\\`, `\"`, `a,`, `,b`, `a","b`, `["a"]`, "[", "]", "{}", "null", "1", " ", " a",
		"%", "_", "a%", "*", "?", "'", "''", "$1", "@tag", "<&>", `\u0061`, `\u0000`, `\ud83d`, `\n`,
		"\u00e9", "e\u0301", "\u00c9", "\u65e5\u672c", "\U0001f600", "\u2028", "\ufffd", "\ufeff",
	}
	have := map[int64][]string{}
	for i, tag := range tags {
		for _, list := range [][]string{{tag}, {tag, tags[(i+1)%len(tags)]}, {"foo,", tag, ",bar"}} {
			have[f.enqueue("k", jobs.Tags(list...))] = list
		}
	}
	f.enqueue("k")
	for _, tag := range append(tags, "foo", "foo,", ",bar", "bar", "ba", "a,b", `a"`) {
		var wanted []int64
		for id, list := range have {
			if slices.Contains(list, tag) {
				wanted = append(wanted, id)
			}
		}
		slices.Sort(wanted)
		slices.Reverse(wanted)
		if ids := f.list(inspect.Filter{Tag: tag, Limit: inspect.MaxPage}); !slices.Equal(ids, wanted) {
			f.Errorf("the tag %q finds %v, not %v", tag, ids, wanted)
		}
	}
}

// Other programs write the list in any form, or another value: it is found or not, and never an error.
func testListForeignTags(f *fixture) {
	for _, t := range []struct {
		column, tag string
		found       bool
	}{
		{`[ "a" , "b" ]`, "a", true}, {`["\u0061"]`, "a", true}, {`["\u00E9"]`, "\u00e9", true}, {`["\/"]`, "/", true},
		{`["\ud83d\ude00"]`, "\U0001f600", true}, {`["a", "\u0000"]`, "a", true}, {`["\ud83d", "a"]`, "a", true},
		{`["\\ud83d\ude00", "a"]`, "a", true}, {`["\\ud83d\ude00"]`, "a", false}, // an escaped backslash and half a pair
		{`["\ude00"]`, "a", false}, {`[]`, "a", false}, {`"a"`, "a", false}, {`{"a": "a"}`, "a", false}, {`null`, "null", false},
		{`[["a"], {"a": "a"}, null, 1, true]`, "a", false}, {`[1]`, "1", false}, {`[null]`, "null", false}, {`[true]`, "true", false},
	} {
		row := f.failedRow("k", "bad")
		row[columnTags] = t.column
		f.importJob(row)
		want(f, t.column+" has the tag "+t.tag, slices.Equal(f.list(inspect.Filter{Tag: t.tag, Limit: 1}), []int64{row[0].(int64)}), t.found)
	}
}

// A program that writes nanoseconds, or nonsense, is refused.
func testForeignTimes(f *fixture) {
	for _, at := range []int64{math.MaxInt64, math.MinInt64, -1, 1_700_000_000_000_000_000} {
		for column := 25; column <= 28; column++ {
			row := f.failedRow("k", "bad")
			row[column] = at
			items, err := json.Marshal([][]any{row})
			f.must(err)
			err = f.store.Write(f.ctx, func(ctx context.Context, q db.Querier) error {
				_, err := q.ImportJobs(ctx, string(items))
				return err
			})
			if err == nil {
				f.Errorf("column %d takes %d", column, at)
			}
		}
	}
}

func testListPages(f *fixture) {
	var wanted []int64
	for range 7 {
		wanted = append([]int64{f.enqueue("k")}, wanted...)
	}
	var all []int64
	for after := int64(0); ; after = all[len(all)-1] {
		page := f.list(inspect.Filter{After: after, Limit: 3})
		all = append(all, page...)
		if len(page) < 3 {
			break
		}
	}
	if !slices.Equal(all, wanted) {
		f.Errorf("pages give %v, not %v", all, wanted)
	}
}

func testFailedReport(f *fixture) {
	f.fail("a", "rare")
	f.fail("a", "often")
	last := f.fail("a", "often")
	f.fail("b", "often")
	report, err := inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{})
	f.must(err)
	groups := report.Groups
	want(f, "jobs in all groups", report.Jobs, 4)
	want(f, "older jobs", report.Older, false)
	want(f, "number of groups", len(groups), 3)
	first := groups[0]
	if first.Kind != "a" || first.Error != "often" || first.Jobs != 2 || first.ExampleID != last || first.Cause != jobs.CauseError || !first.FirstSeen.Before(first.LastSeen) {
		f.Errorf("the most frequent group is %+v", first)
	}
	report, err = inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{Kind: "b"})
	f.must(err)
	want(f, "groups of one kind", len(report.Groups), 1)
	want(f, "jobs of one kind", report.Jobs, 1)
	report, err = inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{Since: f.store.Now().Add(time.Hour)})
	f.must(err)
	want(f, "groups of the future", len(report.Groups), 0)
	_, err = inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{Limit: -1})
	wantInvalid(f, "a negative limit", err)
}

func testListFailedPages(f *fixture) {
	for range 7 {
		f.enqueue("k")
	}
	// They end together, so pages cannot go by time alone.
	f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return jobs.Discard(nil) }))
	seen := map[int64]bool{}
	for last := (jobs.Job{}); ; {
		page, err := inspect.New(f.client).ListFailed(f.ctx, inspect.FailedFilter{Limit: 2}, last)
		f.must(err)
		if len(page) == 0 {
			break
		}
		for _, job := range page {
			if seen[job.ID] {
				f.Errorf("job %d is on two pages", job.ID)
			}
			seen[job.ID] = true
		}
		last = page[len(page)-1]
	}
	want(f, "failed jobs on all pages", len(seen), 7)
}

// failedInTurn adds jobs that failed one second after the other, and returns their ids. The first ones have another
// kind and another error than the last.
func (f *fixture) failedInTurn(first, last int) (ids []int64) {
	f.Helper()
	template := f.failedRow("old", "was bad")
	var rows [][]any
	for i := range first + last {
		row := slices.Clone(template)
		row[0] = template[0].(int64) + int64(i)
		row[columnFinished] = template[columnFinished].(int64) + int64(i)*1_000_000
		if i >= first {
			row[columnKind], row[columnError] = "new", "is bad"
		}
		rows, ids = append(rows, row), append(ids, row[0].(int64))
	}
	f.importJobs(rows)
	return ids
}

// The report covers the latest failed jobs, or the latest of one kind, and says that there are more.
func testFailedReportBound(f *fixture) {
	ids := f.failedInTurn(inspect.MostReported/2+1, inspect.MostReported/2)
	report, err := inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{})
	f.must(err)
	want(f, "jobs in all groups", report.Jobs, inspect.MostReported)
	want(f, "older ones", report.Older, true)
	if g := report.Groups; len(g) != 2 || g[0].Kind != "new" || g[0].Jobs != inspect.MostReported/2 || g[1].Jobs != g[0].Jobs || g[1].FirstSeen.UnixMicro() != 1_700_000_001_000_000 {
		f.Errorf("the groups are %+v", g)
	}
	report, err = inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{Kind: "old", Limit: 1})
	f.must(err)
	if g := report.Groups; len(g) != 1 || g[0].Jobs != inspect.MostReported/2+1 || g[0].ExampleID != ids[inspect.MostReported/2] || report.Older {
		f.Errorf("the report of one kind is %+v", report)
	}
}

// Each page of many failed jobs continues where the one before it ended, for every filter.
func testManyFailed(f *fixture) {
	done := f.enqueue("done")
	f.drain(jobs.Config{}, on("done", nothing))
	const first, last = 700, 900
	ids := f.failedInTurn(first, last)
	slices.Reverse(ids)
	for _, t := range []struct {
		filter inspect.Filter
		want   []int64
	}{
		{inspect.Filter{Status: jobs.StatusFailed, Limit: 300}, ids},
		{inspect.Filter{Status: jobs.StatusFailed, Kind: "old", Limit: 250}, ids[last:]},
		{inspect.Filter{Status: jobs.StatusFailed, Text: "IS BAD", After: ids[10], Limit: 200}, ids[11:last]},
		{inspect.Filter{Status: jobs.StatusCancelled}, nil},
		{inspect.Filter{Status: jobs.StatusDone}, []int64{done}},
	} {
		var have []int64
		for filter := t.filter; ; {
			page, err := inspect.New(f.client).ListPage(f.ctx, filter)
			f.must(err)
			for _, j := range page.Jobs {
				have = append(have, j.ID)
			}
			if filter.After = page.Next; page.Next == 0 {
				break
			}
		}
		if !slices.Equal(have, t.want) {
			f.Errorf("the pages of %+v have %d jobs, not %d", t.filter, len(have), len(t.want))
		}
	}
}

// Inspector.Failures returns failed jobs without large fields.
func testFailures(f *fixture) {
	long := strings.Repeat("\u00fc", 3000)
	f.fail("a", long)
	last := f.fail("b", "short")
	list, err := inspect.New(f.client).Failures(f.ctx, inspect.FailedFilter{}, inspect.Failure{})
	f.must(err)
	if len(list) != 2 || list[0].ID != last || list[0].Error != "short" || list[0].Kind != "b" || list[0].Queue != "default" {
		f.Fatalf("the failures are %+v", list)
	}
	job, err := f.client.Get(f.ctx, last)
	f.must(err)
	want(f, "when it failed", list[0].FailedAt, job.FinishedAt)
	want(f, "the begin of a long error", list[1].Error, long[:2*1000])
	list, err = inspect.New(f.client).Failures(f.ctx, inspect.FailedFilter{}, list[0])
	f.must(err)
	want(f, "failures before the last", len(list), 1)
	list, err = inspect.New(f.client).Failures(f.ctx, inspect.FailedFilter{Kind: "b"}, inspect.Failure{})
	f.must(err)
	want(f, "failures of one kind", len(list), 1)
}

// A page of large failed jobs is cut, and the next continues.
func testListFailedLarge(f *fixture) {
	large := []byte(`"` + strings.Repeat("x", jobs.MaxPayload-2) + `"`)
	const all = 12
	for range all {
		_, err := f.client.Enqueue(f.ctx, "k", large)
		f.must(err)
	}
	f.drain(jobs.Config{}, on("k", func(context.Context, jobs.Job) error { return jobs.Discard(nil) }))
	seen := 0
	for last := (jobs.Job{}); ; {
		page, err := inspect.New(f.client).ListFailed(f.ctx, inspect.FailedFilter{}, last)
		f.must(err)
		if len(page) == 0 {
			break
		}
		if len(page) == all {
			f.Errorf("one page has all %d large jobs", all)
		}
		seen += len(page)
		last = page[len(page)-1]
	}
	want(f, "large jobs on all pages", seen, all)
}

func testStats(f *fixture) {
	f.one(nothing)
	f.fail("bad", "bad")
	cancelled := f.enqueue("k")
	_, err := f.client.Cancel(f.ctx, cancelled)
	f.must(err)
	pending := f.get(f.enqueue("nobody", jobs.Queue("q")))
	due := f.get(f.enqueue("k", jobs.In(time.Hour)))
	started, release := make(chan struct{}), make(chan struct{})
	f.must(f.client.SetLimit(f.ctx, "run", "", jobs.LimitValues{Running: 1}))
	f.enqueue("run", jobs.LimitKey(""))
	f.start(jobs.Config{}, on("run", func(context.Context, jobs.Job) error {
		close(started)
		<-release
		return nil
	}))
	defer close(release)
	receive(f, "the start", started)
	f.becomes(f.enqueue("run", jobs.LimitKey("")), jobs.StatusWaiting)
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	for _, status := range jobs.Statuses() {
		want(f, "number of "+string(status)+" jobs", stats.Jobs[status], 1)
	}
	want(f, "workers", stats.Workers, 1)
	want(f, "oldest pending", stats.OldestPending, pending.RunAfter)
	want(f, "oldest paused", stats.OldestPaused.IsZero(), true)
	want(f, "next due", stats.NextDue, due.RunAfter)
	if wanted := []inspect.UnhandledWork{{Queue: "q", Kind: "nobody", Jobs: 1}}; !slices.Equal(stats.Unhandled, wanted) {
		f.Errorf("unhandled work is %v", stats.Unhandled)
	}
	_, err = f.client.PauseKind(f.ctx, "q", "nobody")
	f.must(err)
	held, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "oldest pending beside a pause", held.OldestPending.IsZero(), true)
	want(f, "oldest paused beside a pause", held.OldestPaused, pending.RunAfter)
}

func testUnhandledOrder(f *fixture) {
	var wanted []inspect.UnhandledWork
	for _, name := range []string{"A", "B", "_", "a", "a a", "aa", "b", "\u00e9"} { // as their bytes are
		wanted = append(wanted, inspect.UnhandledWork{Queue: "Q", Kind: name, Jobs: 1}, inspect.UnhandledWork{Queue: name, Kind: "k", Jobs: 1})
	}
	for _, w := range wanted {
		f.enqueue(w.Kind, jobs.Queue(w.Queue))
	}
	slices.SortFunc(wanted, func(a, b inspect.UnhandledWork) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind))
	})
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	if !slices.Equal(stats.Unhandled, wanted) {
		f.Errorf("unhandled work is %v, not %v", stats.Unhandled, wanted)
	}
}

func testQueues(f *fixture) {
	waiting := f.get(f.enqueue("k", jobs.Queue("b")))
	f.enqueue("k", jobs.Queue("b"), jobs.In(time.Hour))
	_, err := f.client.PauseQueue(f.ctx, "a")
	f.must(err)
	f.start(jobs.Config{Queues: map[string]int{"c": 7}}, on("k", nothing))
	f.ended(f.enqueue("k", jobs.Queue("c")))
	queues, err := inspect.New(f.client).Queues(f.ctx)
	f.must(err)
	if len(queues) != 3 {
		f.Fatalf("queues are %+v", queues)
	}
	a, b, c := queues[0], queues[1], queues[2]
	if a.Name != "a" || a.PausedAt.IsZero() {
		f.Errorf("the paused queue is %+v", a)
	}
	if wanted := (inspect.QueueInfo{Name: "b", Scheduled: 1, Pending: 1, Oldest: waiting.RunAfter}); !reflect.DeepEqual(b, wanted) {
		f.Errorf("the waiting queue is %+v", b)
	}
	if wanted := (inspect.QueueInfo{Name: "c", Slots: 7}); !reflect.DeepEqual(c, wanted) {
		f.Errorf("the worked queue is %+v", c)
	}
}

func testWorkers(f *fixture) {
	started, release := make(chan struct{}), make(chan struct{})
	f.enqueue("k")
	r := f.start(jobs.Config{Name: "w", Version: "v1", Queues: map[string]int{"default": 2, "q": 1}},
		on("k", func(context.Context, jobs.Job) error {
			close(started)
			<-release
			return nil
		}), on("l", nothing))
	receive(f, "the start", started)
	workers, err := inspect.New(f.client).Workers(f.ctx)
	f.must(err)
	if len(workers) != 1 {
		f.Fatalf("workers are %+v", workers)
	}
	w := workers[0]
	if w.Name != "w" || w.Version != "v1" || w.Running != 1 || w.Queues["default"] != 2 || w.Queues["q"] != 1 ||
		!slices.Equal(w.Kinds, []string{"k", "l"}) || w.Host == "" || w.PID == 0 || w.StartedAt.IsZero() || w.Heartbeat.IsZero() {
		f.Errorf("the worker is %+v", w)
	}
	close(release)
	f.must(r.stop())
	workers, err = inspect.New(f.client).Workers(f.ctx)
	f.must(err)
	want(f, "workers after the stop", len(workers), 0)
}

func testGetNotFound(f *fixture) {
	if _, err := f.client.Get(f.ctx, 12345); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("the error is %v", err)
	}
	if _, err := f.client.Get(f.ctx, -1); !errors.Is(err, jobs.ErrNotFound) {
		f.Errorf("the error is %v", err)
	}
}
