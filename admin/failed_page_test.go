package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// failWith runs jobs of a kind, each of which fails with its payload as the error. A payload that begins with "panic" panics.
func failWith(t *testing.T, client *jobs.Client, kind string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		payload, err := json.Marshal(text)
		must(t, err)
		_, err = client.Enqueue(t.Context(), kind, payload, jobs.MaxAttempts(1))
		must(t, err)
	}
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	jobs.Kind[string]{Name: kind}.Handle(runner, func(_ context.Context, _ jobs.Job, text string) error {
		if after, ok := strings.CutPrefix(text, "panic: "); ok {
			panic(after)
		}
		return errors.New(text)
	})
	must(t, runner.Drain(t.Context()))
}

// Errors that differ by numbers and quoted words are one group of each kind and cause, which unfolds to errors and jobs.
func TestGroupsOfFailed(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		var rows []string
		for n := range 118 {
			rows = append(rows, fmt.Sprintf("row %d of %q is bad", n+1, fmt.Sprint("file-", n%7)))
		}
		rows = append(rows, rows[117], rows[117])
		failWith(t, client, "import", rows...)
		failWith(t, client, "import", "panic: row 7")
		failWith(t, client, "import", "panic: row 8", "<b>only one</b>")
		failWith(t, client, "mail", "row 1 of \"x\" is bad")
		v := visit(t, client, admin.Config{Prefix: "/queue"})

		page := v.page("/failed")
		if n := strings.Count(page, `class="card group"`); n != 4 {
			t.Errorf("the report has %d groups:\n%s", n, page)
		}
		pattern := "row # of &#34;…&#34; is bad"
		has(t, "the report", page, "124 jobs by kind, cause and error", "import</a>", ">120 jobs<", ">error<", pattern, "<summary>118 errors</summary>",
			`title="3 jobs">3×<`, "row 118 of", `/queue/jobs/120">job 120</a>`, "all 3</a>", "All 118 errors</a>", "Retry all 120…",
			">2 jobs<", ">panic<", "panic: row #", "<summary>2 errors</summary>", "panic: row 8", "panic: row 7")
		has(t, "the group of one error", page, "&lt;b&gt;only one&lt;/b&gt;", "Retry it…")
		if strings.Contains(page, "row 1 of &#34;file-0&#34;") {
			t.Errorf("the report has every error:\n%s", page)
		}

		link := regexp.MustCompile(`href="/queue(/failed\?group=[^"]*)"`).FindStringSubmatch(page)
		if link == nil {
			t.Fatalf("the report does not lead to a group:\n%s", page)
		}
		all := v.page(strings.ReplaceAll(link[1], "&amp;", "&"))
		has(t, "the group", all, "<details", " open><summary>118 errors</summary>", "row 118 of", "row 1 of &#34;file-0&#34;")
		if n := strings.Count(all, `class="card group"`); n != 1 || strings.Contains(all, "All 118 errors") {
			t.Errorf("the page of a group has %d groups:\n%s", n, all)
		}
		has(t, "a group that is gone", v.page("/failed?group=0"), "No failed job is in this group any more.")

		mail := v.page("/failed?kind=mail")
		has(t, "the report of a kind", mail, "1 job of the kind <bdi>mail</bdi>", `value="mail"`, `<option value="import">`, ">Clear<", "mail</a>", "row 1 of")
		if strings.Contains(mail, "kind=import") {
			t.Errorf("the report of a kind has another:\n%s", mail)
		}
		has(t, "the report of a kind without failures", v.page("/failed?kind=none"), "No job of this kind has failed.")
	})
}

// The link to the jobs of an error is there if their list can find it: otherwise it would lead to all failed jobs of the kind.
func TestLinkToTheJobsOfAnError(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	long := strings.Repeat("words ", 40)
	failWith(t, client, "k", "short-1", "short-1", "short-2")
	failWith(t, client, "long", long+"1", long+"1", long+"2")
	failWith(t, client, "lines", "a\nb 1", "a\nb 1", "a\nb 2")
	v := visit(t, client, admin.Config{})
	has(t, "a short error", v.page("/failed?kind=k"), "q=short-1", "all 2</a>")
	for _, kind := range []string{"long", "lines"} {
		if page := v.page("/failed?kind=" + kind); strings.Contains(page, "all 2</a>") {
			t.Errorf("an error of the kind %s leads to jobs of others:\n%s", kind, page)
		}
	}
}

