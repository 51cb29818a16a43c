package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// The overview names the kinds that nobody takes and that have the most jobs, and counts the jobs of the others.
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
	if n := strings.Count(page, "Nobody takes"); n != 5 || strings.Contains(page, "Nor does anybody") {
		t.Errorf("of 5 kinds %d are named: %s", n, page)
	}
	add(5, 40, 2)
	page = v.page("/")
	if n := strings.Count(page, "Nobody takes"); n != 5 {
		t.Errorf("of 40 kinds %d are named", n)
	}
	has(t, "the overview", page, "Nobody takes 2 jobs", "Nor does anybody take <strong>65 jobs</strong>", `href="/queue/jobs?status=pending"`, `id="tiles"`)
}
