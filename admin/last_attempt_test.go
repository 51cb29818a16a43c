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

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Each job says which worker runs it, ran it last, or ran it when it was cancelled, and on which host.
func TestTheWorkerOfAnAttemptIsTold(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		a := serve(t, client, admin.Config{})
		started := make(chan struct{}, 2)
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler), Name: "the-worker"})
		must(t, err)
		jobs.Kind[struct{}]{Name: "waits"}.Handle(runner, func(ctx context.Context, _ jobs.Job, _ struct{}) error {
			started <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
		jobs.Kind[struct{}]{Name: "good"}.Handle(runner, func(context.Context, jobs.Job, struct{}) error { return nil })
		add := func(kind string) string {
			receipt, err := client.Enqueue(t.Context(), kind, json.RawMessage("{}"))
			must(t, err)
			return fmt.Sprint("/jobs/", receipt.ID)
		}
		waits, second, good, never := add("waits"), add("waits"), add("good"), add("never")
		ended := make(chan error, 1)
		go func() { ended <- runner.Drain(context.WithoutCancel(t.Context())) }()
		<-started
		<-started
		_, err = client.Wait(t.Context(), 3) // the good job no longer runs
		must(t, err)
		workers, err := inspect.New(client).Workers(t.Context())
		must(t, err)
		host := workers[0].Host
		ran := func(path string) *inspect.Attempt {
			t.Helper()
			return get[detail](a, http.MethodGet, path, "").Last
		}
		if last := ran(waits); last == nil || last.Attempt != 1 || last.Worker != "the-worker" || last.Host != host || last.StartedAt.IsZero() || !last.EndedAt.IsZero() {
			t.Errorf("the running job has %+v", last)
		}
		has(t, "the running job", v.page(waits), "Attempt 1 runs", "the-worker on "+host)
		has(t, "after a bulk cancel", v.send("/jobs/change", url.Values{"do": {"cancel all"}, "status": {"running"}, "sure": {"yes"}, "back": {"/jobs"}}),
			"The workers of 2 jobs were asked to stop them.")
		must(t, <-ended)
		_, err = client.Cancel(t.Context(), 4)
		must(t, err)
		for _, path := range []string{waits, second, good} {
			if last := ran(path); last == nil || last.Worker != "the-worker" || last.Host != host || last.StartedAt.IsZero() || last.EndedAt.IsZero() {
				t.Errorf("%s has %+v", path, last)
			}
		}
		has(t, "the cancelled job", v.page(waits), `class="cancelled"`, "Attempt 1", "the-worker on "+host, "Cancelled")
		has(t, "the done job", v.page(good), "Attempt 1", "the-worker on "+host, "Done")
		if last, page := ran(never), v.page(never); last != nil || strings.Contains(page, "Attempt 1") {
			t.Errorf("the job that never ran has %+v: %s", last, page)
		}
	})
}
