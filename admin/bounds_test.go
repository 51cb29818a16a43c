package admin_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// TestPageOfManyFailed checks that the report says that it covers the latest failed jobs, and how many there are.
func TestPageOfManyFailed(t *testing.T) {
	store := testdb.SQLite(t)
	client := jobs.New(store)
	text, err := os.ReadFile("testdata/many_failed_sqlite.sql")
	must(t, err)
	_, err = testdb.PlainSQLite(t, store.Path()).ExecContext(t.Context(), string(text))
	must(t, err)
	_, err = inspect.New(client).Recount(t.Context())
	must(t, err)
	v := visit(t, client, admin.Config{})
	page := v.page("/failed")
	has(t, "the report", page, "the latest 2,000 of 2,005 jobs", "Retry all of them", "The groups leave out older failed jobs")
	if strings.Contains(page, "kind=rare") { // the kinds to filter by have it
		t.Errorf("the report is of older jobs too:\n%s", page)
	}
	a := serve(t, client, admin.Config{})
	if report := get[inspect.FailedReport](a, http.MethodGet, "/failed", ""); !report.Older || report.Jobs != inspect.MostReported || len(report.Groups) != 1 {
		t.Errorf("the report is %+v", report)
	}
	if report := get[inspect.FailedReport](a, http.MethodGet, "/failed?kind=rare", ""); report.Older || report.Jobs != 5 || len(report.Groups) != 1 {
		t.Errorf("the report of a kind is %+v", report)
	}
}

// TestPagesOfManyQueues checks that lists of queues are bounded, and lead to the others.
func TestPagesOfManyQueues(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	for n := range 203 {
		_, err := client.Enqueue(t.Context(), "k", []byte("1"), jobs.Queue(fmt.Sprintf("queue-%03d", n)))
		must(t, err)
	}
	_, err := client.Enqueue(t.Context(), "k", []byte("1"), jobs.Queue("queue-150"))
	must(t, err)
	v := visit(t, client, admin.Config{})
	page := v.page("/")
	has(t, "the overview", page, "193 more", "queue=queue-150")
	page = v.page("/queues")
	has(t, "the queues", page, `id="queue-queue-199"`, `href="/queues?after=queue-199"`)
	if strings.Contains(page, "queue-200") {
		t.Error("the page has more queues than it may")
	}
	page = v.page("/queues?after=queue-199")
	has(t, "the next page", page, `id="queue-queue-200"`, `id="queue-queue-202"`, `href="/queues"`, ">First<")
	if strings.Contains(page, `id="queue-queue-199"`) || strings.Contains(page, ">Next<") {
		t.Error("the last page has more queues than it may")
	}
	if page = v.page("/jobs"); strings.Count(page, "<option") != 201 { // and the kind
		t.Errorf("the page of jobs suggests %d names", strings.Count(page, "<option"))
	}

	a := serve(t, client, admin.Config{})
	type queuePage struct {
		Queues []inspect.QueueInfo
		Next   string
	}
	var names []string
	for path := "/queues?limit=100"; ; {
		page := get[queuePage](a, http.MethodGet, path, "")
		for _, q := range page.Queues {
			names = append(names, q.Name)
		}
		if page.Next == "" {
			break
		}
		if len(page.Queues) != 100 {
			t.Errorf("a page has %d queues", len(page.Queues))
		}
		path = "/queues?limit=100&after=" + page.Next
	}
	if len(names) != 203 || !slices.IsSorted(names) || len(slices.Compact(names)) != 203 {
		t.Errorf("the pages have the queues %q", names)
	}
	if page := get[queuePage](a, http.MethodGet, "/queues?after=queue-2009", ""); len(page.Queues) != 2 { // which there is not
		t.Errorf("after a name that no queue has are %+v", page)
	}
	stats := get[struct {
		inspect.Stats
		More int `json:"unhandled_more"`
	}](a, http.MethodGet, "/stats", "")
	if len(stats.Unhandled) != 200 || stats.More != 3 || stats.Unhandled[0].Queue != "queue-150" {
		t.Errorf("the statistics have %d pairs without a worker, %d more, first %+v", len(stats.Unhandled), stats.More, stats.Unhandled[0])
	}
}
