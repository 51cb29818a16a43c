package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// scheduleAnswer is a schedule in an answer.
type scheduleAnswer struct {
	jobs.ScheduleInfo
	Status  string   `json:"state"`
	Omitted []string `json:"omitted"`

	Unknown []inspect.UnknownName `json:"unknown"`
}

type scheduleList struct {
	Schedules []scheduleAnswer `json:"schedules"`
	Next      string           `json:"next"`
}

type scheduleDetail struct {
	Schedule scheduleAnswer      `json:"schedule"`
	Ticks    []jobs.ScheduleTick `json:"ticks"`
}

type schedulePausing struct {
	Schedule        string
	Paused, Changed bool
}

func TestScheduleRoutes(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		if list := get[scheduleList](a, http.MethodGet, "/schedules", ""); list.Schedules == nil || len(list.Schedules) != 0 || list.Next != "" {
			t.Errorf("without schedules the list is %+v", list)
		}
		put := get[scheduleAnswer](a, http.MethodPut, "/schedules/nightly", `{"kind": "report", "payload": {"n": 1}, "cron": "0 2 * * *", "zone": "Europe/Berlin",
			"catch_up": "all:3", "overlap": "skip", "queue": "low", "priority": 5, "max_attempts": 3, "timeout_ns": 60000000000, "user_id": "ann",
			"tags": ["red"], "metadata": {"a": "b"}}`)
		if put.Name != "nightly" || put.Kind != "report" || put.Queue != "low" || string(put.Payload) != `{"n":1}` || put.Spec != "0 2 * * *" || put.Zone != "Europe/Berlin" ||
			put.CatchUp != "all:3" || put.Overlap != "skip" || put.Status != jobs.ScheduleActive || put.InCode || put.Next.IsZero() {
			t.Errorf("the schedule is %+v", put)
		}
		var options map[string]json.RawMessage
		must(t, json.Unmarshal(put.Options, &options))
		if len(options) != 6 || string(options["priority"]) != "5" || string(options["tags"]) != `["red"]` || string(options["user_id"]) != `"ann"` {
			t.Errorf("its options are %s", put.Options)
		}
		why := get[inspect.ScheduleDiagnosis](a, http.MethodGet, "/schedules/nightly/why", "")
		if why.Schedule != "nightly" || why.State != jobs.ScheduleActive || len(why.Findings) != 2 {
			t.Errorf("why it enqueues no job: %+v", why)
		}
		a.refused(http.StatusNotFound, http.MethodGet, "/schedules/none/why", "")
		often := get[scheduleAnswer](a, http.MethodPut, "/schedules/often", `{"kind": "tidy", "every_ns": 90000000000, "zone": "", "catch_up": "", "overlap": ""}`)
		if often.Spec != "@every 1m30s" || often.Zone != "UTC" || often.CatchUp != "latest" || often.Overlap != "allow" || string(often.Payload) != "{}" {
			t.Errorf("a schedule with the defaults is %+v", often)
		}
		if !often.Unhandled {
			t.Errorf("without a worker the schedule is %+v", often)
		}
		misspelt := get[scheduleAnswer](a, http.MethodPut, "/schedules/often", `{"kind": "tidyy", "every_ns": 90000000000, "force": true}`)
		if len(misspelt.Unknown) != 1 || misspelt.Unknown[0] != (inspect.UnknownName{Field: "kind", Name: "tidyy", Nearest: "tidy"}) {
			t.Errorf("of a misspelt kind the answer says %+v", misspelt.Unknown)
		}
		get[scheduleAnswer](a, http.MethodPut, "/schedules/yearly", `{"kind": "tidy", "cron": "@yearly", "payload": "`+strings.Repeat("x", 5000)+`"}`)

		list := get[scheduleList](a, http.MethodGet, "/schedules?limit=2", "")
		if len(list.Schedules) != 2 || list.Schedules[1].Name != "often" || list.Next != "often" {
			t.Errorf("the first page is %+v", list)
		}
		list = get[scheduleList](a, http.MethodGet, "/schedules?limit=2&after=often", "")
		if len(list.Schedules) != 1 || list.Schedules[0].Name != "yearly" || list.Next != "" || list.Schedules[0].Payload != nil || fmt.Sprint(list.Schedules[0].Omitted) != "[payload]" {
			t.Errorf("the last page is %+v", list)
		}

		run := get[struct{ ID int64 }](a, http.MethodPost, "/schedules/nightly/run", "")
		job := get[detail](a, http.MethodGet, fmt.Sprint("/jobs/", run.ID), "")
		if job.Kind != "report" || job.Queue != "low" || job.Priority != 5 || job.MaxAttempts != 3 || job.Timeout != time.Minute || job.UserID != "ann" || job.Schedule() != "nightly" {
			t.Errorf("the job is %+v", job.Job)
		}
		get[struct{ ID int64 }](a, http.MethodPost, "/schedules/nightly/run", "")
		one := get[scheduleDetail](a, http.MethodGet, "/schedules/nightly?ticks=1", "")
		if one.Schedule.Name != "nightly" || len(one.Ticks) != 1 || one.Ticks[0].Outcome != jobs.TickAsked || one.Ticks[0].Job != run.ID+1 {
			t.Errorf("the schedule with a tick is %+v", one)
		}
		if all := get[scheduleDetail](a, http.MethodGet, "/schedules/nightly", ""); len(all.Ticks) != 2 || all.Ticks[1].Job != run.ID || !all.Ticks[1].Tick.Equal(job.Tick()) {
			t.Errorf("its ticks are %+v", all.Ticks)
		}

		for _, step := range []struct {
			verb string
			want schedulePausing
		}{
			{"pause", schedulePausing{"nightly", true, true}}, {"pause", schedulePausing{"nightly", true, false}},
			{"resume", schedulePausing{"nightly", false, true}}, {"resume", schedulePausing{"nightly", false, false}}, {"pause", schedulePausing{"nightly", true, true}},
		} {
			if got := get[schedulePausing](a, http.MethodPost, "/schedules/nightly/"+step.verb, ""); got != step.want {
				t.Errorf("%s is answered with %+v, want %+v", step.verb, got, step.want)
			}
		}
		if one := get[scheduleDetail](a, http.MethodGet, "/schedules/nightly", ""); one.Schedule.Status != jobs.SchedulePaused || one.Schedule.Paused.IsZero() {
			t.Errorf("the paused schedule is %+v", one.Schedule)
		}
		if status, text := a.send(http.MethodDelete, "/schedules/nightly", ""); status != http.StatusNoContent || len(text) > 0 {
			t.Errorf("a delete is answered with %d: %s", status, text)
		}
		entries, err := inspect.New(client).Audit(t.Context(), inspect.AuditFilter{})
		must(t, err)
		var actions []string
		for _, e := range entries {
			if actions = append(actions, string(e.Action)); e.Actor != "local" {
				t.Errorf("the actor of %s is %q", e.Action, e.Actor)
			}
		}
		if got, want := strings.Join(actions, ", "), "delete schedule, pause schedule, resume schedule, pause schedule, run schedule, run schedule, put schedule, put schedule, put schedule, put schedule"; got != want {
			t.Errorf("recorded are %s, not %s", got, want)
		}
	})
}

