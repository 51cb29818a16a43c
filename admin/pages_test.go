package admin_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// visitor is a browser without JavaScript, as far as these tests need one.
type visitor struct {
	t      *testing.T
	client *http.Client
	url    string // of the handler, with its prefix
	prefix string
}

func visit(t *testing.T, client *jobs.Client, c admin.Config) *visitor {
	t.Helper()
	server := httptest.NewServer(newHandler(t, client, c))
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &visitor{t, &http.Client{Jar: jar}, server.URL + c.Prefix, c.Prefix}
}

// page returns the text of a page, and checks its header.
func (v *visitor) page(path string) string {
	v.t.Helper()
	status, text := v.ask(http.MethodGet, path, nil)
	if status != http.StatusOK {
		v.t.Errorf("%s is answered with %d: %s", path, status, text)
	}
	return text
}

// send sends a form, and returns the page to which it leads.
func (v *visitor) send(path string, fields url.Values) string {
	v.t.Helper()
	status, text := v.ask(http.MethodPost, path, fields)
	if status != http.StatusOK {
		v.t.Errorf("the form of %s leads to %d: %s", path, status, text)
	}
	return text
}

func (v *visitor) ask(method, path string, fields url.Values) (int, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(fields.Encode()))
	must(v.t, err)
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := v.client.Do(r)
	must(v.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(v.t, err)
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := answer.Header.Get(name); got != want {
			v.t.Errorf("%s has the header %s: %q", path, name, got)
		}
	}
	policy := answer.Header.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'",
		"frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'",
	} {
		if !strings.Contains(policy, part) {
			v.t.Errorf("%s has a policy without %s: %s", path, part, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "data:") {
		v.t.Errorf("%s has the policy %s", path, policy)
	}
	return answer.StatusCode, string(text)
}

// fragment returns the content of a page's main, as the script reads it.
func (v *visitor) fragment(path string) string {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.url+path, nil)
	must(v.t, err)
	r.Header.Set("Sqluice-Fragment", "1")
	answer, err := v.client.Do(r)
	must(v.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(v.t, err)
	return string(text)
}

// has fails unless a page has all these texts, in this order.
func has(t *testing.T, what, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Errorf("%s does not have %q (after those before it):\n%s", what, text, page)
			return
		}
		rest = after
	}
}

func TestPages(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{Prefix: "/queue"})
		for _, path := range []string{"/", "/jobs", "/failed", "/queues", "/limits", "/schedules", "/workers", "/audit"} {
			has(t, "without jobs "+path, v.page(path), "<!doctype html>", `<main id="main"`, `class="empty"`, "</html>")
		}
		has(t, "without a slash", v.page(""), "<h1>Overview</h1>")

		_, err := client.Enqueue(t.Context(), "good", []byte(`{"n": [1, 2]}`), jobs.Tags("red"), jobs.UserID("ann"), jobs.Metadata("m"), jobs.RequestID("r-1"))
		must(t, err)
		for range 2 {
			_, err = client.Enqueue(t.Context(), "bad", []byte(`{}`), jobs.MaxAttempts(1), jobs.Unique("u-1"))
			must(t, err)
			run(t, client)
		}
		_, err = client.Enqueue(t.Context(), "worse", []byte(`{}`), jobs.MaxAttempts(1))
		must(t, err)
		run(t, client)
		_, err = client.Enqueue(t.Context(), "other", []byte(`{}`), jobs.Queue("slow"))
		must(t, err)
		_, err = client.Enqueue(t.Context(), "other", []byte(`{}`), jobs.In(90*time.Minute))
		must(t, err)

		has(t, "the overview", v.page("/"), "No worker for 1 job", `href="/queue/jobs?kind=other&amp;queue=slow&amp;status=pending"`,
			"Scheduled</span><strong>1<", "Pending</span><strong>1<", "Done</span><strong>1<", "Failed</span><strong>3<",
			"Latest failures", "worse</span>", "panic: it is worse", "bad</span>", "it is bad")
		all := v.page("/jobs")
		has(t, "the list", all, `href="/queue/jobs/6"`, ">Scheduled<", "in 1 h", `href="/queue/jobs/5"`, ">Pending<", `href="/queue/jobs/4"`, ">Failed<", "it is worse",
			`href="/queue/jobs/1"`, ">Done<", `{&#34;n&#34;: [1, 2]}`, `class="tag">red<`)
		has(t, "the list of failed jobs", v.page("/jobs?status=failed&kind=bad"), `value="bad"`, `href="/queue/jobs/3"`, `href="/queue/jobs/2"`)
		if strings.Contains(v.page("/jobs?status=failed&kind=bad"), `href="/queue/jobs/4"`) {
			t.Error("the list of one kind has a job of another")
		}
		has(t, "a narrow list", v.page("/jobs?tag=none"), "No job matches", "Show all")
		has(t, "the job that ended well", v.page("/jobs/1"), "good", "#1", ">Done<", "Enqueued", "Attempt 1", "Done", "&#34;n&#34;: [\n", "Progress", "0.5",
			"Result", "&#34;well&#34;", "Metadata", "&#34;m&#34;", "ann", "r-1", "red")
		has(t, "the job that panicked", v.page("/jobs/4"), "Attempt 1", ">panic<", "panic: it is worse", "<details><summary>Stack trace</summary>", "helpers_test.go", "Failed for good")
		has(t, "the job that waits", v.page("/jobs/5"), `data-reason="no-worker"`)
		has(t, "the report", v.page("/failed"), "3 jobs", "bad", "2 jobs", "it is bad", "Retry all 2", "worse", "1 job", "it is worse", "Retry it")
		has(t, "the queues", v.page("/queues"), "default", ">No worker<", "slow", ">No worker<", ">Pause<")
	})
}

