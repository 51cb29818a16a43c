package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

type receipt struct {
	ID       int64
	Existed  bool
	Replaced bool
}

type jobList struct {
	Jobs []listed
	Next int64
}

type listed struct {
	jobs.Job
	Omitted []string
}

type detail struct {
	jobs.Job
	Errors []inspect.AttemptEnd
	Others []inspect.AttemptEnd   `json:"other_attempts"`
	Gaps   []inspect.AttemptRange `json:"unrecorded_attempts"`
	Last   *inspect.Attempt       `json:"last_attempt"`
	Next   int64                  `json:"attempts_next"`
}

func (a *api) enqueue(kind string, n int) (ids []int64) {
	a.t.Helper()
	for range n {
		ids = append(ids, get[receipt](a, http.MethodPost, "/jobs", fmt.Sprintf(`{"kind": %q}`, kind)).ID)
	}
	return ids
}

func (a *api) ids(path string) (ids []int64) {
	a.t.Helper()
	for _, j := range get[jobList](a, http.MethodGet, path, "").Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func TestEnqueue(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{Prefix: "/queue"})
		plain := get[receipt](a, http.MethodPost, "/jobs", `{"kind": "good"}`)
		j, err := client.Get(t.Context(), plain.ID)
		must(t, err)
		if string(j.Payload) != "{}" || j.Queue != "default" || j.MaxAttempts != 25 || j.Status != jobs.StatusPending || plain.Existed {
			t.Errorf("a plain job is %+v", j)
		}
		const all = `{"kind": "good", "payload": {"n": 12345678901234567890, "s": "<é>"}, "queue": "other", "priority": -7,
			"run_after": "2090-01-02T03:04:05.678901Z", "start_by": "2090-01-02T03:04:06Z", "max_attempts": 3, "timeout_ns": 5000000000, "unique_key": "u",
			"request_id": "r", "user_id": "ann", "tags": ["a", "b"], "metadata": [1]}`
		first := get[receipt](a, http.MethodPost, "/jobs", all)
		j, err = client.Get(t.Context(), first.ID)
		must(t, err)
		if string(j.Payload) != `{"n": 12345678901234567890, "s": "<é>"}` || j.Queue != "other" || j.Priority != -7 ||
			!j.RunAfter.Equal(time.Date(2090, 1, 2, 3, 4, 5, 678901000, time.UTC)) || !j.StartBy.Equal(time.Date(2090, 1, 2, 3, 4, 6, 0, time.UTC)) || j.MaxAttempts != 3 || j.Timeout != 5*time.Second ||
			j.UniqueKey != "u" || j.RequestID != "r" || j.UserID != "ann" || !slices.Equal(j.Tags, []string{"a", "b"}) || string(j.Metadata) != "[1]" {
			t.Errorf("a job with all fields is %+v", j)
		}
		if again := get[receipt](a, http.MethodPost, "/jobs", all); again.ID != first.ID || !again.Existed {
			t.Errorf("the same again is %+v", again)
		}
		late := get[receipt](a, http.MethodPost, "/jobs", `{"kind": "good", "delay_ns": 3600000000000, "start_within_ns": 60000000000}`)
		if j, err = client.Get(t.Context(), late.ID); err != nil || j.Status != jobs.StatusScheduled || j.StartBy.Sub(j.RunAfter) != time.Minute {
			t.Errorf("a delayed job is %s, %v", j.Status, err)
		}
		response, err := http.Post(a.url+"/jobs", "application/json", strings.NewReader(`{"kind": "good"}`))
		must(t, err)
		must(t, response.Body.Close())
		if want := fmt.Sprintf("/queue/api/admin/jobs/%d", late.ID+1); response.StatusCode != http.StatusCreated || response.Header.Get("Location") != want {
			t.Errorf("%d at %q, want it at %s", response.StatusCode, response.Header.Get("Location"), want)
		}
	})
}

