package admin_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

type auditList struct {
	Entries []inspect.AuditEntry
	Next    int64
}

// Each request that changes something makes an audit entry, and no other request does.
func TestChangesAreNoted(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		for _, r := range [][3]string{
			{"POST", "/jobs", `{"kind": "k", "unique_key": "u"}`},
			{"POST", "/jobs", `{"kind": "k", "unique_key": "u"}`}, // is there already
			{"POST", "/jobs/1/cancel", ""},
			{"POST", "/jobs/1/cancel", ""}, // is refused
			{"POST", "/jobs/1/retry", ""},
			{"PATCH", "/jobs/1", `{"priority": 3}`},
			{"PATCH", "/jobs/1", `{}`}, // is refused
			{"POST", "/queues/q/pause", ""},
			{"POST", "/queues/q/pause", ""}, // changes nothing
			{"POST", "/queues/q/resume", ""},
			{"POST", "/queues/q/pause?kind=k", ""},
			{"POST", "/queues/q/resume?kind=k", ""},
			{"PUT", "/retention", `{"queue": "q", "status": "done", "keep_ns": 1000000000}`},
			{"DELETE", "/retention?queue=q&status=done", ""},
			{"DELETE", "/retention?queue=q&status=done", ""}, // changes nothing
			{"DELETE", "/jobs/1", ""},
			{"DELETE", "/jobs/1", ""}, // is gone
			{"GET", "/jobs", ""},
		} {
			a.send(r[0], r[1], r[2])
		}
		for range 230 {
			_, err := client.Enqueue(t.Context(), "many", []byte("{}"))
			must(t, err)
		}
		result := get[bulkResult](a, http.MethodPost, "/bulk/cancel", `{"status": "pending", "kind": "many"}`)
		if result.Changed != 230 {
			t.Errorf("the bulk change is %+v", result)
		}

		var have []string
		jobsOfMany := int64(0)
		list := get[auditList](a, http.MethodGet, "/audit?limit=200", "")
		slices.Reverse(list.Entries)
		for _, e := range list.Entries {
			if e.Actor != "local" {
				t.Errorf("the actor is %q", e.Actor)
			}
			if e.JobIDs == nil {
				have = append(have, fmt.Sprint(e.Action, " ", e.JobID, e.Queue))
				continue
			}
			jobsOfMany += e.Jobs
			if e.Action != inspect.ActionCancel || string(e.Detail) != `{"filter":{"kind":"many","status":"pending"}}` || len(e.JobIDs) != int(e.Jobs) {
				t.Errorf("an entry of the bulk change is %+v with %s", e, e.Detail)
			}
		}
		want := []string{"enqueue 1default", "cancel 1default", "retry 1default", "update 1default", "pause 0q", "resume 0q", "pause kind 0q", "resume kind 0q", "set retention 0q", "remove retention 0q", "delete 1default"}
		if !slices.Equal(have, want) {
			t.Errorf("the entries are %q, not %q", have, want)
		}
		if jobsOfMany != 230 || len(list.Entries) != len(want)+3 {
			t.Errorf("%d jobs are noted in %d entries", jobsOfMany, len(list.Entries))
		}

		for query, n := range map[string]int{
			"?actor=local": 14, "?actor=ann": 0, "?action=delete": 1, "?job=1": 5, "?job=2": 0, "?job=10&action=cancel": 1,
			"?since=2999-01-01T00:00:00Z": 0, "?limit=2": 2,
		} {
			if list := get[auditList](a, http.MethodGet, "/audit"+query, ""); len(list.Entries) != n || (list.Next != 0) != (query == "?limit=2") {
				t.Errorf("%s gives %d entries and %d", query, len(list.Entries), list.Next)
			}
		}
		seen := 0
		for next := ""; ; {
			page := get[auditList](a, http.MethodGet, "/audit?limit=4"+next, "")
			seen += len(page.Entries)
			if page.Next == 0 {
				break
			}
			next = fmt.Sprint("&after=", page.Next)
		}
		if seen != 14 {
			t.Errorf("on all pages there are %d entries", seen)
		}
		for _, query := range []string{"?job=0", "?job=x", "?after=0", "?limit=201", "?since=now", "?who=x", "?actor=" + strings.Repeat("a", 201), "?action=bogus"} {
			a.refused(http.StatusBadRequest, http.MethodGet, "/audit"+query, "")
		}
	})
}

