package admin_test

import (
	"testing"

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
		has(t, "the job", v.page("/jobs/1"), "1 attempt<", "1 of 1<")
		must(t, client.Retry(t.Context(), 1))
		has(t, "the list after a retry", v.page("/jobs"), `0<span class="muted">/1</span>`)
		run(t, client)
		has(t, "the list after a second run", v.page("/jobs"), `1<span class="muted">/1</span>`)
		has(t, "the job after a second run", v.page("/jobs/1"), "2 attempts<", "1 of 1, 1 not counted<")
	})
}
