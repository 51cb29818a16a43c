package conformance

import (
	"slices"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// Errors that differ by numbers, quoted words and ids are one group of each cause, with each error as one of its texts.
func testFailedReportPatterns(f *fixture) {
	first := f.fail("a", `row 1 of "x.csv" is bad`)
	f.fail("a", `row 12 of "y.csv" is bad`)
	last := f.fail("a", `row 12 of "y.csv" is bad`)
	f.fail("a", `column 1 of "x.csv" is bad`)
	f.importJob(f.failedRow("a", `row 3 of "z.csv" is bad`)) // without an attempt, and so without a cause
	report, err := inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{Kind: "a"})
	f.must(err)
	want(f, "number of groups", len(report.Groups), 3)
	g := report.Groups[0]
	if g.Pattern != `row # of "…" is bad` || g.Cause != jobs.CauseError || g.Jobs != 3 || g.ExampleID != last || g.Error != `row 12 of "y.csv" is bad` || !g.FirstSeen.Before(g.LastSeen) {
		f.Errorf("the most frequent group is %+v", g)
	}
	if texts := g.Texts; len(texts) != 2 || texts[0].Error != g.Error || texts[0].Jobs != 2 || texts[1].Error != `row 1 of "x.csv" is bad` || texts[1].ExampleID != first {
		f.Errorf("its texts are %+v", texts)
	}
	i := slices.IndexFunc(report.Groups, func(g inspect.FailedGroup) bool { return g.Cause == "" })
	if i < 1 || report.Groups[i].Pattern != g.Pattern || report.Groups[i].Jobs != 1 {
		f.Errorf("the groups are %+v", report.Groups)
	}
	report, err = inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{Limit: 1})
	f.must(err)
	if len(report.Groups) != 1 || report.Groups[0].Pattern != g.Pattern || report.Groups[0].Jobs != 3 || report.Jobs != 5 {
		f.Errorf("the report of one group is %+v", report)
	}
}