func TestListAndGet(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		if list := get[jobList](a, http.MethodGet, "/jobs", ""); list.Jobs == nil || len(list.Jobs) > 0 || list.Next != 0 {
			t.Errorf("no jobs are %+v", list)
		}
		for i := range 45 {
			_, err := client.Enqueue(t.Context(), []string{"good", "bad", "worse"}[i%3], fmt.Appendf(nil, "%d", i), jobs.MaxAttempts(1),
				jobs.UserID(fmt.Sprint("user", i%2)), jobs.Tags(fmt.Sprint("tag", i%5)))
			must(t, err)
		}
		var all []int64
		for next, pages := int64(0), 0; pages == 0 || next != 0; pages++ {
			path := "/jobs?limit=25"
			if next != 0 {
				path += fmt.Sprint("&after=", next)
			}
			list := get[jobList](a, http.MethodGet, path, "")
			for _, j := range list.Jobs {
				all = append(all, j.ID)
			}
			next = list.Next
		}
		if len(all) != 45 || all[0] != 45 || all[44] != 1 || !slices.IsSortedFunc(all, func(x, y int64) int { return int(y - x) }) {
			t.Errorf("the pages have %v", all)
		}
		run(t, client)
		for path, want := range map[string]int{
			"/jobs?status=done&limit=200": 15, "/jobs?status=failed&kind=bad": 15, "/jobs?user_id=user1&limit=200": 22,
			"/jobs?q=GOOD&limit=200": 15, "/jobs?q=user1&status=failed&limit=200": 15, "/jobs?q=it+is+bad": 15, "/jobs?q=nothing": 0,
			"/jobs?tag=tag3": 9, "/jobs?queue=other": 0, "/jobs?limit=200": 45, "/jobs": 45, "/jobs?after=11": 10,
		} {
			if ids := a.ids(path); len(ids) != want {
				t.Errorf("%s has %d jobs, want %d", path, len(ids), want)
			}
		}
		good := get[detail](a, http.MethodGet, "/jobs/1", "")
		if good.Status != jobs.StatusDone || string(good.Result) != `"well"` || string(good.Progress) != "0.5" || len(good.Errors) != 0 {
			t.Errorf("a job that ended well is %+v", good)
		}
		bad := get[detail](a, http.MethodGet, "/jobs/3", "")
		if bad.Status != jobs.StatusFailed || len(bad.Errors) != 1 || bad.Errors[0].Cause != jobs.CausePanic ||
			!strings.Contains(bad.Errors[0].Message, "it is worse") || !strings.Contains(bad.Errors[0].Stack, "api_test") && !strings.Contains(bad.Errors[0].Stack, "helpers_test") {
			t.Errorf("a job that panicked is %+v", bad)
		}
	})
}

// TestLargeFields checks that a list omits large fields and names them.
func TestLargeFields(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		large := `"` + strings.Repeat("x", jobs.MaxPayload-2) + `"`
		for range 3 {
			_, err := client.Enqueue(t.Context(), "k", []byte(large), jobs.Metadata(json.RawMessage(large)))
			must(t, err)
		}
		list := get[jobList](a, http.MethodGet, "/jobs", "")
		for _, j := range list.Jobs {
			if string(j.Payload) != "null" && j.Payload != nil || j.Metadata != nil || !slices.Equal(j.Omitted, []string{"payload", "metadata"}) {
				t.Errorf("a listed job has %d bytes of payload, omitted %v", len(j.Payload), j.Omitted)
			}
		}
		if j := get[detail](a, http.MethodGet, "/jobs/1", ""); string(j.Payload) != large || string(j.Metadata) != large {
			t.Errorf("the job itself has %d bytes of payload and %d of metadata", len(j.Payload), len(j.Metadata))
		}
	})
}

// TestPagesAreCut checks that a page of large jobs has fewer jobs than requested, and the next page continues after them.
func TestPagesAreCut(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		shown := json.RawMessage(`"` + strings.Repeat("x", 4000) + `"`)
		const all = 180
		_, err := client.EnqueueMany(t.Context(), "k", slices.Repeat([]json.RawMessage{shown}, all), jobs.Metadata(shown))
		must(t, err)
		var ids []int64
		for path := "/jobs?limit=200"; path != ""; {
			status, text := a.send(http.MethodGet, path, "")
			if status != http.StatusOK || len(text) > 5<<18 {
				t.Fatalf("a page is answered with %d and %d bytes", status, len(text))
			}
			var list jobList
			decode(t, text, &list)
			for _, j := range list.Jobs {
				ids = append(ids, j.ID)
			}
			if path = ""; list.Next != 0 {
				path = fmt.Sprint("/jobs?limit=200&after=", list.Next)
			}
		}
		if len(ids) != all || ids[0] != all || ids[all-1] != 1 {
			t.Errorf("the pages have %v", ids)
		}
	})
}

