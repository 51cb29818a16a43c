package admin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func TestUpdateByTheAPI(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		_, err := client.Enqueue(t.Context(), "k", json.RawMessage(`{"n": 1}`), jobs.In(time.Hour))
		must(t, err)
		j := get[detail](a, http.MethodPatch, "/jobs/1", `{"priority": 7, "queue": "other", "max_attempts": 3, "run_after": "2090-01-01T00:00:00Z", "payload": null}`)
		if j.Priority != 7 || j.Queue != "other" || j.MaxAttempts != 3 || j.RunAfter.Year() != 2090 || string(j.Payload) != "null" || j.Status != jobs.StatusScheduled {
			t.Errorf("the job is %+v", j)
		}
		j = get[detail](a, http.MethodPatch, "/jobs/1", `{"delay_ns": 0}`)
		if j.RunAfter.Year() == 2090 || j.Priority != 7 || j.Queue != "other" || string(j.Payload) != "null" {
			t.Errorf("the job that is due at once is %+v", j)
		}
		must(t, inspect.New(client).MarkSensitive(t.Context(), "secret", "password"))
		_, err = client.Enqueue(t.Context(), "secret", json.RawMessage(`{"password": "p"}`))
		must(t, err)
		shown := get[detail](a, http.MethodGet, "/jobs/2", "")
		a.refused(http.StatusBadRequest, http.MethodPatch, "/jobs/2", fmt.Sprintf(`{"payload": %s}`, shown.Payload))
		get[detail](a, http.MethodPost, "/jobs/2/cancel", "")
		if p := a.refused(http.StatusConflict, http.MethodPatch, "/jobs/2", `{"priority": 1}`); !strings.Contains(p.Detail, "cancelled") {
			t.Errorf("an update of a cancelled job is refused with %+v", p)
		}
		a.refused(http.StatusNotFound, http.MethodPatch, "/jobs/9", `{"priority": 1}`)
		list := get[auditList](a, http.MethodGet, "/audit?action=update", "")
		if len(list.Entries) != 2 || list.Entries[0].Actor != "local" || string(list.Entries[0].Detail) != `{"columns":["run_after"]}` {
			t.Errorf("the entries are %+v", list.Entries)
		}
	})
}

func TestUpdatesNeedRights(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	_, err := client.Enqueue(t.Context(), "k", []byte("{}"), jobs.In(time.Hour))
	must(t, err)
	serve(t, client, admin.Config{ReadOnly: true}).refused(http.StatusForbidden, http.MethodPatch, "/jobs/1", `{"priority": 1}`)
	if page := visit(t, client, admin.Config{ReadOnly: true}).page("/jobs/1"); strings.Contains(page, "/jobs/update") {
		t.Error("the page has a form where changes are not allowed")
	}
	for origin, want := range map[string]int{"https://evil.example.com": http.StatusForbidden, "": http.StatusOK} {
		status, _ := ask(newHandler(t, client, admin.Config{}), fromHere, [2]string{http.MethodPatch, "/jobs/1"}, func(r *http.Request) {
			r.Header.Set("Content-Type", "application/json")
			r.Body = io.NopCloser(strings.NewReader(`{"priority": 1}`))
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
		})
		if status != want {
			t.Errorf("from the origin %q the answer is %d, not %d", origin, status, want)
		}
	}
}

func TestFormOfAJob(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		_, err := client.Enqueue(t.Context(), "k", json.RawMessage(`{"n": 1}`), jobs.At(time.Date(2090, 1, 2, 3, 4, 5, 600_000, time.UTC)), jobs.Priority(4))
		must(t, err)
		has(t, "the page", v.page("/jobs/1"), `name="was_priority" value="4"`, `id="update-queue" value="default"`, `value="2090-01-02T03:04:05"`)
		fields := func(changed map[string]string) url.Values {
			form := url.Values{"id": {"1"}, "back": {"/jobs/1"}}
			for name, value := range map[string]string{"queue": "default", "priority": "4", "max_attempts": "25", "run_after": "2090-01-02T03:04:05"} {
				form.Set(name, value)
				form.Set("was_"+name, value)
			}
			for name, value := range changed {
				form.Set(name, value)
			}
			return form
		}
		job := func() jobs.Job {
			job, err := client.Get(t.Context(), 1)
			must(t, err)
			return job
		}
		before := job()
		has(t, "without a change", v.send("/jobs/update", fields(nil)), `class="flash bad"`, "Nothing to change")
		must(t, client.Update(t.Context(), 1, jobs.SetMaxAttempts(9))) // by another user, since the page was read
		has(t, "after a change", v.send("/jobs/update", fields(map[string]string{"queue": "mail", "priority": " -5 ", "payload": `{"n": 2}`})), `class="flash good"`, "Job 1: changed.")
		if j := job(); j.Queue != "mail" || j.Priority != -5 || j.MaxAttempts != 9 || string(j.Payload) != `{"n":2}` || !j.RunAfter.Equal(before.RunAfter) {
			t.Errorf("the job is %+v", j)
		}
		// A browser omits the seconds of a whole minute. That is no change, so the value of another user stays.
		must(t, client.Update(t.Context(), 1, jobs.SetRunAfter(time.Date(2089, 1, 1, 0, 0, 0, 0, time.UTC))))
		minute := map[string]string{"was_run_after": "2090-01-02T03:04:00", "run_after": "2090-01-02T03:04", "priority": "7"}
		has(t, "after another priority", v.send("/jobs/update", fields(minute)), `class="flash good"`)
		if j := job(); j.Priority != 7 || j.RunAfter.Year() != 2089 {
			t.Errorf("after a change of the priority the job is due at %s, with the priority %d", j.RunAfter, j.Priority)
		}
		has(t, "after another time", v.send("/jobs/update", fields(map[string]string{"run_after": "2091-05-06T07:08"})), `class="flash good"`)
		if at := job().RunAfter; !at.Equal(time.Date(2091, 5, 6, 7, 8, 0, 0, time.UTC)) {
			t.Errorf("the job is due at %s", at)
		}
		for field, value := range map[string]string{"priority": "high", "max_attempts": "-1", "run_after": "soon", "queue": "", "payload": "{"} {
			has(t, "with a wrong "+field, v.send("/jobs/update", fields(map[string]string{field: value})), `class="flash bad"`)
		}
		_, err = client.Cancel(t.Context(), 1)
		must(t, err)
		has(t, "of a cancelled job", v.send("/jobs/update", fields(map[string]string{"priority": "1"})), `class="flash bad"`, "cancelled")
		if page := v.page("/jobs/1"); strings.Contains(page, "/jobs/update") {
			t.Error("the page of a cancelled job has the form")
		}
	})
}
