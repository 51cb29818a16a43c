package admin_test

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// withStuck returns a queue with pending jobs of the kinds, in this order. A trigger refuses changes of jobs of the kind stuck.
func withStuck(t *testing.T, kinds ...string) *jobs.Client {
	t.Helper()
	store := testdb.SQLite(t)
	client := jobs.New(store)
	for _, kind := range kinds {
		_, err := client.Enqueue(t.Context(), kind, []byte("{}"))
		must(t, err)
	}
	trigger, err := os.ReadFile("testdata/refuse_stuck_sqlite.sql")
	must(t, err)
	_, err = testdb.PlainSQLite(t, store.Path()).ExecContext(t.Context(), string(trigger))
	must(t, err)
	return client
}

// times returns a list with a text n times.
func times(n int, text string) []string { return strings.Fields(strings.Repeat(text+" ", n)) }

// TestBulkGoesOnAfterRefusals checks that jobs that the database refuses are counted, and do not hide older jobs, even a whole batch of them.
func TestBulkGoesOnAfterRefusals(t *testing.T) {
	a := serve(t, withStuck(t, append(times(30, "free"), times(120, "stuck")...)...), admin.Config{})
	got := get[bulkResult](a, http.MethodPost, "/bulk/cancel", `{"status": "pending"}`)
	if got.Changed != 30 || got.Skipped != 0 || got.Refused != 120 || got.Next != 0 || !strings.Contains(got.Refusal, "not that one") {
		t.Errorf("the answer is %+v", got)
	}
	if pending := a.ids("/jobs?status=pending&limit=200"); len(pending) != 120 {
		t.Errorf("%d jobs are pending", len(pending))
	}
}

// TestPagesGoOnAfterRefusals checks that the pages change all other jobs, and say which job the database refused and why.
func TestPagesGoOnAfterRefusals(t *testing.T) {
	client := withStuck(t, "free", "stuck", "free", "free")
	v := visit(t, client, admin.Config{})
	picked := url.Values{"do": {"cancel picked"}, "id": {"1", "2", "3"}, "back": {"/jobs"}}
	has(t, "after a change of picked jobs", v.send("/jobs/change", picked), `class="flash good"`, "2 jobs cancelled. 1 was skipped", "job 2", "not that one")
	for id, want := range map[int64]jobs.Status{1: jobs.StatusCancelled, 2: jobs.StatusPending, 3: jobs.StatusCancelled} {
		if have := statusOf(t, client, id); have != want {
			t.Errorf("job %d is %s, want %s", id, have, want)
		}
	}
	all := url.Values{"do": {"cancel all"}, "status": {"pending"}, "sure": {"yes"}, "back": {"/jobs"}}
	has(t, "after a change of all", v.send("/jobs/change", all), `class="flash good"`, "1 job cancelled. The database refused 1 job, for example job 2: ", "not that one")
	has(t, "when all are refused", v.send("/jobs/change", all), `class="flash bad"`, "0 jobs cancelled. The database refused 1 job")
}

// TestARefusedChangeOfOneJob checks that the API answers a refused change of one job as a conflict that says why.
func TestARefusedChangeOfOneJob(t *testing.T) {
	a := serve(t, withStuck(t, "stuck"), admin.Config{})
	if p := a.refused(http.StatusConflict, http.MethodPost, "/jobs/1/cancel", ""); p.Type != "urn:sqluice:problem:refused" || !strings.Contains(p.Detail, "not that one") {
		t.Errorf("a cancel is refused with %+v", p)
	}
	if p := a.refused(http.StatusConflict, http.MethodPatch, "/jobs/1", `{"priority": 9}`); p.Type != "urn:sqluice:problem:refused" {
		t.Errorf("an update is refused with %+v", p)
	}
}
