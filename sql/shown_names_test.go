package sql_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/metrics"
)

// hidden matches the inputs of forms that no browser shows.
var hidden = regexp.MustCompile(`<input type="hidden"[^>]*>`)

// Plain SQL may give a job names with control characters. They are escaped where names are shown: no terminal obeys them.
func TestControlCharactersInNamesAreEscaped(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		w := worlds(t, e)(t)
		for _, status := range []string{"pending", "failed"} {
			w.must("add a job", w.exec(numbered("INSERT INTO sqluice_jobs (kind, queue, status, finished_at) VALUES (?, ?, ?, ?)", e),
				"kind\x1b[31m\nk", "queue\x1b[31m\nq", status, early))
		}
		handler, err := admin.New(w.client, admin.Config{Logger: w.failing()})
		w.must("make the pages", err)
		pages := httptest.NewServer(handler)
		defer pages.Close()
		scrape, err := metrics.Handler(w.failing(), metrics.NewQueue(w.client, w.failing()))
		w.must("make the metrics", err)
		exporter := httptest.NewServer(scrape)
		defer exporter.Close()
		for _, url := range []string{pages.URL + "/", pages.URL + "/jobs", pages.URL + "/failed", pages.URL + "/queues", pages.URL + "/jobs/1",
			pages.URL + "/api/admin/jobs", pages.URL + "/api/admin/stats", exporter.URL} {
			r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, url, nil)
			w.must("make a request", err)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("GET %s is answered with %s, %v", url, answer.Status, err)
			}
			shown := hidden.ReplaceAllString(string(text), "") // hidden inputs of a form are not shown
			if i := strings.IndexByte(shown, '\x1b'); i >= 0 {
				t.Errorf("GET %s shows a raw escape character: %q", url, shown[max(0, i-80):min(len(shown), i+40)])
			}
			if strings.Contains(url, "/api/") && !json.Valid(text) {
				t.Errorf("GET %s is no JSON", url)
			}
		}
	})
}
