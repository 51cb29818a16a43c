package chart_test

import (
	"testing"

	"github.com/sqluice/sqluice/admin/chart"
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
