package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

type limitList struct{ Limits []jobs.LimitInfo }

type limitChange struct {
	Changed bool
	Unknown []inspect.UnknownName
}

// leaveWaiting leaves waiting jobs of the kind charge: 2 of each of some limit keys, which a handler has closed.
func leaveWaiting(t *testing.T, client *jobs.Client, keys ...string) {
	t.Helper()
	for _, key := range keys {
		for range 2 {
			_, err := client.Enqueue(t.Context(), "charge", []byte("{}"), jobs.LimitKey(key))
			must(t, err)
		}
	}
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	must(t, err)
	jobs.Kind[json.RawMessage]{Name: "charge"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error { return jobs.Throttle(time.Hour) })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	for closed := 0; closed < len(keys); time.Sleep(5 * time.Millisecond) {
		page, err := inspect.New(client).LimitKeys(t.Context(), inspect.LimitKeyFilter{Kind: "charge"})
		must(t, err)
		closed = 0
		for _, k := range page.Keys {
			if !k.ClosedUntil.IsZero() && k.Waiting == 2 {
				closed++
			}
		}
	}
	stop()
	must(t, <-ended)
}

func TestLimitsByTheAPI(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		if list := get[limitList](a, http.MethodGet, "/limits", ""); list.Limits == nil || len(list.Limits) != 0 {
			t.Errorf("at first the limits are %+v", list)
		}
		body := `{"kind": "charge", "key": "acme", "running": 2, "rate": {"starts": 10, "period_ns": 1000000000}, "burst": 20}`
		for range 2 {
			if got := get[limitChange](a, http.MethodPut, "/limits", body); !got.Changed {
				t.Errorf("a change is answered with %+v", got)
			}
		}
		get[limitChange](a, http.MethodPut, "/limits", `{"kind": "charge", "running": 5}`)
		leaveWaiting(t, client, "acme", "b")
		list := get[limitList](a, http.MethodGet, "/limits", "").Limits
		if len(list) != 2 || list[0].Key != "" || list[0].Running != 5 || list[0].WaitingJobs != 4 || list[0].Declared || list[1].Key != "acme" ||
			list[1].LimitValues != (jobs.LimitValues{Running: 2, Rate: jobs.Per(10, time.Second), Burst: 20}) || list[1].WaitingJobs != 2 || list[1].SetAt.IsZero() {
			t.Errorf("the limits are %+v", list)
		}
		page := get[inspect.LimitKeyPage](a, http.MethodGet, "/limits/keys?kind=charge&limit=1", "")
		if len(page.Keys) != 1 || page.Keys[0].Key != "acme" || page.Keys[0].Waiting != 2 || page.Keys[0].ClosedUntil.IsZero() || page.Next != "b" {
			t.Errorf("the first key is %+v", page)
		}
		page = get[inspect.LimitKeyPage](a, http.MethodGet, "/limits/keys?kind=charge&from=b", "")
		if len(page.Keys) != 1 || page.Keys[0].Key != "b" || page.Next != "" {
			t.Errorf("the other keys are %+v", page)
		}
		if got := get[limitChange](a, http.MethodPut, "/limits", `{"kind": "chagre", "running": 1}`); len(got.Unknown) != 1 || got.Unknown[0].Nearest != "charge" {
			t.Errorf("a limit of an unknown kind is answered with %+v", got)
		}
		for i, want := range []bool{true, false} {
			if got := get[limitChange](a, http.MethodDelete, "/limits?kind=charge&key=acme", ""); got.Changed != want {
				t.Errorf("deletion %d is answered with %+v", i, got)
			}
		}
		get[limitChange](a, http.MethodPut, "/limits", `{"kind": "charge", "total": true, "running": 50}`)
		get[limitChange](a, http.MethodPut, "/limits", `{"queue": "mail", "rate": {"starts": 1, "period_ns": 1000000000}}`)
		get[limitChange](a, http.MethodPut, "/limits", `{"kind": "charge", "key": "big", "weight": 3}`)
		places := map[string]bool{}
		for _, l := range get[limitList](a, http.MethodGet, "/limits", "").Limits {
			places[fmt.Sprintln(l.Kind, l.Key, l.Queue, l.Total, l.Running, l.Rate.Starts, l.Weight)] = true
		}
		for _, place := range []string{"charge   false 5 0 0\n", "charge   true 50 0 0\n", "  mail false 0 1 0\n", "charge big  false 0 0 3\n"} {
			if !places[place] {
				t.Errorf("the limits lack %q: %v", place, places)
			}
		}
		for _, query := range []string{"kind=charge&total=true", "queue=mail", "kind=charge&key=big&total=false"} {
			if got := get[limitChange](a, http.MethodDelete, "/limits?"+query, ""); !got.Changed {
				t.Errorf("the deletion of %s is answered with %+v", query, got)
			}
		}
		var actions []string
		for _, e := range get[auditList](a, http.MethodGet, "/audit", "").Entries {
			if e.Action == inspect.ActionSetLimit || e.Action == inspect.ActionDeleteLimit {
				actions = append(actions, fmt.Sprintf("%s %s%s %s", e.Action, e.Kind, e.Queue, e.Actor))
			}
		}
		if got := strings.Join(actions, ", "); got != "delete limit charge local, delete limit mail local, delete limit charge local, set limit charge local, set limit mail local, set limit charge local, delete limit charge local, set limit chagre local, set limit charge local, set limit charge local, set limit charge local" {
			t.Errorf("the audit log has %s", got)
		}
		serve(t, client, admin.Config{ReadOnly: true}).refused(http.StatusForbidden, http.MethodPut, "/limits", body)
	})
}

