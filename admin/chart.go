package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// chart is some lines over the same steps of time. Templates draw it, and the script draws it anew with more to see.
type chart struct {
	Title string    `json:"title"`
	Unit  string    `json:"unit"`  // "jobs", or "ms"
	Times []int64   `json:"times"` // when each step begins, in seconds since 1970
	Step  int64     `json:"step"`  // in seconds
	Lines []lineOf  `json:"lines"`
	Until time.Time `json:"-"`
	Since time.Time `json:"-"`
}

// lineOf is a line of a chart: a value for each step, nil where nothing was.
type lineOf struct {
	Name   string     `json:"name"`
	Class  string     `json:"class"` // what colour it has
	Area   bool       `json:"area"`  // is filled
	Values []*float64 `json:"values"`
}

// newChart makes a chart of a history. Each of lines tells its value of a step.
func newChart(title, unit string, h jobs.History, lines ...seriesOf) chart {
	c := chart{Title: title, Unit: unit, Step: int64(h.Step / time.Second)}
	for _, s := range lines {
		line := lineOf{Name: s.name, Class: s.class, Area: s.area}
		for _, i := range h.Intervals {
			line.Values = append(line.Values, s.value(i))
		}
		c.Lines = append(c.Lines, line)
	}
	for _, i := range h.Intervals {
		c.Times = append(c.Times, i.Start.Unix())
		c.Until = i.Start.Add(h.Step)
	}
	if len(h.Intervals) > 0 {
		c.Since = h.Intervals[0].Start
	}
	return c
}

// seriesOf is how a line is made.
type seriesOf struct {
	name, class string
	area        bool
	value       func(jobs.Interval) *float64
}

// counted is a line of numbers of jobs.
func counted(name, class string, area bool, of func(jobs.Interval) int64) seriesOf {
	return seriesOf{name, class, area, func(i jobs.Interval) *float64 { return new(float64(of(i))) }}
}

// measured are the lines of the quantiles of durations.
func measured(of func(jobs.Interval) jobs.Latency) []seriesOf {
	var list []seriesOf
	for _, quantile := range []struct {
		name, class string
		of          func(jobs.Latency) time.Duration
	}{
		{"p99", "p99", func(l jobs.Latency) time.Duration { return l.P99 }},
		{"p90", "p90", func(l jobs.Latency) time.Duration { return l.P90 }},
		{"p50", "p50", func(l jobs.Latency) time.Duration { return l.P50 }},
	} {
		list = append(list, seriesOf{quantile.name, quantile.class, false, func(i jobs.Interval) *float64 {
			if of(i).Jobs == 0 {
				return nil
			}
			return new(float64(quantile.of(of(i))) / float64(time.Millisecond))
		}})
	}
	return list
}

// JSON is the chart for the script.
func (c chart) JSON() (string, error) {
	text, err := json.Marshal(c)
	return string(text), err
}

// Most is the greatest value; at least one, so that nothing is divided by zero.
func (c chart) Most() float64 {
	most := 1.0
	for _, line := range c.Lines {
		for _, v := range line.Values {
			if v != nil {
				most = max(most, *v)
			}
		}
	}
	return most
}

// Top says what the greatest value is.
func (c chart) Top() string {
	if c.Unit == "ms" {
		return span(time.Duration(c.Most() * float64(time.Millisecond)))
	}
	return number(int64(c.Most()))
}

// Line is a line as the path of a picture that is 1000 wide and 100 high.
func (c chart) Line(l lineOf) string { return c.path(l, false) }

// Area is what lies beneath a line.
func (c chart) Area(l lineOf) string { return c.path(l, true) }

func (c chart) path(l lineOf, closed bool) string {
	var out strings.Builder
	most, wide := c.Most(), float64(max(1, len(l.Values)-1))
	from := -1 // where the part of the line began that is being drawn
	end := func(last int) {
		switch {
		case from < 0:
		case closed:
			fmt.Fprintf(&out, "L%.1f 100L%.1f 100Z", float64(last)/wide*1000, float64(from)/wide*1000)
		case from == last:
			out.WriteString("h0") // a dot
		}
		from = -1
	}
	for i, v := range l.Values {
		if v == nil {
			end(i - 1)
			continue
		}
		command := "L"
		if from < 0 {
			command, from = "M", i
		}
		fmt.Fprintf(&out, "%s%.1f %.1f", command, float64(i)/wide*1000, 100-*v/most*98)
	}
	end(len(l.Values) - 1)
	return out.String()
}
