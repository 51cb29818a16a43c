package admin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// TestHistory checks that the charts, their table and the API agree about the jobs that ended.
func TestHistory(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		for range 3 {
			_, err := client.Enqueue(t.Context(), "good", []byte("{}"))
			must(t, err)
		}
		for range 2 {
			_, err := client.Enqueue(t.Context(), "bad", []byte("{}"), jobs.MaxAttempts(1), jobs.Queue("other"))
			must(t, err)
		}
		run(t, client)
		runQueue(t, client, "other")
		a := serve(t, client, admin.Config{})
		for query, want := range map[string][2]int64{
			"": {3, 2}, "?queue=other": {0, 2}, "?kind=good": {3, 0}, "?kind=none": {0, 0}, "?step_s=900&since=" + time.Now().UTC().Add(-24*time.Hour).Format(time.RFC3339): {3, 2},
		} {
			history := get[inspect.History](a, http.MethodGet, "/history"+query, "")
			if history.Total.Done != want[0] || history.Total.Failed != want[1] || len(history.Intervals) < 60 {
				t.Errorf("the history of %q has %d intervals, in all %+v, want %v", query, len(history.Intervals), history.Total, want)
			}
		}
		for _, bad := range []string{"?step_s=90", "?step_s=0", "?step_s=x", "?since=yesterday", "?until=2000-01-01T00:00:00Z&since=2001-01-01T00:00:00Z", "?step=60", "?queue=%00"} {
			a.refused(http.StatusBadRequest, http.MethodGet, "/history"+bad, "")
		}
		v := visit(t, client, admin.Config{})
		for _, path := range []string{"/", "/?range=hour", "/?range=day"} {
			has(t, path, v.page(path), "Done <strong>3<", "Failed <strong>2<", `<path class="line done" d="M`, "Last hour: 3 done, 2 failed. Last day: 3 done, 2 failed.", `<td class="n">3</td>`)
		}
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"), jobs.Queue("other"))
		must(t, err)
		has(t, "the queues", v.page("/queues"), "other", `aria-label="Jobs that ended in the last hour: 0 done, 2 failed"`)
		if status, _ := v.ask(http.MethodGet, "/?range=year", nil); status != http.StatusBadRequest {
			t.Errorf("a year is answered with %d", status)
		}
	})
}

// TestHistoryOfNothing checks that an empty queue has charts.
func TestHistoryOfNothing(t *testing.T) {
	v := visit(t, jobs.New(testdb.SQLite(t)), admin.Config{})
	page := v.page("/")
	has(t, "the overview", page, "Done <strong>0<", "no job", "no job")
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Errorf("the charts are %s", page)
	}
}
