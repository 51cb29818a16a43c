package admin_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// The timeline has times of the clock and the gaps between them. When the last attempt fell due is no entry.
func TestTimelineTimes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		jobs.Kind[struct{}]{Name: "flaky", RetryDelay: jobs.FixedRetry(20 * time.Millisecond)}.Handle(runner, func(context.Context, jobs.Job, struct{}) error {
			return errors.New("out of luck")
		})
		jobs.Kind[struct{}]{Name: "later"}.Handle(runner, func(context.Context, jobs.Job, struct{}) error { return nil })
		_, err = client.Enqueue(t.Context(), "flaky", []byte("{}"), jobs.MaxAttempts(3))
		must(t, err)
		_, err = client.Enqueue(t.Context(), "later", []byte("{}"), jobs.In(20*time.Millisecond))
		must(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runner.Run(ctx) }()
		for _, id := range []int64{1, 2} {
			_, err = client.Wait(t.Context(), id)
			must(t, err)
		}
		stop()
		must(t, <-ended)
		v := visit(t, client, admin.Config{})
		page := v.page("/jobs/1")
		clock := regexp.MustCompile(`<time datetime="[^"]+" title="[^"]* ago|just now" data-clock>\d\d:\d\d:\d\d</time>`)
		timeline, _, _ := strings.Cut(page, `id="payload"`)
		if n := len(clock.FindAllString(timeline, -1)); n != 5 { // enqueued, three attempts, failed for good
			t.Errorf("the timeline has %d times of the clock:\n%s", n, timeline)
		}
		if gaps := regexp.MustCompile(`class="gap" title="after the entry before">\+[\d.]+ m?s<`).FindAllString(timeline, -1); len(gaps) < 3 {
			t.Errorf("the timeline has the gaps %q:\n%s", gaps, timeline)
		}
		if strings.Contains(timeline, "due<") || strings.Contains(timeline, "data-relative") || strings.Count(timeline, ", <time") != 1 {
			t.Errorf("the timeline has a time that it need not have:\n%s", timeline)
		}
		has(t, "the attempts", timeline, "times in UTC", "Attempt 1<", "ran ", "Attempt 3<", "Failed for good")
		// The time at which the first attempt fell due is part of the job's life.
		has(t, "the job of a later time", v.page("/jobs/2"), "Enqueued", "Fell due", "Attempt 1", "Done")
	})
}

// A button names its action, and only an irreversible action is red.
func TestWordsOfButtons(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	for _, opts := range [][]jobs.EnqueueOption{{jobs.In(time.Hour)}, nil, nil, nil} {
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"), opts...)
		must(t, err)
	}
	_, err := client.Cancel(t.Context(), 3)
	must(t, err)
	failWith(t, client, "bad", "it is bad") // job 5
	v := visit(t, client, admin.Config{})
	button := regexp.MustCompile(`<button id="(do|picked|all)-[a-z]+" class="([^"]*)" name="do" value="[^"]*">([^<]*)<`)
	buttons := func(path, where string) (list []string) {
		t.Helper()
		for _, found := range button.FindAllStringSubmatch(v.page(path), -1) {
			if found[1] == where {
				list = append(list, found[3]+" ("+found[2]+")")
			}
		}
		return list
	}
	for _, test := range []struct{ path, where, want string }{
		{"/jobs/1", "do", "Run now (), Cancel (quiet), Delete (danger quiet)"},
		{"/jobs/2", "do", "Cancel (quiet), Delete (danger quiet)"},
		{"/jobs/3", "do", "Retry (), Delete (danger quiet)"},
		{"/jobs/5", "do", "Retry (), Delete (danger quiet)"},
		{"/jobs?status=scheduled", "all", "Run all now… (small quiet), Cancel all… (small quiet), Delete all… (small quiet danger)"},
		{"/jobs", "picked", "Run now (small), Cancel (small), Delete (small danger)"},
	} {
		if got := strings.Join(buttons(test.path, test.where), ", "); got != test.want {
			t.Errorf("%s has the buttons %s, want %s", test.path, got, test.want)
		}
	}
	asked := v.send("/jobs/change", url.Values{"do": {"run all"}, "status": {"scheduled"}, "kind": {"k"}, "back": {"/jobs"}})
	has(t, "the question of Run now", asked, "Run 1 scheduled job now, of the kind k?", "<button>Run them all now</button>")
	has(t, "after Run now", v.send("/jobs/change", url.Values{"do": {"run picked"}, "id": {"1"}, "back": {"/jobs/1"}}), "Job 1: due now.", ">Pending<")
	has(t, "the question of Delete", v.send("/jobs/change", url.Values{"do": {"delete picked"}, "id": {"2"}, "back": {"/jobs"}}), `<button class="danger">Delete</button>`)
	has(t, "a group", v.send("/failed/retry", url.Values{"kind": {"bad"}, "error": {`"it is bad"`}}), "<button>Retry them all</button>")
	has(t, "Run now of a job that is not scheduled", v.send("/jobs/change", url.Values{"do": {"run all"}, "status": {"failed"}, "back": {"/jobs"}}), `class="flash bad"`)
}

