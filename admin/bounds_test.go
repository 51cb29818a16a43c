package admin_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// TestPageOfManyFailed: the report says that it covers the latest failed jobs, and how many there are.
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
	if strings.Contains(page, "rare") {
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

// TestPagesOfManyQueues: lists of queues are bounded and say how many queues they omit.
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
	has(t, "the queues", page, `id="queue-queue-199"`, "There are 3 more queues")
	if strings.Contains(page, "queue-200") {
		t.Error("the page has more queues than it may")
	}
}
