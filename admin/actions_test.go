package admin_test

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func statusOf(t *testing.T, client *jobs.Client, id int64) jobs.Status {
	t.Helper()
	j, err := client.Get(t.Context(), id)
	must(t, err)
	return j.Status
}

// A running job is not cancelled yet when the page says so.
func TestCancelOfARunningJob(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{Prefix: "/queue"})
		started, release := make(chan struct{}, 2), make(chan struct{})
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		jobs.Kind[struct{}]{Name: "k"}.Handle(runner, func(context.Context, jobs.Job, struct{}) error {
			started <- struct{}{}
			<-release
			return nil
		})
		for range 2 {
			_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
			must(t, err)
		}
		_, err = client.Enqueue(t.Context(), "other", []byte("{}"))
		must(t, err)
		ended := make(chan error, 1)
		go func() { ended <- runner.Drain(context.WithoutCancel(t.Context())) }()
		<-started
		<-started
		has(t, "after one", v.send("/jobs/change", url.Values{"do": {"cancel picked"}, "id": {"1"}, "back": {"/queue/jobs"}}),
			"Job 1 runs: its worker was asked to stop it.")
		has(t, "after two", v.send("/jobs/change", url.Values{"do": {"cancel picked"}, "id": {"2", "3"}, "back": {"/queue/jobs"}}),
			"1 job cancelled. 1 runs: the workers were asked to stop them.")
		close(release)
		must(t, <-ended)
	})
}

func TestFormsOfJobs(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{Prefix: "/queue"})
		for range 4 {
			_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
			must(t, err)
		}
		has(t, "after a cancel", v.send("/jobs/change", url.Values{"do": {"cancel picked"}, "id": {"1"}, "back": {"/queue/jobs/1"}}),
			`class="flash good" role="status">Job 1: cancelled.`, "#1", ">Cancelled<")
		if got := statusOf(t, client, 1); got != jobs.StatusCancelled {
			t.Errorf("the cancelled job is %s", got)
		}
		has(t, "after another", v.send("/jobs/change", url.Values{"do": {"cancel picked"}, "id": {"1"}, "back": {"/queue/jobs/1"}}),
			`class="flash bad"`, "job 1")
		has(t, "after one of several", v.send("/jobs/change", url.Values{"do": {"cancel picked"}, "id": {"1", "2", "3"}, "back": {"/queue/jobs?status=pending"}}),
			"2 jobs cancelled. 1 was skipped", `href="/queue/jobs/4"`)
		has(t, "after none", v.send("/jobs/change", url.Values{"do": {"retry picked"}, "back": {"/queue/jobs"}}), "No job is ticked.")
		has(t, "after a retry", v.send("/jobs/change", url.Values{"do": {"retry picked"}, "id": {"1"}, "back": {"/queue/jobs"}}), "Job 1: retried.")

		// A change that cannot be undone must be confirmed.
		asked := v.send("/jobs/change", url.Values{"do": {"delete picked"}, "id": {"2", "3"}, "back": {"/queue/jobs"}})
		has(t, "the question", asked, "Delete 2 jobs?", `<ul class="which"`, `href="/queue/jobs/2"`, `href="/queue/jobs/3"`, `name="do" value="delete picked"`, `name="id" value="2"`, `name="id" value="3"`, `name="sure" value="yes"`, "No, go back")
		if strings.Contains(asked, "data-events") || !strings.Contains(v.page("/jobs"), `data-events="/queue/api/admin/events"`) {
			t.Error("a question follows changes, or a list does not")
		}
		if got := statusOf(t, client, 2); got != jobs.StatusCancelled {
			t.Errorf("a job that is asked about is %s", got)
		}
		has(t, "after the removal", v.send("/jobs/change", url.Values{"do": {"delete picked"}, "id": {"2", "3"}, "sure": {"yes"}, "back": {"/queue/jobs"}}), "2 jobs deleted.")
		if _, err := client.Get(t.Context(), 2); err == nil {
			t.Error("the removed job is there")
		}
		// The page of a deleted job does not exist any more.
		status, text := v.ask(http.MethodPost, "/jobs/change", url.Values{"do": {"delete picked"}, "id": {"1"}, "sure": {"yes"}, "back": {"/queue/jobs/1"}})
		if status != http.StatusOK {
			t.Errorf("after its removal the job's page is %d: %s", status, text)
		}
		has(t, "after the removal from its page", text, "Job 1: deleted.", "<h1>Jobs</h1>")
	})
}