// TestTheContractNamesEveryAction checks that the parameter of a list has the actions of the library.
func TestTheContractNamesEveryAction(t *testing.T) {
	var have []inspect.Action
	for _, p := range readContract(t).at("paths", base+"/audit", "get", "parameters").([]any) {
		if p := p.(map[string]any); p["name"] == "action" {
			for _, action := range p["schema"].(map[string]any)["enum"].([]any) {
				have = append(have, inspect.Action(action.(string)))
			}
		}
	}
	if !slices.Equal(have, inspect.Actions()) {
		t.Errorf("the contract has the actions %q, want %q", have, inspect.Actions())
	}
}

// TestActors checks that a user with any name may change jobs. The entry has the valid part of the name.
func TestActors(t *testing.T) {
	client := jobs.New(testdb.SQLite(t))
	long := strings.Repeat("\u00e9", jobs.MaxNameLength+1)
	user := ""
	authorize := func(*http.Request) (string, error) {
		if user == "nobody" {
			return "", errors.New("go away")
		}
		return user, nil
	}
	for _, test := range []struct {
		config admin.Config
		user   string
		actor  string
	}{
		{admin.Config{}, "", "local"},
		{admin.Config{Token: token}, "", "token"},
		{admin.Config{Authorize: authorize}, "ann", "ann"},
		{admin.Config{Authorize: authorize}, "", "unnamed"},
		{admin.Config{Authorize: authorize}, "a\nb\x00\xff", "a\ufffdb\ufffd\ufffd"},
		{admin.Config{Authorize: authorize}, long, long[:2*jobs.MaxNameLength]},
	} {
		user = test.user
		h := newHandler(t, client, test.config)
		before, err := inspect.New(client).Audit(t.Context(), inspect.AuditFilter{})
		must(t, err)
		status, _ := ask(h, fromHere, [2]string{http.MethodPost, "/queues/" + fmt.Sprint("q", len(before)) + "/pause"}, func(r *http.Request) {
			if test.config.Token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
		})
		if status != http.StatusOK {
			t.Fatalf("%q is answered with %d", test.user, status)
		}
		list, err := inspect.New(client).Audit(t.Context(), inspect.AuditFilter{})
		must(t, err)
		if len(list) != len(before)+1 || list[0].Actor != test.actor {
			t.Errorf("a change by %q is noted as %+v", test.user, list[0])
		}
	}
	user = "nobody"
	if status, _ := ask(newHandler(t, client, admin.Config{Authorize: authorize}), fromHere, [2]string{http.MethodPost, "/queues/q/pause"}, nil); status != http.StatusUnauthorized {
		t.Errorf("a user without permission gets %d", status)
	}
}

// TestSensitiveFieldsAreNotAnswered looks for a secret in all answers of the API about jobs that hold it.
func TestSensitiveFieldsAreNotAnswered(t *testing.T) {
	const secret = "4111-1111"
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		must(t, inspect.New(client).MarkSensitive(t.Context(), "pay", "card.number", "metadata:*"))
		a := serve(t, client, admin.Config{})
		silent := func(method, path, body string) {
			t.Helper()
			if _, text := a.send(method, path, body); strings.Contains(string(text), secret) {
				t.Errorf("%s %s answers with %s", method, path, text)
			}
		}
		payload := `{"card": {"number": "` + secret + `"}}`
		silent("POST", "/jobs", `{"kind": "pay", "payload": `+payload+`, "metadata": "`+secret+`"}`)
		silent("POST", "/jobs", `{"kind": "pay", "payload": `+secret+`}`) // no JSON
		for _, path := range []string{"/jobs", "/jobs?kind=pay", "/jobs/1", "/jobs/1/why", "/failed", "/stats", "/queues", "/audit"} {
			silent("GET", path, "")
		}
		for _, path := range []string{"/jobs/1/cancel", "/jobs/1/retry"} {
			silent("POST", path, "")
		}
		silent("POST", "/bulk/cancel", `{"status": "pending"}`)
		silent("PUT", "/schedules/s", `{"kind": "pay", "cron": "@daily", "payload": `+payload+`, "metadata": {"m": "`+secret+`"}}`)
		silent("PUT", "/schedules/s", `{"kind": "pay", "cron": "@daily", "payload": `+payload+`, "metadata": "`+secret+`"}`)
		for _, path := range []string{"/schedules", "/schedules/s"} {
			silent("GET", path, "")
		}
		silent("POST", "/schedules/s/run", "")
		silent("GET", "/jobs/2", "")
		silent("GET", "/audit", "")
		job, err := client.Revealed().Get(t.Context(), 1)
		must(t, err)
		if string(job.Payload) != payload || string(job.Metadata) != `"`+secret+`"` {
			t.Errorf("the job is %s, %s", job.Payload, job.Metadata)
		}
	})
}