func TestRefusedRequestsForSchedules(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		for body, field := range map[string]string{
			`{"cron": "@daily"}`: "kind", `{"kind": "k"}`: "cron", `{"kind": "k", "cron": "@daily", "every_ns": 1000000000}`: "every_ns",
			`{"kind": "k", "cron": "60 * * * *"}`: "cron", `{"kind": "k", "cron": ""}`: "cron", `{"kind": "k", "cron": "*/5 2 * 3 sunL", "zone": "Europe/Berlin"}`: "cron",
			`{"kind": "k", "every_ns": 0}`: "every_ns", `{"kind": "k", "every_ns": 1500000000}`: "every_ns", `{"kind": "k", "every_ns": "90s"}`: "every_ns",
			`{"kind": "k", "every_ns": 9000000000000000000}`: "every_ns",
			`{"kind": "k", "cron": "0 2 * *\n*"}`:            "cron", `{"kind": "k", "cron": "0\t2 * * *"}`: "cron", `{"kind": "k", "cron": "@daily", "zone": "Mars/Base"}`: "zone",
			`{"kind": "k", "cron": "@daily", "catch_up": "all:0"}`: "catch_up", `{"kind": "k", "cron": "@daily", "overlap": "never"}`: "overlap",
			`{"kind": "k", "cron": "@daily", "metadata": 1}`: "metadata", `{"kind": "k", "cron": "@daily", "priority": 99999}`: "priority",
			`{"kind": "k", "cron": "@daily", "unique_key": "u"}`: "body", `{"kind": "k", "cron": "@daily", "cron": "@daily"}`: "body", `[]`: "body",
		} {
			if p := a.refused(http.StatusBadRequest, http.MethodPut, "/schedules/s", body); len(p.Faults) != 1 || p.Faults[0].Field != field {
				t.Errorf("%s is refused with %+v, not for %s", body, p, field)
			}
		}
		if status, _ := a.sendAs(http.MethodPut, "/schedules/s", "text/plain", strings.NewReader("{}")); status != http.StatusUnsupportedMediaType {
			t.Errorf("a text is answered with %d", status)
		}
		for _, name := range []string{strings.Repeat("s", 201), "%00", "a%0Ab", "%FF"} {
			if p := a.refused(http.StatusBadRequest, http.MethodPut, "/schedules/"+name, `{"kind": "k", "cron": "@daily"}`); len(p.Faults) != 1 || p.Faults[0].Field != "name" {
				t.Errorf("the name %.20s is refused with %+v", name, p)
			}
			a.refused(http.StatusBadRequest, http.MethodGet, "/schedules/"+name, "")
			a.refused(http.StatusBadRequest, http.MethodPost, "/schedules/"+name+"/run", "")
		}
		for _, path := range []string{"/schedules?limit=0", "/schedules?limit=201", "/schedules?x=1", "/schedules?after=%00", "/schedules/s?ticks=0", "/schedules/s?ticks=101", "/schedules/s?x=1"} {
			a.refused(http.StatusBadRequest, http.MethodGet, path, "")
		}
		for _, route := range [][2]string{
			{http.MethodGet, "/schedules/s"}, {http.MethodDelete, "/schedules/s"}, {http.MethodPost, "/schedules/s/pause"}, {http.MethodPost, "/schedules/s/resume"}, {http.MethodPost, "/schedules/s/run"},
		} {
			if p := a.refused(http.StatusNotFound, route[0], route[1], ""); p.Type != "urn:sqluice:problem:no-such-schedule" || !strings.Contains(p.Detail, `"s"`) {
				t.Errorf("%v is refused with %+v", route, p)
			}
			if route[0] != http.MethodGet {
				a.refused(http.StatusBadRequest, route[0], route[1], "{}")
			}
		}
		readOnly := serve(t, client, admin.Config{ReadOnly: true})
		readOnly.refused(http.StatusForbidden, http.MethodPut, "/schedules/s", `{"kind": "k", "cron": "@daily"}`)
		if list := get[scheduleList](readOnly, http.MethodGet, "/schedules", ""); len(list.Schedules) != 0 {
			t.Errorf("refused schedules are listed: %+v", list)
		}
	})
}