// A group is retried as a whole: the jobs of its kind, cause and pattern, and no others. So is one error of it.
func TestRetryOfAGroup(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		failWith(t, client, "import", "row 1 is bad", "row 22 is bad", "row 22 is bad", "panic: it is odd") // jobs 1 to 4
		failWith(t, client, "mail", "row 1 is bad")                                                         // job 5
		_, err := client.Enqueue(t.Context(), "import", []byte(`"x"`), jobs.MaxAttempts(1))
		must(t, err)
		v := visit(t, client, admin.Config{})
		failed := func() (ids []int64) {
			t.Helper()
			list, err := inspect.New(client).List(t.Context(), inspect.Filter{Status: jobs.StatusFailed})
			must(t, err)
			for _, j := range list {
				ids = append(ids, j.ID)
			}
			return ids
		}
		group := url.Values{"kind": {"import"}, "cause": {"panic"}, "pattern": {`"row # is bad"`}, "back": {"/failed"}}
		group.Set("sure", "yes")
		has(t, "another cause", v.send("/failed/retry", group), "0 jobs retried.")
		one := url.Values{"kind": {"import"}, "cause": {"error"}, "error": {`"row 1 is bad"`}, "back": {"/failed"}}
		has(t, "the question of an error", v.send("/failed/retry", one), "Retry 1 failed job, of the kind import?", `href="/jobs/1"`, "Their error: row 1 is bad")
		group.Set("cause", "error")
		group.Del("sure")
		asked := v.send("/failed/retry", group)
		has(t, "the question of a group", asked, "Retry 3 failed jobs, of the kind import?", `href="/jobs/3"`, `href="/jobs/2"`, `href="/jobs/1"`, "with # for numbers and ids: row # is bad",
			`name="cause" value="error"`, "<button>Retry them all</button>")
		if got := fmt.Sprint(failed()); got != "[5 4 3 2 1]" {
			t.Errorf("after questions the failed jobs are %s", got)
		}
		one.Set("sure", "yes")
		has(t, "one error", v.send("/failed/retry", one), "1 job retried.")
		group.Set("sure", "yes")
		has(t, "the group", v.send("/failed/retry", group), "2 jobs retried.")
		if got := fmt.Sprint(failed()); got != "[5 4]" {
			t.Errorf("after the retries the failed jobs are %s", got)
		}
		for what, fields := range map[string]url.Values{
			"no pattern": {"kind": {"import"}}, "no kind": {"pattern": {`"row # is bad"`}}, "a plain text": {"kind": {"import"}, "pattern": {"row # is bad"}},
			"a cause that is none": {"kind": {"import"}, "pattern": {`"x"`}, "cause": {"luck"}, "sure": {"yes"}},
		} {
			has(t, what, v.send("/failed/retry", fields), `class="flash bad"`)
		}
	})
}

// The API has the groups with their most frequent errors, and changes jobs by pattern and cause.
func TestFailedByPattern(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	var rows []string
	for n := range 12 {
		rows = append(rows, fmt.Sprintf("row %d is bad", n))
	}
	failWith(t, client, "import", append(rows, "panic: row 1")...)
	a := serve(t, client, admin.Config{})
	type group struct {
		inspect.FailedGroup
		MoreTexts int `json:"more_texts"`
	}
	report := get[struct {
		Groups []group
		Jobs   int64
		Older  bool
	}](a, http.MethodGet, "/failed", "")
	if g := report.Groups; len(g) != 2 || g[0].Pattern != "row # is bad" || g[0].Cause != jobs.CauseError || len(g[0].Texts) != 10 || g[0].MoreTexts != 2 || g[0].Jobs != 12 || g[1].MoreTexts != 0 {
		t.Errorf("the report is %+v", report)
	}
	type result struct {
		Changed, Skipped, Refused int
		Next                      int64
	}
	for body, want := range map[string]int{
		`{"status": "failed", "pattern": "row # is bad", "cause": "panic"}`: 0,
		`{"status": "failed", "pattern": "row 1 is bad"}`:                   0, // it is no pattern
		`{"status": "failed", "cause": ""}`:                                 0,
		`{"status": "failed", "kind": "other", "pattern": "row # is bad"}`:  0,
	} {
		if got := get[result](a, http.MethodPost, "/bulk/retry", body); got.Changed != want {
			t.Errorf("%s changes %d jobs", body, got.Changed)
		}
	}
	if got := get[result](a, http.MethodPost, "/bulk/delete", `{"status": "failed", "cause": "panic"}`); got.Changed != 1 {
		t.Errorf("a cause alone selects %d jobs", got.Changed)
	}
	if got := get[result](a, http.MethodPost, "/bulk/retry", `{"status": "failed", "pattern": "row # is bad", "cause": "error"}`); got.Changed != 12 {
		t.Errorf("the group has %d jobs", got.Changed)
	}
	for _, bad := range []string{`{"status": "failed", "cause": "luck"}`, `{"status": "failed", "cause": "snoozed"}`} {
		a.refused(http.StatusBadRequest, http.MethodPost, "/bulk/retry", bad)
	}
}

// Each page has the number of failed jobs in its navigation, and gives it to the script.
func TestFailedCountInNavigation(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	v := visit(t, client, admin.Config{})
	has(t, "without failures", v.page("/jobs"), `id="nav-failed" hidden>0</span>`)
	failWith(t, client, "k", "bad", "bad", "bad")
	for _, path := range []string{"/", "/jobs", "/jobs/1", "/failed", "/queues", "/limits", "/schedules", "/workers", "/audit"} {
		has(t, path, v.page(path), `<span class="count" id="nav-failed">3</span>`)
		has(t, "the fragment of "+path, v.fragment(path), `data-failed="3"`)
	}
	if _, text := v.ask(http.MethodGet, "/nowhere", nil); strings.Contains(text, "nav-failed") {
		t.Errorf("the page of a problem reads the database:\n%s", text)
	}
}