func TestChangesOfOneJob(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		a.enqueue("good", 1)
		if j := get[detail](a, http.MethodPost, "/jobs/1/cancel", ""); j.Status != jobs.StatusCancelled {
			t.Errorf("the cancelled job is %s", j.Status)
		}
		a.refused(http.StatusConflict, http.MethodPost, "/jobs/1/cancel", "")
		if d := get[inspect.Diagnosis](a, http.MethodGet, "/jobs/1/why", ""); len(d.Findings) != 1 || d.Findings[0].Reason != inspect.ReasonEnded {
			t.Errorf("the cancelled job does not run because of %+v", d)
		}
		if j := get[detail](a, http.MethodPost, "/jobs/1/retry", ""); j.Status != jobs.StatusPending {
			t.Errorf("the retried job is %s", j.Status)
		}
		if p := a.refused(http.StatusConflict, http.MethodPost, "/jobs/1/retry", ""); p.Type != "urn:sqluice:problem:status" || !strings.Contains(p.Detail, "pending") {
			t.Errorf("a retry of a pending job is refused with %+v", p)
		}
		if status, body := a.send(http.MethodDelete, "/jobs/1", ""); status != http.StatusNoContent || len(body) > 0 {
			t.Errorf("the removal is answered with %d: %s", status, body)
		}
		for _, r := range [][2]string{{"GET", "/jobs/1"}, {"GET", "/jobs/1/why"}, {"DELETE", "/jobs/1"}, {"POST", "/jobs/1/retry"}, {"POST", "/jobs/1/cancel"}} {
			if p := a.refused(http.StatusNotFound, r[0], r[1], ""); p.Type != "urn:sqluice:problem:no-such-job" {
				t.Errorf("%v is refused with %+v", r, p)
			}
		}
		var retry [2]string
		for i := range retry {
			receipt, err := client.Enqueue(t.Context(), "bad", []byte("1"), jobs.Unique("key"), jobs.MaxAttempts(1))
			must(t, err)
			retry[i] = fmt.Sprintf("/jobs/%d/retry", receipt.ID)
			run(t, client)
		}
		get[detail](a, http.MethodPost, retry[0], "")
		if p := a.refused(http.StatusConflict, http.MethodPost, retry[1], ""); p.Type != "urn:sqluice:problem:unique-key-taken" {
			t.Errorf("a second job with the key is refused with %+v", p)
		}
	})
}

type bulkResult struct {
	Changed, Skipped int
	Next             int64
	Refused          int
	Refusal          string
}

func TestBulk(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		bulk := func(what, body string) bulkResult {
			t.Helper()
			return get[bulkResult](a, http.MethodPost, "/bulk/"+what, body)
		}
		a.enqueue("good", 30)
		a.enqueue("other", 30)
		first := bulk("cancel", `{"status": "pending", "kind": "good", "limit": 25}`)
		if first != (bulkResult{Changed: 25, Next: 6}) {
			t.Errorf("the first request changed %+v", first)
		}
		if rest := bulk("cancel", `{"status": "pending", "kind": "good", "after": 6}`); rest != (bulkResult{Changed: 5}) {
			t.Errorf("the second request changed %+v", rest)
		}
		if n := len(a.ids("/jobs?status=pending&kind=other&limit=200")); n != 30 {
			t.Errorf("%d jobs of the other kind are pending", n)
		}
		if r := bulk("retry", `{"status": "cancelled", "q": "nothing"}`); r != (bulkResult{}) {
			t.Errorf("a text that no job has changed %+v", r)
		}
		if r := bulk("retry", `{"status": "cancelled", "q": "GOOD"}`); r != (bulkResult{Changed: 30}) {
			t.Errorf("a retry changed %+v", r)
		}
		run(t, client)
		if r := bulk("delete", `{"status": "done", "queue": "default"}`); r != (bulkResult{Changed: 30}) {
			t.Errorf("a removal changed %+v", r)
		}
		if r := bulk("delete", `{"status": "done"}`); r != (bulkResult{}) {
			t.Errorf("nothing is changed by %+v", r)
		}
		for range 2 {
			_, err := client.Enqueue(t.Context(), "bad", []byte("1"), jobs.Unique("key"), jobs.MaxAttempts(1))
			must(t, err)
			run(t, client)
		}
		if r := bulk("retry", `{"status": "failed"}`); r != (bulkResult{Changed: 1, Skipped: 1}) {
			t.Errorf("of two jobs with one key a retry changed %+v", r)
		}
		if r := bulk("delete", `{"status": "failed", "error": "it is"}`); r != (bulkResult{}) {
			t.Errorf("by a part of an error a removal changed %+v", r)
		}
		if r := bulk("delete", `{"status": "failed", "error": "it is bad"}`); r != (bulkResult{Changed: 1}) {
			t.Errorf("by its error a removal changed %+v", r)
		}
		for _, bad := range []string{
			`{}`, `{"kind": "good"}`, `{"status": "running"}`, `{"status": "done", "limit": 0}`, `{"status": "done", "limit": 1001}`,
			`{"status": "done", "after": -1}`, `{"status": "done", "all": true}`, `[]`, ``,
		} {
			a.refused(http.StatusBadRequest, http.MethodPost, "/bulk/delete", bad)
		}
	})
}

