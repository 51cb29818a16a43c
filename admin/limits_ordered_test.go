package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// leaveHeld leaves two jobs of the kind charge and a limit key, whose jobs run in order: the first one has failed and holds the other. It
// returns their ids.
func leaveHeld(t *testing.T, client *jobs.Client, key string) (failed, held int64) {
	t.Helper()
	must(t, client.SetLimit(t.Context(), "charge", "", jobs.LimitValues{Ordered: true}))
	for _, id := range []*int64{&failed, &held} {
		receipt, err := client.Enqueue(t.Context(), "charge", []byte("{}"), jobs.LimitKey(key))
		must(t, err)
		*id = receipt.ID
	}
	runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	must(t, err)
	jobs.Kind[json.RawMessage]{Name: "charge"}.Handle(runner, func(context.Context, jobs.Job, json.RawMessage) error { return jobs.Discard(errors.New("no luck")) })
	must(t, runner.Drain(t.Context()))
	return failed, held
}

func TestSequencesByTheAPI(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		failed, held := leaveHeld(t, client, "acme")
		keys := get[inspect.LimitKeyPage](a, http.MethodGet, "/limits/keys?kind=charge", "").Keys
		if len(keys) != 1 || keys[0].HeldBy != failed || keys[0].Waiting != 1 {
			t.Errorf("the keys are %+v; job %d holds job %d", keys, failed, held)
		}
		for _, want := range []bool{true, false} {
			if got := get[limitChange](a, http.MethodPost, "/limits/resume", `{"kind": "charge", "key": "acme"}`); got.Changed != want {
				t.Errorf("a sequence is resumed: %t, not %t", got.Changed, want)
			}
		}
		for body, field := range map[string]string{`{"key": "acme"}`: "kind", `{"kind": "k", "key": "a\nb"}`: "key", `{"kind": "k", "more": 1}`: "body"} {
			if p := a.refused(http.StatusBadRequest, http.MethodPost, "/limits/resume", body); len(p.Faults) != 1 || p.Faults[0].Field != field {
				t.Errorf("%s: the faults are %+v, want one of %s", body, p.Faults, field)
			}
		}
		serve(t, client, admin.Config{ReadOnly: true}).refused(http.StatusForbidden, http.MethodPost, "/limits/resume", `{"kind": "charge"}`)
	})
}

func TestPageOfASequence(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		failed, held := leaveHeld(t, client, "<acme>")
		v := visit(t, client, admin.Config{})
		page := v.page("/limits")
		has(t, "the page", page, "in order", `<span class="badge paused">Held</span>`, fmt.Sprintf(`href="/jobs/%d"`, failed), "Resume the sequence of &lt;acme&gt;")
		has(t, "the page of the held job", v.page(fmt.Sprintf("/jobs/%d", held)), fmt.Sprintf("job %d has failed", failed))
		resume := url.Values{"back": {"/limits"}, "do": {"resume"}, "kind": {"charge"}, "key": {"<acme>"}}
		has(t, "after a resume", v.send("/limits", resume), `class="flash good"`, "goes on")
		has(t, "after another", v.send("/limits", resume), `class="flash bad"`, "No failed job holds")
		form := url.Values{"back": {"/limits"}, "kind": {"charge"}, "key": {""}, "order": {"skip"}, "depth": {"7"}, "full": {"drop"}}
		has(t, "after another order", v.send("/limits", form), `class="flash good"`, "drops more than 7 that wait", "skips failed ones")
		form.Set("depth", "x")
		has(t, "with a fault", v.send("/limits", form), `class="flash bad"`, "depth")
	})
}

// An enqueue beyond a bounded backlog is refused, or adds no job.
func TestBacklogsByTheAPI(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		a := serve(t, client, admin.Config{})
		const job = `{"kind": "charge", "limit_key": "acme"}`
		get[limitChange](a, http.MethodPut, "/limits", `{"kind": "charge", "depth": 1}`)
		get[receipt](a, http.MethodPost, "/jobs", job)
		if p := a.refused(http.StatusConflict, http.MethodPost, "/jobs", job); p.Type != "urn:sqluice:problem:backlog-full" {
			t.Errorf("a job beyond the depth is refused with %+v", p)
		}
		get[limitChange](a, http.MethodPut, "/limits", `{"kind": "charge", "depth": 1, "on_full": "drop"}`)
		if got := get[map[string]any](a, http.MethodPost, "/jobs", job); got["dropped"] != true || got["id"] != float64(0) {
			t.Errorf("the receipt of a dropped job is %v", got)
		}
		get[limitChange](a, http.MethodPut, "/limits", `{"queue": "mail", "depth": 1}`)
		get[receipt](a, http.MethodPost, "/jobs", `{"kind": "letter", "queue": "mail"}`)
		if p := a.refused(http.StatusConflict, http.MethodPost, "/jobs", `{"kind": "other", "queue": "mail"}`); !strings.Contains(p.Detail, "mail") {
			t.Errorf("a job beyond the depth of its queue is refused with %+v", p)
		}
	})
}