func TestFormsOfAllThatMatch(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		for i := range 30 {
			_, err := client.Enqueue(t.Context(), []string{"a", "b"}[i%2], []byte("{}"), jobs.Tags(fmt.Sprint("t", i%3)))
			must(t, err)
		}
		all := url.Values{"do": {"cancel all"}, "status": {"pending"}, "kind": {"a"}, "tag": {"t1"}, "back": {"/jobs?status=pending"}}
		has(t, "the question", v.send("/jobs/change", all), "Cancel all pending jobs, of the kind a, with the tag t1?", `<ul class="which"`, `name="kind" value="a"`, `name="tag" value="t1"`)
		all.Set("sure", "yes")
		has(t, "after it", v.send("/jobs/change", all), "5 jobs cancelled.", "<h1>Jobs</h1>")
		list, err := inspect.New(client).List(t.Context(), inspect.Filter{Status: jobs.StatusCancelled})
		must(t, err)
		for _, j := range list {
			if j.Kind != "a" || j.Tags[0] != "t1" {
				t.Errorf("job %d of the kind %s with %v is cancelled", j.ID, j.Kind, j.Tags)
			}
		}
		if len(list) != 5 {
			t.Errorf("%d jobs are cancelled", len(list))
		}
		// Without a status, nothing is changed.
		has(t, "without a status", v.send("/jobs/change", url.Values{"do": {"delete all"}, "sure": {"yes"}, "back": {"/jobs"}}), `class="flash bad"`, "status")
		if list, err := inspect.New(client).List(t.Context(), inspect.Filter{}); err != nil || len(list) != 30 {
			t.Errorf("%d jobs are left: %v", len(list), err)
		}
	})
}

func TestFormOfAGroup(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		for _, kind := range []string{"bad", "worse", "bad"} {
			_, err := client.Enqueue(t.Context(), kind, []byte("{}"), jobs.MaxAttempts(1))
			must(t, err)
		}
		run(t, client)
		has(t, "the report", v.page("/failed"), `<span class="muted small">error</span>`)
		for _, bad := range []url.Values{{"kind": {"bad"}}, {"error": {`"it is bad"`}}, {"kind": {"bad"}, "error": {"it is bad"}}} {
			has(t, "half a group", v.send("/failed/retry", bad), `class="flash bad"`)
		}
		asked := v.send("/failed/retry", url.Values{"kind": {"bad"}, "error": {`"it is bad"`}, "back": {"/failed"}})
		has(t, "the question", asked, "Retry 2 failed jobs, of the kind bad?", `<ul class="which"`, `<bdi>bad</bdi> #`, `<bdi>bad</bdi> #`, "it is bad", `name="sure" value="yes"`, "Retry them all", "No, go back")
		if list, err := inspect.New(client).List(t.Context(), inspect.Filter{Status: jobs.StatusFailed, Kind: "bad"}); err != nil || len(list) != 2 {
			t.Errorf("one click left %d failed jobs: %v", len(list), err)
		}
		has(t, "another error", v.send("/failed/retry", url.Values{"sure": {"yes"}, "kind": {"bad"}, "error": {`"it is worse"`}, "back": {"/failed"}}), "0 jobs retried.")
		has(t, "the group", v.send("/failed/retry", url.Values{"sure": {"yes"}, "kind": {"bad"}, "error": {`"it is bad"`}, "back": {"/failed"}}), "2 jobs retried.", "worse")
		for id, want := range map[int64]jobs.Status{1: jobs.StatusPending, 2: jobs.StatusFailed, 3: jobs.StatusPending} {
			if got := statusOf(t, client, id); got != want {
				t.Errorf("job %d is %s, want %s", id, got, want)
			}
		}
	})
}