// TestBulkGetsOn checks that a request whose time is over before it has found its first job changes that job all the same, and does
// not report that all jobs are done.
func TestBulkGetsOn(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		for range 3 {
			_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
			must(t, err)
		}
		server := startSlow(t, client)
		a := &api{t, server.URL + base, client, readContract(t)}
		want := []bulkResult{{Changed: 1, Next: 3}, {Changed: 1, Next: 2}, {Changed: 1}}
		for i, after := range []int64{0, 3, 2} {
			body := fmt.Sprintf(`{"status": "pending", "after": %d}`, after)
			if r := get[bulkResult](a, http.MethodPost, "/bulk/cancel", body); r != want[i] {
				t.Errorf("request %d changed %+v, want %+v", i, r, want[i])
			}
		}
	})
}

func TestOverview(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		get[struct{ Queues []inspect.QueueInfo }](a, http.MethodGet, "/queues", "")
		for i := range 4 {
			_, err := client.Enqueue(t.Context(), "bad", fmt.Appendf(nil, "%d", i), jobs.MaxAttempts(1))
			must(t, err)
		}
		run(t, client)
		a.enqueue("good", 2)
		report := get[inspect.FailedReport](a, http.MethodGet, "/failed?limit=5", "")
		if report.Jobs != 4 || report.Older || len(report.Groups) != 1 || report.Groups[0].Jobs != 4 || report.Groups[0].Error != "it is bad" || report.Groups[0].Cause != jobs.CauseError {
			t.Errorf("the report is %+v", report)
		}
		for path, want := range map[string]int{"?kind=good": 0, "?since=2090-01-01T00:00:00Z": 0, "?since=2001-01-01T00:00:00%2B01:00": 1} {
			if groups := get[inspect.FailedReport](a, http.MethodGet, "/failed"+path, "").Groups; len(groups) != want {
				t.Errorf("the report with %s has %d groups", path, len(groups))
			}
		}
		stats := get[inspect.Stats](a, http.MethodGet, "/stats", "")
		if stats.Jobs[jobs.StatusFailed] != 4 || stats.Jobs[jobs.StatusPending] != 2 || len(stats.Unhandled) != 1 {
			t.Errorf("the counts are %+v", stats)
		}
		type pausing struct {
			Queue           string
			Paused, Changed bool
		}
		for _, step := range []struct {
			verb string
			want pausing
		}{
			{"pause", pausing{"a/b c", true, true}}, {"pause", pausing{"a/b c", true, false}},
			{"resume", pausing{"a/b c", false, true}}, {"resume", pausing{"a/b c", false, false}}, {"pause", pausing{"a/b c", true, true}},
		} {
			if got := get[pausing](a, http.MethodPost, "/queues/a%2Fb%20c/"+step.verb, ""); got != step.want {
				t.Errorf("%s is answered with %+v, want %+v", step.verb, got, step.want)
			}
		}
		escape := func(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2E") }
		for _, name := range []string{"/", "//", "a/", ".", "..", "%2F", "?", "#"} {
			got := get[struct {
				pausing
				Unknown []inspect.UnknownName
			}](a, http.MethodPost, "/queues/"+escape(name)+"/pause", "")
			if got.pausing != (pausing{name, true, true}) || len(got.Unknown) != 1 || got.Unknown[0] != (inspect.UnknownName{Field: "queue", Name: name}) {
				t.Errorf("a pause of the queue %s is answered with %+v", name, got)
			}
			get[pausing](a, http.MethodPost, "/queues/"+escape(name)+"/resume", "")
		}
		queues := get[struct{ Queues []inspect.QueueInfo }](a, http.MethodGet, "/queues", "").Queues
		if len(queues) != 2 || queues[0].Name != "a/b c" || queues[0].PausedAt.IsZero() || queues[1].Pending != 2 {
			t.Errorf("the queues are %+v", queues)
		}
		a.refused(http.StatusBadRequest, http.MethodPost, "/queues/"+strings.Repeat("q", 201)+"/pause", "")
		get[struct{ Workers []inspect.WorkerInfo }](a, http.MethodGet, "/workers", "")
		for _, path := range []string{"/healthz", "/readyz"} {
			if got := get[map[string]string](a, http.MethodGet, path, ""); got["status"] != "ok" {
				t.Errorf("%s is answered with %v", path, got)
			}
		}
	})
}