// A running job can be stopped, and the page says so.
func TestStopARunningJob(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		started := make(chan struct{})
		jobs.Kind[struct{}]{Name: "slow"}.Handle(runner, func(ctx context.Context, _ jobs.Job, _ struct{}) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		})
		_, err = client.Enqueue(t.Context(), "slow", []byte("{}"))
		must(t, err)
		ended := make(chan error, 1)
		go func() { ended <- runner.Drain(context.WithoutCancel(t.Context())) }()
		<-started
		v := visit(t, client, admin.Config{})
		page := v.page("/jobs/1")
		has(t, "the running job", page, `value="stop picked">Stop<`, `data-reason="running"><strong>Running.</strong> Worker `, " UTC.")
		lacks(t, "the running job", page, ">Cancel<")
		has(t, "after Stop", v.send("/jobs/change", url.Values{"do": {"stop picked"}, "id": {"1"}, "back": {"/jobs/1"}}), "Job 1 runs: its worker was asked to stop it.")
		must(t, <-ended)
		if got := statusOf(t, client, 1); got != jobs.StatusCancelled {
			t.Errorf("the job is %s", got)
		}
	})
}

// The banner of a job has the reason of the wait in words.
func TestBannerInWords(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	_, err := client.Enqueue(t.Context(), "later", []byte("{}"), jobs.In(3*time.Hour+time.Minute))
	must(t, err)
	page := visit(t, client, admin.Config{}).page("/jobs/1")
	banner := regexp.MustCompile(`<li data-reason="not-due"><strong>Not due yet\.</strong> It is due at \d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d:\d\d UTC, in 3 h( 1 min)?\.</li>`)
	if !banner.MatchString(page) {
		t.Errorf("the page does not say when the job is due:\n%s", page)
	}
	has(t, "the banner", page, "<strong>No worker takes it.</strong> No live worker takes jobs of the kind")
}

// Each reason that a job can have has a title.
func TestTitlesOfReasons(t *testing.T) {
	titles := admin.ReasonTitles()
	for _, reason := range reasonsIn(t, "why.go") {
		if titles[reason] == "" {
			t.Errorf("the reason %s has no title", reason)
		}
	}
}

// What the service puts around the pages is escaped, and leaves no trace where it is not set.
func TestSurroundings(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	plain := visit(t, client, admin.Config{})
	for _, path := range []string{"/", "/jobs"} {
		page := plain.page(path)
		has(t, "without a name "+path, page, " · sqluice</title>", "<span>sqluice</span></a>")
		for _, text := range []string{"Back</a>", "Log out", `class="ways"`} {
			lacks(t, path, page, text)
		}
	}
	v := visit(t, client, admin.Config{Service: `<b>Shop</b> & "Söhne"`, BackURL: `/admin?a="b"&c=<d>`, LogOutURL: "https://sso.example.com/out"})
	for _, path := range []string{"/", "/jobs", "/failed"} {
		page := v.page(path)
		has(t, path, page, "&lt;b&gt;Shop&lt;/b&gt; &amp; &#34;Söhne&#34;</title>", "<bdi>&lt;b&gt;Shop&lt;/b&gt; &amp; &#34;Söhne&#34;</bdi>",
			`<a id="way-back" href="/admin?a=%22b%22&amp;c=%3cd%3e">Back</a>`, `<a id="log-out" href="https://sso.example.com/out">Log out</a>`)
	}
	if _, text := v.ask(http.MethodGet, "/nowhere", nil); !strings.Contains(text, `id="log-out"`) {
		t.Errorf("the page of a problem has no way out:\n%s", text)
	}
}

// A name that cannot be read, and a link that is not one to a page, are refused by the field.
func TestFaultySurroundings(t *testing.T) {
	for _, link := range []string{
		"javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "vbscript:x", "//evil.example.com", `/\evil.example.com`, `\\evil.example.com`, "admin", "?x",
		"https:admin", "http:///admin", "https://", "https://user:secret@example.com/", "ftp://example.com/", "/a b", "/a\tb", " /a", "/a\x00", "/%zz", "/\xff", "/" + strings.Repeat("a", 2000),
	} {
		for field, c := range map[string]admin.Config{"BackURL": {BackURL: link}, "LogOutURL": {LogOutURL: link}} {
			invalid := (*jobs.InvalidError)(nil)
			if err := c.Validate(); !errors.As(err, &invalid) || invalid.Field != field || invalid.Value == "" || !strings.Contains(invalid.Must, "2000 bytes") {
				t.Errorf("%s %.40q: %v", field, link, err)
			}
		}
	}
	for _, name := range []string{" ", "a\nb", "\x00", "\xff", strings.Repeat("é", 101)} {
		invalid := (*jobs.InvalidError)(nil)
		if err := (admin.Config{Service: name}).Validate(); !errors.As(err, &invalid) || invalid.Field != "Service" || invalid.Value == "" || !strings.Contains(invalid.Must, "100 characters") {
			t.Errorf("the name %.40q: %v", name, err)
		}
	}
	for _, c := range []admin.Config{
		{}, {Service: strings.Repeat("é", 100), BackURL: "/", LogOutURL: "/oauth2/sign_out?rd=%2F"}, {BackURL: "http://localhost:3000", LogOutURL: "HTTPS://example.com/out#x"},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v is refused: %v", c, err)
		}
	}
}