// TestPagesOfTheList checks that the link at the end of the list leads to older jobs.
func TestPagesOfTheList(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		for range 7 {
			_, err := client.Enqueue(t.Context(), "k", []byte("{}"))
			must(t, err)
		}
		has(t, "the first page", v.page("/jobs?limit=5&kind=k"), `href="/jobs/7"`, `href="/jobs/3"`, `href="/jobs?after=3&amp;kind=k&amp;limit=5"`)
		second := v.page("/jobs?after=3&kind=k&limit=5")
		has(t, "the second page", second, `href="/jobs/2"`, `href="/jobs/1"`, `href="/jobs?kind=k&amp;limit=5"`)
		if strings.Contains(second, "Older") || strings.Contains(second, `href="/jobs/3"`) {
			t.Errorf("the second page has more: %s", second)
		}
	})
}

// TestFragment checks that the script gets the content of main, and no message, which it would drop.
func TestFragment(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	v := visit(t, client, admin.Config{})
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.url+"/queues/pause", strings.NewReader("name=q&back=%2Fqueues"))
	must(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := v.client.Do(r)
	must(t, err)
	must(t, answer.Body.Close())
	text := v.fragment("/queues")
	if !strings.HasPrefix(text, `<main id="main" data-now="`) || strings.Contains(text, "<nav") || !strings.Contains(text, ">Paused<") {
		t.Errorf("a fragment is %s", text)
	}
	has(t, "the page after it", v.page("/queues"), `role="status">Queue q is paused`)
	if strings.Contains(v.page("/queues"), `role="status"`) {
		t.Error("a message is shown twice")
	}
}

// TestProblemPages checks that a browser gets a page, and other clients get a problem document.
func TestProblemPages(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	v := visit(t, client, admin.Config{})
	for path, want := range map[string]int{
		"/jobs/1": 404, "/jobs/x": 400, "/nowhere": 404, "/static/nothing.js": 404, "/jobs?limit=9999": 400, "/jobs?kind=a&kind=b": 400,
		"/failed?x=1": 400, "/schedules/s": 404, "/schedules?x=1": 400, "/schedules/s?ticks=0": 400, "/schedules/%00": 400, "/jobs//1": 404, "/queues/pause": 405, "/jobs?kind=" + strings.Repeat("k", 9000): 414,
	} {
		status, text := v.ask(http.MethodGet, path, nil)
		if status != want {
			t.Errorf("%.40s is answered with %d, want %d", path, status, want)
		}
		has(t, path, text, "<!doctype html>", "To the overview")
	}
	answer, err := http.Get(v.url + "/jobs/1")
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != 404 || answer.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a program is answered with %d, %s", answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	locked := visit(t, client, admin.Config{Token: token})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, locked.url+"/", nil)
	must(t, err)
	r.Header.Set("Accept", "text/html")
	answer, err = locked.client.Do(r)
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != 401 || !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("without a token the answer is %d with %q", answer.StatusCode, answer.Header.Get("WWW-Authenticate"))
	}
}