// TestWorkersAreListed checks that workers are listed while they run.
func TestWorkersAreListed(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		runner, err := jobs.NewRunner(client, jobs.Config{Name: "ann", Version: "v1", Queues: map[string]int{"q": 3}})
		must(t, err)
		running := make(chan struct{})
		ended := make(chan error, 1)
		jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(ctx context.Context, _ jobs.Job, _ json.RawMessage) error {
			close(running)
			<-ctx.Done()
			return nil
		})
		_, err = client.Enqueue(t.Context(), "k", []byte("1"), jobs.Queue("q"))
		must(t, err)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { ended <- runner.Run(ctx) }()
		<-running
		workers := get[struct{ Workers []inspect.WorkerInfo }](a, http.MethodGet, "/workers", "").Workers
		if len(workers) != 1 || workers[0].Name != "ann" || workers[0].Version != "v1" || workers[0].Queues["q"] != 3 || workers[0].Running != 1 {
			t.Errorf("the workers are %+v", workers)
		}
		if j := get[detail](a, http.MethodPost, "/jobs/1/cancel", ""); j.Status != jobs.StatusRunning || j.CancelRequested.IsZero() {
			t.Errorf("the job that is to be cancelled is %s", j.Status)
		}
		stop()
		must(t, <-ended)
	})
}

// TestReadiness checks that a database without the schema is not ready.
func TestReadiness(t *testing.T) {
	a := serve(t, jobs.New(testdb.OpenSQLite(t, t.TempDir()+"/jobs.db")), admin.Config{})
	if p := a.refused(http.StatusServiceUnavailable, http.MethodGet, "/readyz", ""); p.Type != "urn:sqluice:problem:schema" {
		t.Errorf("the database without a schema is %+v", p)
	}
	a.refused(http.StatusServiceUnavailable, http.MethodGet, "/jobs", "")
	get[map[string]string](a, http.MethodGet, "/healthz", "")
}

// TestAttemptsAreShownPageByPage checks that the latest attempts come first.
func TestAttemptsAreShownPageByPage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		const all = 120
		_, err := client.Enqueue(t.Context(), "again", []byte("1"), jobs.MaxAttempts(all))
		must(t, err)
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		jobs.Kind[json.RawMessage]{Name: "again"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error {
			return jobs.RetryIn(0, errors.New("again"))
		})
		must(t, runner.Drain(t.Context()))
		var ranges []string
		for path := "/jobs/1"; path != ""; {
			d := get[detail](a, http.MethodGet, path, "")
			ranges = append(ranges, fmt.Sprint(d.Errors[0].Attempt, "-", d.Errors[len(d.Errors)-1].Attempt))
			if path = ""; d.Next != 0 {
				path = fmt.Sprint("/jobs/1?attempts_after=", d.Next)
			}
		}
		if want := []string{"71-120", "21-70", "1-20"}; !slices.Equal(ranges, want) {
			t.Errorf("the pages have the attempts %v, want %v", ranges, want)
		}
		if p := a.refused(http.StatusBadRequest, http.MethodGet, "/jobs/1?attempts_after=x", ""); p.Faults[0].Field != "attempts_after" {
			t.Errorf("a faulty cursor is refused with %+v", p)
		}
	})
}

// deaf is a store that fails every read after a write.
type deaf struct {
	engine.Store
	wrote atomic.Bool
}

func (d *deaf) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	err := d.Store.Write(ctx, fn)
	d.wrote.Store(err == nil)
	return err
}

func (d *deaf) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if d.wrote.Load() {
		return jobs.ErrUnavailable
	}
	return d.Store.Inspect(ctx, fn)
}

// TestChangesThatCannotBeReadBack checks that a change whose job cannot be read afterwards is not an error.
func TestChangesThatCannotBeReadBack(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		for _, change := range []struct {
			path   string
			status jobs.Status
		}{{"/jobs/1/cancel", jobs.StatusCancelled}, {"/jobs/1/retry", jobs.StatusPending}} {
			if change.status == jobs.StatusCancelled {
				_, err := client.Enqueue(t.Context(), "k", []byte("1"))
				must(t, err)
			}
			a := serve(t, jobs.New(engine.SealStore(&deaf{Store: engine.StoreOf(client.Store())})), admin.Config{})
			if status, body := a.send(http.MethodPost, change.path, ""); status != http.StatusNoContent || len(body) > 0 {
				t.Errorf("%s is answered with %d: %s", change.path, status, body)
			}
			if j, err := client.Get(t.Context(), 1); err != nil || j.Status != change.status {
				t.Errorf("after %s the job is %s, %v", change.path, j.Status, err)
			}
		}
	})
}
