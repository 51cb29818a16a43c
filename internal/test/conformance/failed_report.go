package conformance

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Jobs with one text whose last attempts failed by different causes are in different groups, each with its own cause.
func testFailedReportCauses(f *fixture) {
	ids := map[jobs.Cause]int64{
		jobs.CauseError:   f.enqueue("k", jobs.MaxAttempts(1)),
		jobs.CauseTimeout: f.enqueue("k", jobs.MaxAttempts(1), jobs.Timeout(time.Millisecond)),
	}
	f.drain(jobs.Config{}, on("k", func(ctx context.Context, job jobs.Job) error {
		if job.ID == ids[jobs.CauseTimeout] {
			<-ctx.Done()
		}
		return errors.New("bad")
	}))
	report, err := inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{})
	f.must(err)
	want(f, "groups", len(report.Groups), len(ids))
	for _, g := range report.Groups {
		if g.Jobs != 1 || len(g.Texts) != 1 || g.Texts[0].ExampleID != ids[g.Cause] {
			f.Errorf("the group of %q is %+v", g.Cause, g)
		}
	}
}

// Groups of one size whose last failures came at one time have an order too, the same on every engine.
func testFailedReportTies(f *fixture) {
	kinds := []string{"b", "\u00e9", "Z", "a", "_", "B"}
	for _, kind := range kinds {
		f.importJob(f.failedRow(kind, "bad"))
	}
	f.importJob(f.failedRow("b", "worse"))
	wanted := append(kinds, "b")
	slices.Reverse(wanted)
	for n := 1; n <= len(wanted); n++ {
		report, err := inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{Limit: n})
		f.must(err)
		want(f, "jobs in all groups", report.Jobs, int64(len(wanted)))
		var have []string
		for _, g := range report.Groups {
			have = append(have, g.Kind)
		}
		if !slices.Equal(have, wanted[:n]) {
			f.Errorf("the first %d groups are %q, not %q", n, have, wanted[:n])
		}
	}
}
