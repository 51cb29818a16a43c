package admin_test

import (
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

type ruleList struct{ Rules []inspect.RetentionRule }

type ruleChange struct{ Changed bool }

func TestRetentionByTheAPI(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		if list := get[ruleList](a, http.MethodGet, "/retention", ""); list.Rules == nil || len(list.Rules) != 0 {
			t.Errorf("at first the rules are %+v", list)
		}
		body := `{"kind": "k", "queue": "q", "status": "done", "keep_ns": 3600000000000}`
		for i, want := range []bool{true, false} {
			if got := get[ruleChange](a, http.MethodPut, "/retention", body); got.Changed != want {
				t.Errorf("change %d is answered with %+v", i, got)
			}
		}
		get[ruleChange](a, http.MethodPut, "/retention", `{"status": "failed", "keep_ns": -1}`)
		rules := get[ruleList](a, http.MethodGet, "/retention", "").Rules
		if len(rules) != 2 || rules[0].Keep != jobs.Forever || rules[0].Status != jobs.StatusFailed || rules[1].Keep != time.Hour || rules[1].Kind != "k" || rules[1].Queue != "q" || rules[1].By != "local" {
			t.Errorf("the rules are %+v", rules)
		}
		for _, bad := range []string{
			`{"status": "done"}`, `{"keep_ns": 1000000000}`, `{"status": "pending", "keep_ns": 1000000000}`, `{"status": "done", "keep_ns": 999999999}`, `{"status": "done", "keep_ns": -2}`,
			`{"status": "done", "keep_ns": 4000000000000000000}`, `{"status": "done", "keep_ns": 1000000000, "days": 1}`, `{"status": "done", "keep_ns": 1000000000, "kind": "a\nb"}`, ``,
		} {
			a.refused(http.StatusBadRequest, http.MethodPut, "/retention", bad)
		}
		for _, query := range []string{"", "?kind=k", "?status=running", "?status=done&kind=a%00b", "?status=done&keep_ns=1"} {
			a.refused(http.StatusBadRequest, http.MethodDelete, "/retention"+query, "")
		}
		for i, want := range []bool{true, false} {
			if got := get[ruleChange](a, http.MethodDelete, "/retention?status=done&kind=k&queue=q", ""); got.Changed != want {
				t.Errorf("removal %d is answered with %+v", i, got)
			}
		}
		var actions []string
		for _, e := range get[auditList](a, http.MethodGet, "/audit", "").Entries {
			actions = append(actions, fmt.Sprintf("%s %s %s", e.Action, e.Kind, e.Queue))
		}
		if got := strings.Join(actions, ", "); got != "remove retention k q, set retention  , set retention k q" {
			t.Errorf("the audit log has %s", got)
		}
		serve(t, client, admin.Config{ReadOnly: true}).refused(http.StatusForbidden, http.MethodPut, "/retention", body)
	})
}

func TestFormOfRetention(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		has(t, "the page without a rule", v.page("/queues"), "no rule says more")
		form := func(values ...string) url.Values {
			f := url.Values{"back": {"/queues"}, "status": {"done"}, "kind": {"<k>"}, "queue": {""}, "days": {""}}
			for i := 0; i < len(values); i += 2 {
				f.Set(values[i], values[i+1])
			}
			return f
		}
		has(t, "after a rule for ever", v.send("/retention", form()), `class="flash good"`, "are kept for ever", "&lt;k&gt;")
		has(t, "after one of days", v.send("/retention", form("days", "1.5", "status", "failed")), `class="flash good"`, "36h0m0s")
		has(t, "after one of whole days", v.send("/retention", form("days", " 30 ", "queue", "q")), `class="flash good"`, "30 days")
		for _, days := range []string{"0", "-1", "x", "1e9", "NaN"} {
			has(t, "with the days "+days, v.send("/retention", form("days", days)), `class="flash bad"`, "days")
		}
		has(t, "after a removal", v.send("/retention", form("do", "remove")), `class="flash good"`, "is removed")
		rules, err := inspect.New(client).Retentions(t.Context())
		must(t, err)
		if len(rules) != 2 || rules[0].Keep != 36*time.Hour || rules[1].Keep != 720*time.Hour {
			t.Errorf("the rules are %+v", rules)
		}
		page := visit(t, client, admin.Config{ReadOnly: true}).page("/queues")
		has(t, "the page for readers", page, "&lt;k&gt;", "30 days")
		if strings.Contains(page, `action="/retention"`) {
			t.Error("the page has a form where changes are not allowed")
		}
	})
}