func TestRefusedLimitsNameTheField(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		for body, field := range map[string]string{
			`{"running": 1}`:                             "kind",
			`{"kind": "k"}`:                              "running",
			`{"kind": "k", "running": -1}`:               "running",
			`{"kind": "k", "running": 1.5}`:              "running",
			`{"kind": "k", "running": 1, "burst": 2}`:    "burst",
			`{"kind": "k", "running": 1, "key": "a\nb"}`: "key",
			`{"kind": "k", "rate": 10}`:                  "rate",
			`{"kind": "k", "rate": {"starts": 1, "period_ns": 1000000000, "more": 1}}`: "rate",
			`{"kind": "k", "rate": {"starts": -1, "period_ns": 1000000000}}`:           "rate.starts",
			`{"kind": "k", "rate": {"starts": 1}}`:                                     "rate.period_ns",
			`{"kind": "k", "rate": {"starts": 1, "period_ns": 86400000000001}}`:        "rate.period_ns",
			`{"kind": "k", "rate": {"starts": 1000000, "period_ns": 1000000}}`:         "rate",
			`{"kind": "k", "running": 1, "weight": 1001}`:                              "weight",
			`{"kind": "k", "total": true, "ordered": true}`:                            "ordered",
			`{"kind": "k", "ordered": true, "running": 2}`:                             "running",
			`{"kind": "k", "ordered": true, "on_fail": "wait"}`:                        "on_fail",
			`{"kind": "k", "running": 1, "on_fail": "skip"}`:                           "on_fail",
			`{"kind": "k", "total": true, "weight": 2}`:                                "weight",
			`{"kind": "k", "total": 1, "running": 1}`:                                  "total",
			`{"kind": "k", "key": "x", "total": true, "running": 1}`:                   "total",
			`{"kind": "k", "queue": "q", "running": 1}`:                                "queue",
			`{"queue": "q\n", "running": 1}`:                                           "queue",
			`{"kind": "k", "limit": 1}`:                                                "body",
			``:                                                                         "body",
		} {
			if p := a.refused(http.StatusBadRequest, http.MethodPut, "/limits", body); len(p.Faults) != 1 || p.Faults[0].Field != field {
				t.Errorf("%s: the faults are %+v, want one of %s", body, p.Faults, field)
			}
		}
		for query, field := range map[string]string{"": "kind", "?kind=a%00": "kind", "?kind=k&key=a%00": "key", "?kind=k&running=1": "query", "?kind=k&queue=q": "queue", "?kind=k&total=1": "total"} {
			if p := a.refused(http.StatusBadRequest, http.MethodDelete, "/limits"+query, ""); len(p.Faults) != 1 || p.Faults[0].Field != field {
				t.Errorf("DELETE %s: the faults are %+v, want one of %s", query, p.Faults, field)
			}
		}
		for query, field := range map[string]string{"": "kind", "?kind=k&from=a%00": "from", "?kind=k&limit=201": "limit", "?kind=k&after=x": "query"} {
			if p := a.refused(http.StatusBadRequest, http.MethodGet, "/limits/keys"+query, ""); len(p.Faults) != 1 || p.Faults[0].Field != field {
				t.Errorf("GET %s: the faults are %+v, want one of %s", query, p.Faults, field)
			}
		}
		if p := a.refused(http.StatusBadRequest, http.MethodPost, "/jobs", `{"kind": "k", "limit_key": "`+strings.Repeat("x", 201)+`"}`); p.Faults[0].Field != "limit_key" {
			t.Errorf("the fault of a job's limit key is %+v", p.Faults)
		}
		id := get[receipt](a, http.MethodPost, "/jobs", `{"kind": "k", "limit_key": "t"}`).ID
		if j, err := client.Get(t.Context(), id); err != nil || j.LimitKey == nil || *j.LimitKey != "t" {
			t.Errorf("a job with a limit key is %+v: %v", j, err)
		}
	})
}