func TestFormsOfQueues(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		for _, name := range []string{"mail", "a/b", `<"'&>`, "/"} {
			has(t, "after a pause", v.send("/queues/pause", url.Values{"name": {name}, "back": {"/queues"}}), `class="flash good"`, "paused", ">Paused<", ">Resume<")
			list, err := inspect.New(client).Queues(t.Context())
			must(t, err)
			if len(list) != 1 || list[0].Name != name || list[0].PausedAt.IsZero() {
				t.Errorf("the queues are %+v", list)
			}
			has(t, "after it is resumed", v.send("/queues/resume", url.Values{"name": {name}, "back": {"/queues"}}), "no longer paused")
		}
		has(t, "without a name", v.send("/queues/pause", url.Values{"back": {"/queues"}}), `class="flash bad"`)
		has(t, "after a pause with an end", v.send("/queues/pause", url.Values{"name": {"mail"}, "for_s": {"600"}, "kind": {" "}, "back": {"/queues"}}), ">Paused<", ", until ", "by <bdi>local</bdi>")
		has(t, "after a pause of a kind", v.send("/queues/pause", url.Values{"name": {"mail"}, "kind": {`<"'&>`}, "for_s": {"3600"}, "back": {"/queues"}}),
			"of queue mail is paused", "1 kind paused", `id="paused-kinds"`, ">By</th>", "<td data-label=\"By\"><bdi>local</bdi></td>")
		has(t, "the overview", v.page("/"), `id="paused-kinds"`, "of queue <bdi>mail</bdi>, until ")
		has(t, "after the kind is resumed", v.send("/queues/resume", url.Values{"name": {"mail"}, "kind": {`<"'&>`}, "back": {"/queues"}}), "no longer paused", ">Paused<")
		list, err := inspect.New(client).Queues(t.Context())
		must(t, err)
		if len(list) != 1 || list[0].PausedAt.IsZero() || list[0].PausedKinds != nil {
			t.Errorf("the queues are %+v", list)
		}
		has(t, "with a wrong time", v.send("/queues/pause", url.Values{"name": {"mail"}, "for_s": {"x"}, "back": {"/queues"}}), `class="flash bad"`)
	})
}

// TestTheWayBack checks that a form leads to a page of the handler, for any value of its field "back".
func TestTheWayBack(t *testing.T) {
	v := visit(t, jobs.New(testdb.SQLite(t)), admin.Config{Prefix: "/queue"})
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for back, want := range map[string]string{
		"/queue/": "/queue/", "/queue/jobs?status=failed&kind=a%26b": "/queue/jobs?status=failed&kind=a%26b", "/queue/jobs/7": "/queue/jobs/7",
		"": "/queue/", "/": "/queue/", "/other": "/queue/", "/queuex": "/queue/", "//evil.example.com/queue/": "/queue/", "https://evil.example.com/queue/": "/queue/",
		`/\evil.example.com`: "/queue/", `/queue/\evil.example.com`: "/queue/", "/queue/../x": "/queue/", "/queue//x": "/queue/", "javascript:f()": "/queue/",
		"https:/queue/": "/queue/", "//evil.example.com": "/queue/", "/queue/%2e%2e/x": "/queue/", "\x00": "/queue/",
		"/queue/schedules/a%2Fb": "/queue/schedules/a%2Fb", "/queue/schedules/%2F%00": "/queue/schedules/%2F%00", "/queue/schedules/..%00": "/queue/schedules/..%00",
		"/queue/schedules/..": "/queue/", "/queue/schedules/%2E": "/queue/", "/queue%2Fx": "/queue/", "/%2Fevil.example.com": "/queue/", "/queue/jobs/": "/queue/",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.url+"/theme", strings.NewReader(url.Values{"back": {back}, "theme": {"dark"}}.Encode()))
		must(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := v.client.Do(r)
		must(t, err)
		must(t, answer.Body.Close())
		if got := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("%q leads to %q with %d, want %q", back, got, answer.StatusCode, want)
		}
	}
}

