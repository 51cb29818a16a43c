package admin_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
)

// Pages show how many of a job's attempts count; a retry starts the count again.
func TestAttemptsThatCount(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		_, err := client.Enqueue(t.Context(), "bad", []byte(`{}`), jobs.MaxAttempts(1))
		must(t, err)
		run(t, client)
		has(t, "the list", v.page("/jobs"), `1<span class="muted">/1</span>`)
		has(t, "the job", v.page("/jobs/1"), "1 attempt, times in UTC<", "1 of 1<")
		must(t, client.Retry(t.Context(), 1))
		has(t, "the list after a retry", v.page("/jobs"), `0<span class="muted">/1</span>`)
		run(t, client)
		has(t, "the list after a second run", v.page("/jobs"), `1<span class="muted">/1</span>`)
		has(t, "the job after a second run", v.page("/jobs/1"), "2 attempts, times in UTC<", "1 of 1, 1 not counted<")
	})
}

// The timeline shows snoozed attempts in their places between failed ones, each on one page. Attempts whose rows were removed have their
// numbers.
func TestTimelineOfSnoozedAttempts(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		receipt, err := client.Enqueue(t.Context(), "k", []byte(`{}`), jobs.MaxAttempts(1000))
		must(t, err)
		const last = 130
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler), Name: "the-worker"})
		must(t, err)
		jobs.Kind[struct{}]{Name: "k", RetryDelay: jobs.FixedRetry(0)}.Handle(runner, func(_ context.Context, job jobs.Job, _ struct{}) error {
			switch {
			case job.Attempt == last:
				return jobs.Snooze(time.Hour)
			case job.Attempt <= 3, job.Attempt == 128, job.Attempt == 129:
				return jobs.Snooze(0)
			}
			return errors.New("it is bad")
		})
		must(t, runner.Drain(t.Context()))
		page := fmt.Sprint("/jobs/", receipt.ID)
		wantOrder(t, "the waiting job", v.page(page), "Earlier attempts", "Enqueued", "Attempt 127", "it is bad", "Attempt 128", ">snoozed<", "worker the-worker", "Attempt 129", ">snoozed<", "Attempt 130", ">snoozed<", "worker the-worker", "Runs again")
		lacks(t, "the latest attempts", v.page(page), "Attempts 1 to")

		var d detail
		for next := int64(0); ; next = d.Next {
			path := page
			if next != 0 {
				path += fmt.Sprint("?attempts_after=", next)
				lacks(t, "earlier attempts", v.page(path), "Attempt 128")
			}
			if d = get[detail](serve(t, client, admin.Config{}), http.MethodGet, path, ""); d.Next == 0 {
				wantOrder(t, "the first attempts", v.page(path), "Attempts 1 to 3", "not recorded", "Attempt 4")
				break
			}
		}
	})
}

// The attempt in which a job failed for good is on the page of the latest attempts alone.
func TestLastAttemptIsOnOnePage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, client *jobs.Client) {
		v := visit(t, client, admin.Config{})
		const last = 60
		receipt, err := client.Enqueue(t.Context(), "k", []byte(`{}`), jobs.MaxAttempts(last))
		must(t, err)
		runner, err := jobs.NewRunner(client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		jobs.Kind[struct{}]{Name: "k", RetryDelay: jobs.FixedRetry(0)}.Handle(runner, func(context.Context, jobs.Job, struct{}) error {
			return errors.New("it is bad")
		})
		must(t, runner.Drain(t.Context()))
		page := fmt.Sprint("/jobs/", receipt.ID)
		has(t, "the latest attempts", v.page(page), "Attempt 11<", "Attempt 60<")
		d := get[detail](serve(t, client, admin.Config{}), http.MethodGet, page, "")
		earlier := v.page(fmt.Sprint(page, "?attempts_after=", d.Next))
		has(t, "earlier attempts", earlier, "Attempt 1<", "Attempt 10<")
		lacks(t, "earlier attempts", earlier, "Attempt 60")
	})
}

// wantOrder checks that a page has texts, each after the one before.
func wantOrder(t *testing.T, what, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		at := strings.Index(rest, text)
		if at < 0 {
			t.Errorf("%s does not have %q in its place:\n%s", what, text, page)
			return
		}
		rest = rest[at+len(text):]
	}
}

func lacks(t *testing.T, what, page, text string) {
	t.Helper()
	if strings.Contains(page, text) {
		t.Errorf("%s has %q:\n%s", what, text, page)
	}
}
