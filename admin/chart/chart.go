package chart

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs/inspect"
)

// Chart holds lines over the same steps of time. Templates draw it as SVG; the script replaces the SVG by an interactive chart.
type Chart struct {
	Title string    `json:"title"`
	Unit  string    `json:"unit"`  // "jobs", or "ms"
	Times []int64   `json:"times"` // the start of each step, in Unix seconds
	Step  int64     `json:"step"`  // the length of a step in seconds
	Lines []Line    `json:"lines"`
	Until time.Time `json:"-"`
	Since time.Time `json:"-"`
}

// Line is a line of a chart: a value for each step, nil if there is none.
type Line struct {
	Name   string     `json:"name"`
	Class  string     `json:"class"` // the CSS class, for the colour
	Area   bool       `json:"area"`  // fill the area below the line
	Values []*float64 `json:"values"`
}

// Begin returns the part of a history from one step before its first jobs on, with at least least steps. It returns a history without
// jobs unchanged.
func Begin(h inspect.History, least int) inspect.History {
	first := slices.IndexFunc(h.Intervals, func(i inspect.Interval) bool {
		return i.Done+i.Failed+i.Retried+i.Cancelled+i.Wait.Jobs+i.Run.Jobs > 0
	})
	if first > 0 {
		h.Intervals = h.Intervals[max(0, min(first-1, len(h.Intervals)-least)):]
	}
	return h
}

// New returns a chart of a history.
func New(title, unit string, h inspect.History, lines ...Series) Chart {
	c := Chart{Title: title, Unit: unit, Step: int64(h.Step / time.Second)}
	for _, s := range lines {
		line := Line{Name: s.name, Class: s.class, Area: s.area}
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

// Series defines the values of a line by a function of the history.
type Series struct {
	name, class string
	area        bool
	value       func(inspect.Interval) *float64
}

// CountSeries returns a series of numbers of jobs.
func CountSeries(name, class string, area bool, of func(inspect.Interval) int64) Series {
	return Series{name, class, area, func(i inspect.Interval) *float64 { return new(float64(of(i))) }}
}

// LatencySeries returns the series of the quantiles of a duration.
func LatencySeries(of func(inspect.Interval) inspect.Latency) []Series {
	var list []Series
	for _, quantile := range []struct {
		name, class string
		of          func(inspect.Latency) time.Duration
	}{
		{"p99", "p99", func(l inspect.Latency) time.Duration { return l.P99 }},
		{"p90", "p90", func(l inspect.Latency) time.Duration { return l.P90 }},
		{"p50", "p50", func(l inspect.Latency) time.Duration { return l.P50 }},
	} {
		list = append(list, Series{quantile.name, quantile.class, false, func(i inspect.Interval) *float64 {
			if of(i).Jobs == 0 {
				return nil
			}
			return new(float64(quantile.of(of(i))) / float64(time.Millisecond))
		}})
	}
	return list
}

// JSON returns the chart for the script.
func (c Chart) JSON() (string, error) {
	text, err := json.Marshal(c)
	return string(text), err
}

// Most returns the greatest value, but at least 1, because it is a divisor.
func (c Chart) Most() float64 {
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

// Line returns the SVG path of a line, in a picture that is 1000 wide and 100 high.
func (c Chart) Line(l Line) string { return c.path(l, false) }

// Area returns the SVG path of the area below a line.
func (c Chart) Area(l Line) string { return c.path(l, true) }

// Points returns the SVG path of the dots of a line with few values, and of single values between gaps. A value of 0 has no dot.
func (c Chart) Points(l Line) string {
	const few = 20
	var out strings.Builder
	most, wide := c.Most(), float64(max(1, len(l.Values)-1))
	values := 0
	for _, v := range l.Values {
		if v != nil {
			values++
		}
	}
	for i, v := range l.Values {
		alone := v != nil && (i == 0 || l.Values[i-1] == nil) && (i+1 == len(l.Values) || l.Values[i+1] == nil)
		if v != nil && (alone || values <= few && *v > 0) {
			fmt.Fprintf(&out, "M%.1f %.1fh0", float64(i)/wide*1000, 100-*v/most*98)
		}
	}
	return out.String()
}

func (c Chart) path(l Line, closed bool) string {
	var out strings.Builder
	most, wide := c.Most(), float64(max(1, len(l.Values)-1))
	from := -1 // the step at which the current part of the line begins
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