// strangeNames are names that paths cannot have as they are, or that mean something in a page.
func strangeNames() []string {
	return []string{
		"/", "//", "a/", "a/b c", ".", "..", "../x", "%2F", "%00", "?", "#", "&amp;", `a\b`, `"><script>alert(1)</script>`, "javascript:alert(1)", "pause", "change", "\u202etxt",
		strings.Repeat("\u00e4", 200),
	}
}

func TestSchedulesOfAnyName(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		for _, name := range strangeNames() {
			path := "/schedules/" + strings.ReplaceAll(url.PathEscape(name), ".", "%2E")
			if put := get[scheduleAnswer](a, http.MethodPut, path, `{"kind": "k", "cron": "@daily"}`); put.Name != name {
				t.Errorf("%q is put as %q", name, put.Name)
			}
			if one := get[scheduleDetail](a, http.MethodGet, path, ""); one.Schedule.Name != name {
				t.Errorf("%q is %q", name, one.Schedule.Name)
			}
			if got := get[schedulePausing](a, http.MethodPost, path+"/pause", ""); got != (schedulePausing{name, true, true}) {
				t.Errorf("a pause of %q is answered with %+v", name, got)
			}
			if status, text := a.send(http.MethodDelete, path, ""); status != http.StatusNoContent {
				t.Errorf("a delete of %q is answered with %d: %s", name, status, text)
			}
		}
	})
}
