package chart_test

import (
	"testing"
	"time"

	"github.com/sqluice/sqluice/admin/chart"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A line has a gap where there is no value, and the area below it is closed at both sides of the gap.
func TestChartPaths(t *testing.T) {
	one, two := 1.0, 2.0
	for _, test := range []struct {
		values     []*float64
		line, area string
	}{
		{nil, "", ""},
		{[]*float64{nil, nil}, "", ""},
		{[]*float64{&two}, "M0.0 2.0h0", "M0.0 2.0L0.0 100L0.0 100Z"},
		{[]*float64{&one, &two}, "M0.0 51.0L1000.0 2.0", "M0.0 51.0L1000.0 2.0L1000.0 100L0.0 100Z"},
		{[]*float64{&two, nil, &one, &two, nil}, "M0.0 2.0h0M500.0 51.0L750.0 2.0", "M0.0 2.0L0.0 100L0.0 100ZM500.0 51.0L750.0 2.0L750.0 100L500.0 100Z"},
	} {
		l := chart.Line{Values: test.values}
		c := chart.Chart{Lines: []chart.Line{l}}
		line, area := c.Line(l), c.Area(l)
		if line != test.line || area != test.area {
			t.Errorf("the line is %s, want %s; beneath it %s, want %s", line, test.line, area, test.area)
		}
	}
}

// Few values have dots, and so have single ones between gaps.
func TestPoints(t *testing.T) {
	one, two, none := 1.0, 2.0, 0.0
	many := make([]*float64, 30)
	for i := range many {
		many[i] = &two
	}
	many[10], many[12] = nil, nil
	for _, test := range []struct {
		values []*float64
		want   string
	}{
		{nil, ""},
		{[]*float64{&two}, "M0.0 2.0h0"},
		{[]*float64{&none, &one, &two}, "M500.0 51.0h0M1000.0 2.0h0"},
		{many, "M379.3 2.0h0"},
	} {
		l := chart.Line{Values: test.values}
		c := chart.Chart{Lines: []chart.Line{l}}
		if got := c.Points(l); got != test.want {
			t.Errorf("the points are %s, want %s", got, test.want)
		}
	}
}

// A chart begins one step before the first jobs, with enough steps.
func TestBegin(t *testing.T) {
	for _, test := range []struct{ steps, first, least, want int }{
		{60, 50, 3, 11}, {60, 0, 3, 60}, {60, 1, 3, 60}, {60, 2, 3, 59}, {60, 59, 3, 3}, {60, -1, 3, 60}, {2, 1, 3, 2}, {0, -1, 3, 0},
	} {
		h := inspect.History{Step: time.Minute, Intervals: make([]inspect.Interval, test.steps)}
		if test.first >= 0 {
			h.Intervals[test.first].Run.Jobs = 1
		}
		if got := len(chart.Begin(h, test.least).Intervals); got != test.want || len(h.Intervals) != test.steps {
			t.Errorf("of %+v are left %d steps", test, got)
		}
	}
}
