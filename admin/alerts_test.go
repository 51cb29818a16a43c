package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
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
	if n := strings.Count(page, "no live worker handles both"); n != 5 || strings.Contains(page, "There is also no worker") {
		t.Errorf("of 5 kinds %d are named: %s", n, page)
	}
	add(5, 40, 2)
	page = v.page("/")
	if n := strings.Count(page, "no live worker handles both"); n != 5 {
		t.Errorf("of 40 kinds %d are named", n)
	}
	has(t, "the overview", page, "No worker for 2 jobs", "There is also no worker for <strong>65 jobs</strong>", `href="/queue/jobs?status=pending"`, `id="tiles"`)
}

// Many alarms take one line, which opens; a paused queue is no alarm.
func TestAlarmsAreShortAndAPauseIsNone(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	for _, queue := range []string{"a", "b", "paused"} {
		_, err := client.Enqueue(t.Context(), "k", []byte("{}"), jobs.Queue(queue))
		must(t, err)
	}
	_, err := client.PauseQueue(t.Context(), "paused")
	must(t, err)
	page := visit(t, client, admin.Config{}).page("/")
	has(t, "the overview", page, `<details class="alert"`, "No worker for 2 jobs", "2 kinds and queues</summary>", "<bdi>a</bdi>", "<bdi>b</bdi>", `class="notice"`, "Paused:", "<bdi>paused</bdi>", "1 pending")
	if strings.Contains(page, "in the queue <bdi>paused") || strings.Contains(page, "details class=\"alert\" open") {
		t.Errorf("the alarms are %s", page)
	}
	_, err = client.PauseKind(t.Context(), "b", "k", jobs.PauseFor(time.Hour))
	must(t, err)
	page = visit(t, client, admin.Config{}).page("/")
	has(t, "the overview with one alarm", page, `<p class="alert"><strong>No worker for 1 job</strong>`, "<bdi>a</bdi>: no live", "<bdi>paused</bdi>", "Paused kinds:", "of queue <bdi>b</bdi>, until ")
}