// TestEveryPageIsGuarded checks that pages, forms and files refuse the same requests as the API.
func TestEveryPageIsGuarded(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	open := newHandler(t, client, admin.Config{})
	locked := newHandler(t, client, admin.Config{Token: token})
	readOnly := newHandler(t, client, admin.Config{ReadOnly: true})
	asking := newHandler(t, client, admin.Config{Authorize: func(r *http.Request) (string, error) {
		if r.Header.Get("X-User") == "ann" {
			return "ann", nil
		}
		return "", errors.New("who is that?")
	}})
	routes := admin.Pages()
	for _, name := range open.FileNames() {
		routes = append(routes, [2]string{http.MethodGet, "/static/" + name})
	}
	for _, route := range routes {
		change := route[0] == http.MethodPost
		for _, test := range []struct {
			name    string
			handler http.Handler
			at      net.Addr
			change  func(*http.Request)
			want    int // 0: served
		}{
			{"from the machine", open, fromHere, nil, 0},
			{"from elsewhere", open, fromFar, nil, 401},
			{"through a proxy", open, fromHere, header("X-Forwarded-For", "192.0.2.7"), 401},
			{"without the token", locked, fromHere, nil, 401},
			{"with another token", locked, fromFar, header("Authorization", "Bearer another token of length"), 401},
			{"with the token as a password", locked, fromFar, func(r *http.Request) { r.SetBasicAuth("anybody", token) }, 0},
			{"by the service's own rules", asking, fromFar, header("X-User", "ann"), 0},
			{"against the service's own rules", asking, fromHere, nil, 401},
			{"by a name that points here", open, fromHere, func(r *http.Request) { r.Host = "evil.example.com" }, 403},
			{"by a form of another site", open, fromHere, header("Sec-Fetch-Site", "cross-site"), 403},
			{"by a page of another site", open, fromHere, header("Origin", "https://evil.example.com"), 403},
			{"by a page without an origin", open, fromHere, header("Origin", "null"), 403},
			{"where nothing may be changed", readOnly, fromHere, nil, map[bool]int{true: 403}[change && route[1] != "/theme"]},
		} {
			status := askPage(test.handler, test.at, route, test.change)
			refused := status == 401 || status == 403
			if test.want != 0 && status != test.want || test.want == 0 && refused {
				t.Errorf("%v %s is answered with %d, want %d", route, test.name, status, test.want)
			}
		}
	}
}

func askPage(h http.Handler, at net.Addr, route [2]string, change func(*http.Request)) int {
	status, _ := ask(h, at, route, func(r *http.Request) {
		r.URL.Path = strings.TrimPrefix(r.URL.Path, base)
		r.Header.Set("Accept", "text/html")
		if route[0] == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if change != nil {
			change(r)
		}
	})
	return status
}

// TestReadOnlyPages checks that read-only pages have no buttons that change jobs.
func TestReadOnlyPages(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	_, err := client.Enqueue(t.Context(), "bad", []byte("{}"), jobs.MaxAttempts(1))
	must(t, err)
	run(t, client)
	_, err = client.Enqueue(t.Context(), "k", []byte("{}"))
	must(t, err)
	must(t, client.PutSchedule(t.Context(), jobs.NewSchedule("s", "@daily", "k", []byte("{}"))))
	for readOnly, want := range map[bool]int{true: 0, false: 1} {
		v := visit(t, client, admin.Config{ReadOnly: readOnly})
		forms := 0
		for _, path := range []string{"/", "/jobs", "/jobs/1", "/failed", "/queues", "/limits", "/schedules", "/schedules/s", "/workers", "/audit"} {
			forms += strings.Count(strings.ReplaceAll(v.page(path), `method="post" action="/theme"`, ""), `method="post"`)
			if path == "/jobs" && readOnly {
				forms-- // the list is one, with nothing to press
			}
			if text := v.page(path); readOnly && (strings.Contains(text, `name="do"`) || !strings.Contains(text, "Read-only")) {
				t.Errorf("%s has a button: %s", path, text)
			}
		}
		if (forms > 0) != (want > 0) {
			t.Errorf("the pages have %d forms, read-only %t", forms, readOnly)
		}
	}
}

func TestRelativeTimes(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]string{
		0: "just now", 999 * time.Millisecond: "just now", -500 * time.Millisecond: "just now", -time.Second: "1 s ago", -2900 * time.Millisecond: "2 s ago",
		-90 * time.Second: "1 min ago", -3 * time.Hour: "3 h ago", -50 * time.Hour: "2 d ago", time.Hour + time.Minute: "in 1 h",
	} {
		if got := admin.Relative(now.Add(after), now); got != want {
			t.Errorf("%s is %q, want %q", after, got, want)
		}
	}
	if got := admin.Relative(time.Time{}, now); got != "never" {
		t.Errorf("no time is %q", got)
	}
	for d, want := range map[time.Duration]string{
		0: "0 ms", 40 * time.Microsecond: "0 ms", 340 * time.Microsecond: "0.3 ms", 1290 * time.Microsecond: "1.2 ms", 12 * time.Millisecond: "12 ms",
		1500 * time.Millisecond: "1.5 s", 59 * time.Second: "59 s", 5 * time.Minute: "5 min", 26 * time.Hour: "1 d", -time.Second: "0 ms",
	} {
		if got := admin.Span(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -12345: "-12,345", -123: "-123"} {
		if got := admin.Number(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
