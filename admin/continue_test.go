package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// startSlow starts a server whose time for a request is over whenever it reads the clock.
func startSlow(t *testing.T, client *jobs.Client) *httptest.Server {
	t.Helper()
	h := newHandler(t, client, admin.Config{})
	now := time.Now()
	h.SetClock(func() time.Time {
		now = now.Add(time.Minute)
		return now
	})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// visitSlow returns a visitor of a server of startSlow.
func visitSlow(t *testing.T, client *jobs.Client) *visitor {
	t.Helper()
	server := startSlow(t, client)
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &visitor{t, &http.Client{Jar: jar}, server.URL, ""}
}

// hiddenField matches a hidden field as the templates write it.
var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// question returns the path and the fields of the form of a page that asks a question.
func question(t *testing.T, page string) (path string, fields url.Values) {
	t.Helper()
	_, text, _ := strings.Cut(page, `<section class="card problem">`)
	_, text, ok := strings.Cut(text, `<form method="post" action="`)
	path, text, _ = strings.Cut(text, `"`)
	text, _, closed := strings.Cut(text, "</form>")
	if !ok || !closed {
		t.Fatalf("the page asks nothing:\n%s", page)
	}
	fields = url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(text, -1) {
		fields.Add(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	return path, fields
}

// TestFormsGoOn checks that a change that stops early asks whether to continue, and continues after the last job: also if all jobs so
// far were skipped, such as jobs of the kind with another error.
func TestFormsGoOn(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		must(t, err)
		jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(_ context.Context, j jobs.Job, _ json.RawMessage) error {
			if j.ID == 1 {
				return errors.New("the first\r\n& only")
			}
			return errors.New("another")
		})
		for range 4 {
			_, err := client.Enqueue(t.Context(), "k", []byte("{}"), jobs.MaxAttempts(1))
			must(t, err)
		}
		must(t, runner.Drain(t.Context()))
		v := visitSlow(t, client)
		text, err := json.Marshal("the first\r\n& only")
		must(t, err)
		path, fields := "/failed/retry", url.Values{"sure": {"yes"}, "kind": {"k"}, "error": {string(text)}, "back": {"/failed"}}
		for _, after := range []string{"4", "3", "2"} {
			page := v.send(path, fields)
			has(t, "a part of a retry", page, "<title>Continue?", "0 jobs retried. Continue?", `href="/failed">No, go back`)
			if path, fields = question(t, page); path != "/failed/retry" || fields.Get("after") != after {
				t.Errorf("the form is sent to %s with %v, want after %s", path, fields, after)
			}
		}
		has(t, "the last part", v.send(path, fields), `class="flash good"`, "1 job retried.", "<h1>Failed</h1>")

		// The same for all jobs that match a list's filter.
		path, fields = "/jobs/change", url.Values{"do": {"delete all"}, "status": {"failed"}, "kind": {"k"}, "back": {"/jobs?status=failed"}}
		path, fields = question(t, v.send(path, fields)) // are you sure?
		for _, after := range []string{"4", "3"} {
			page := v.send(path, fields)
			has(t, "a part of a removal", page, "1 job deleted. Continue?")
			if path, fields = question(t, page); path != "/jobs/change" || fields.Get("after") != after || fields.Get("kind") != "k" || fields.Get("sure") != "yes" {
				t.Errorf("the form is sent to %s with %v, want after %s", path, fields, after)
			}
		}
		has(t, "the last part", v.send(path, fields), "1 job deleted.", "<h1>Jobs</h1>")
		if list, err := inspect.New(client).List(t.Context(), inspect.Filter{}); err != nil || len(list) != 1 || list[0].ID != 1 || list[0].Status != jobs.StatusPending {
			t.Errorf("what is left is %+v, %v", list, err)
		}
		for _, after := range []string{"x", "0", "-1", "99999999999999999999", "1.5"} {
			fields.Set("after", after)
			has(t, fmt.Sprintf("after %q", after), v.send(path, fields), `class="flash bad"`, "after")
		}
	})
}
