package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// The overview names the kinds without a worker that have the most jobs, and counts the jobs of the others.
func TestAlertsAreBounded(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	v := visit(t, client, admin.Config{Prefix: "/queue"})
	add := func(from, to, jobsOfEach int) {
		for i := from; i < to; i++ {
			for range jobsOfEach {
				_, err := client.Enqueue(t.Context(), fmt.Sprint("kind-", i), []byte("{}"))
				must(t, err)
			}
		}
	}
	add(0, 5, 1)
	page := v.page("/")
	if n := strings.Count(page, "No worker for"); n != 5 || strings.Contains(page, "There is also no worker") {
		t.Errorf("of 5 kinds %d are named: %s", n, page)
	}
	add(5, 40, 2)
	page = v.page("/")
	if n := strings.Count(page, "No worker for"); n != 5 {
		t.Errorf("of 40 kinds %d are named", n)
	}
	has(t, "the overview", page, "No worker for 2 jobs", "There is also no worker for <strong>65 jobs</strong>", `href="/queue/jobs?status=pending"`, `id="tiles"`)
}