func TestTheme(t *testing.T) {
	v := visit(t, jobs.New(testdb.SQLite(t)), admin.Config{Prefix: "/queue"})
	for _, theme := range []string{"dark", "light"} {
		has(t, theme, v.send("/theme", url.Values{"theme": {theme}, "back": {"/queue/jobs"}}), `<html lang="en" data-theme="`+theme+`">`, "<h1>Jobs</h1>")
	}
	for _, theme := range []string{"system", `"><script>`} {
		has(t, theme, v.send("/theme", url.Values{"theme": {theme}, "back": {"/queue/jobs"}}), `<html lang="en">`)
	}
}

// TestThemeOfAnAnswer checks that choosing a theme on the answer to a form leads back to the page of that form.
func TestThemeOfAnAnswer(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	v := visit(t, client, admin.Config{Prefix: "/queue"})
	back := func(text string) string {
		t.Helper()
		_, text, ok := strings.Cut(text, `action="/queue/theme">`)
		_, text, found := strings.Cut(text, `name="back" value="`)
		if text, _, _ = strings.Cut(text, `"`); !ok || !found {
			t.Fatal("the page has no choice of themes")
		}
		return html.UnescapeString(text)
	}
	for what, test := range map[string]struct {
		path, back, want string
		status           int
	}{
		"a question":             {"/jobs/change", "/queue/jobs?status=failed&kind=k", "/queue/jobs?status=failed&kind=k", http.StatusOK},
		"one from elsewhere":     {"/jobs/change", "https://evil.example.com/", "/queue/", http.StatusOK},
		"a form that is no form": {"/jobs/change?x=1", "/queue/jobs", "/queue/", http.StatusBadRequest},
		"a form of nothing":      {"/nothing", "/queue/jobs", "/queue/", http.StatusNotFound},
	} {
		status, text := v.ask(http.MethodPost, test.path, url.Values{"do": {"delete all"}, "status": {"failed"}, "back": {test.back}})
		if status != test.status {
			t.Errorf("%s is answered with %d: %s", what, status, text)
		}
		to := back(text)
		if to != test.want {
			t.Errorf("the themes of %s lead back to %s, want %s", what, to, test.want)
		}
		has(t, what, v.send("/theme", url.Values{"theme": {"dark"}, "back": {to}}), `data-theme="dark"`)
	}
}

// TestFaultyForms checks that faulty forms are refused and change nothing.
func TestFaultyForms(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	v := visit(t, client, admin.Config{})
	_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
	must(t, err)
	for _, fields := range []url.Values{
		{}, {"do": {"explode all"}}, {"do": {"delete"}}, {"do": {"delete everything"}, "sure": {"yes"}}, {"do": {"delete picked"}, "id": {"x"}, "sure": {"yes"}},
		{"do": {"delete all"}, "status": {"running"}, "sure": {"yes"}}, {"do": {"delete picked"}, "id": make([]string, 201), "sure": {"yes"}},
		{"do": {"delete all"}, "status": {"pending"}, "kind": {"a\x00"}, "sure": {"yes"}},
	} {
		has(t, fmt.Sprint(fields), v.send("/jobs/change", fields), `class="flash bad"`)
	}
	if status, _ := v.ask(http.MethodPost, "/jobs/change?do=x", nil); status != http.StatusBadRequest {
		t.Errorf("a form with a query is answered with %d", status)
	}
	if status, _ := v.ask(http.MethodPost, "/jobs/change", url.Values{"do": {strings.Repeat("x", 70<<10)}}); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long form is answered with %d", status)
	}
	if got := statusOf(t, client, 1); got != jobs.StatusPending {
		t.Errorf("the job is %s", got)
	}
}