func TestPageOfLimits(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		has(t, "the page without a limit", v.page("/limits"), "There is no limit")
		form := func(values ...string) url.Values {
			f := url.Values{"back": {"/limits"}, "kind": {"charge"}, "key": {""}, "running": {""}, "rate": {""}, "burst": {""}}
			for i := 0; i < len(values); i += 2 {
				f.Set(values[i], values[i+1])
			}
			return f
		}
		has(t, "after a limit", v.send("/limits", form("running", "3")), `class="flash good"`, "each key of the kind charge is set")
		leaveWaiting(t, client, "<acme>", "b")
		has(t, "after one of a key", v.send("/limits", form("key", "<acme>", "rate", "10/s", "burst", "20")), `class="flash good"`, "10/s, at most 20 at one time", "&lt;acme&gt;")
		has(t, "after one of all jobs", v.send("/limits", form("total", "yes", "running", "9")), `class="flash good"`, "all jobs of the kind charge is set", ">all jobs<")
		has(t, "after one of a queue", v.send("/limits", form("kind", "", "queue", "<mail>", "rate", "7/m")), `class="flash good"`, "&lt;mail&gt;", "7/m")
		has(t, "after a weight", v.send("/limits", form("key", "heavy", "weight", "4")), `class="flash good"`, "weight 4")
		for _, values := range [][]string{{"total", "yes"}, {"kind", "", "queue", "<mail>"}, {"key", "heavy"}} {
			has(t, "after its deletion", v.send("/limits", form(append(values, "do", "delete")...)), `class="flash good"`, "is deleted")
		}
		for field, value := range map[string]string{"running": "x", "weight": "1001", "rate": "10", "burst": "1e9", "kind": "", "key": "a\x01b"} {
			has(t, "with a fault", v.send("/limits", form("running", "1", field, value)), `class="flash bad"`, field)
		}
		has(t, "without a bound", v.send("/limits", form()), `class="flash bad"`)
		page := v.page("/limits?kind=charge")
		has(t, "the page", page, "Keys of charge", `id="limit-keys"`, "&lt;acme&gt;", `<span class="badge paused">Closed</span>`, "of 3")
		has(t, "the second key", v.page("/limits?kind=charge&from=b"), "Keys of charge", ">First<")
		has(t, "the page of a job", v.page("/jobs/1"), "Limit key", "&lt;acme&gt;", `href="/limits?kind=charge"`)
		has(t, "another kind", v.page("/limits?kind=other"), "No key of the kind")
		readers := visit(t, client, admin.Config{ReadOnly: true}).page("/limits")
		has(t, "the page for readers", readers, "&lt;acme&gt;", "10/s")
		if strings.Contains(readers, `action="/limits"`) {
			t.Error("the page has a form where changes are not allowed")
		}
		has(t, "after a deletion", v.send("/limits", form("do", "delete", "key", "<acme>")), `class="flash good"`, "is deleted")
		has(t, "after another", v.send("/limits", form("do", "delete", "key", "<acme>")), `class="flash bad"`, "No limit was set")
		list, err := client.Limits(t.Context())
		must(t, err)
		if len(list) != 1 || list[0].Key != "" || list[0].Running != 3 {
			t.Errorf("the limits are %+v", list)
		}
	})
}
