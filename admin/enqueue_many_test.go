package admin_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

type enqueued struct {
	Jobs []receipt `json:"jobs"`
}

// Jobs of several kinds are added by one request, all of them or none.
func TestEnqueueMany(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		got := get[enqueued](a, http.MethodPost, "/bulk/enqueue", `{"jobs": [
			{"kind": "mail", "unique_key": "u", "payload": 1, "priority": 5}, {"kind": "resize", "queue": "other", "tags": ["a"]},
			{"kind": "mail", "unique_key": "u", "payload": 2, "unique_mode": "replace"}]}`)
		if len(got.Jobs) != 3 || got.Jobs[0].Existed || got.Jobs[1].Existed ||
			got.Jobs[2] != (receipt{ID: got.Jobs[0].ID, Existed: true, Replaced: true}) {
			t.Fatalf("the receipts are %+v", got)
		}
		mail, err := client.Get(t.Context(), got.Jobs[0].ID)
		must(t, err)
		resize, err := client.Get(t.Context(), got.Jobs[1].ID)
		must(t, err)
		if mail.Kind != "mail" || string(mail.Payload) != "2" || resize.Queue != "other" || !slices.Equal(resize.Tags, []string{"a"}) {
			t.Errorf("the jobs are %+v and %+v", mail, resize)
		}
		many := strings.Repeat(`{"kind": "k"},`, 1000)
		for body, texts := range map[string][]string{
			`{"jobs": []}`:                          {"jobs 0 must be 1 to 1000"},
			`{}`:                                    {"jobs 0 must be 1 to 1000"},
			`{"jobs": [` + many + `{"kind": "k"}]}`: {"jobs 1001 must be 1 to 1000"},
			`{"jobs": {"kind": "k"}}`:               {"jobs", "array of objects"},
			`{"jobs": null}`:                        {"jobs", "array of objects"},
			`{"jobs": [{"kind": "k"}, 7]}`:          {"item 1", "job must be one JSON document, an object"},
			`{"jobs": [{"kind": "k"}, {"knd": 1}]}`: {"item 1", "no field", "knd"},
			`{"jobs": [{"kind": "k"}, {"kind": "k", "priority": 99999}]}`:                            {"item 1", "priority", "32767"},
			`{"jobs": [{"kind": "k", "user_id": "\ud800"}]}`:                                         {"item 0", "user_id", "surrogate"},
			`{"jobs": [{"kind": "k", "start_by": "2030-01-01T00:00:00Z", "start_within_ns": 1000}]}`: {"item 0", "start_within_ns"},
		} {
			p := a.refused(http.StatusBadRequest, http.MethodPost, "/bulk/enqueue", body)
			for _, text := range texts {
				if !strings.Contains(p.Detail, text) || len(p.Faults) != 1 {
					t.Errorf("%.80s: %+v, want %q", body, p, text)
				}
			}
		}
		if n := len(get[jobList](a, http.MethodGet, "/jobs", "").Jobs); n != 2 {
			t.Errorf("there are %d jobs", n)
		}
		get[enqueued](a, http.MethodPost, "/bulk/enqueue", `{"jobs": [`+strings.TrimSuffix(many, ",")+`]}`)
		stats, err := inspect.New(client).Stats(t.Context())
		must(t, err)
		if n := stats.Jobs[jobs.StatusPending] + stats.Jobs[jobs.StatusScheduled]; n != 1002 {
			t.Errorf("%d jobs wait", n)
		}
	})
}
