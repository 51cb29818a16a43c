package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// group is a set of lines that are compared with each other.
type group struct {
	engine, workload, durability string
	system                       string // when each system is compared with itself
}

// line has the results of all rounds of a system.
type line struct {
	group
	name, settings string
}

func (r result) group() group {
	g := group{engine: r.Engine, workload: r.Workload, durability: r.Durability}
	if r.alone {
		g.system = r.System
	}
	return g
}

func (r result) line() line { return line{r.group(), r.System, r.Settings} }

// table prints the medians of the rounds, and for each its ratio to the first line of its group.
func table(out io.Writer, all []result) error {
	var order []line
	results := map[line][]result{}
	first := map[group]line{}
	for _, r := range all {
		l := r.line()
		if results[l] == nil {
			order = append(order, l)
		}
		if _, ok := first[l.group]; !ok {
			first[l.group] = l
		}
		results[l] = append(results[l], r)
	}
	// Lines of a group stand together, in the order in which the groups began.
	var groups []group
	for _, l := range order {
		if !slices.Contains(groups, l.group) {
			groups = append(groups, l.group)
		}
	}
	slices.SortStableFunc(order, func(a, b line) int { return slices.Index(groups, a.group) - slices.Index(groups, b.group) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\n# medians; each ratio is that to the first line of its group")
	fmt.Fprintln(w, "engine\tworkload\tsystem\tsettings\tdurability\tjobs/s\tratio\tp50 ms\tratio\tp99 ms\tratio\tp99.9 ms\t"+
		"CPU\tserver's CPU\tpeak RSS MB\tslots busy\tleast share\terrors\tduplicates")
	for _, l := range order {
		rs, base := results[l], results[first[l.group]]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s", l.engine, l.workload, l.name, l.settings, l.durability)
		for _, c := range []column{
			{"%.0f", func(r result) float64 { return r.JobsPerSecond }, true},
			{"%.3f", func(r result) float64 { return r.P50 }, true},
			{"%.3f", func(r result) float64 { return r.P99 }, true},
			{"%.3f", func(r result) float64 { return r.P999 }, false},
			{"%.2f %%", func(r result) float64 { return percent(r.CPUSeconds, r.Seconds) }, false},
			{"%.2f %%", func(r result) float64 { return percent(r.ServerCPU, r.Seconds) }, false},
			{"%.1f", func(r result) float64 { return r.PeakRSS }, false},
			{"%.2f", func(r result) float64 { return r.SlotsBusy }, false},
		} {
			c.print(w, rs, base)
		}
		fmt.Fprintf(w, "\t%s", share(rs))
		// Sums over all rounds: a median would hide single ones.
		errors, duplicates := 0, 0
		for _, r := range rs {
			errors, duplicates = errors+r.Errors, duplicates+r.Duplicates
		}
		fmt.Fprintf(w, "\t%d\t%d\n", errors, duplicates)
	}
	return w.Flush()
}

// column is a value of each line, perhaps with its ratio.
type column struct {
	format  string
	value   func(result) float64
	isRatio bool
}

func (c column) print(w io.Writer, rs, base []result) {
	value := medianOf(rs, c.value)
	fmt.Fprintf(w, "\t%s", known(c.format, value))
	if c.isRatio {
		fmt.Fprintf(w, "\t%s", ratio(value, medianOf(base, c.value)))
	}
}

// medianOf leaves out the runs without figures.
func medianOf(rs []result, value func(result) float64) float64 {
	var values []float64
	for _, r := range rs {
		if r.Error == "" {
			values = append(values, value(r))
		}
	}
	return median(values)
}

// share returns the least one of all rounds: a median would hide it. A share of nothing counts too.
func share(rs []result) string {
	text, least := "-", 0.0
	for _, r := range rs {
		if r.LeastShare != nil && (text == "-" || *r.LeastShare < least) {
			least = *r.LeastShare
			text = fmt.Sprintf("%.2f", least)
		}
	}
	return text
}

// percent returns a time as a percentage of one core.
func percent(used, seconds float64) float64 {
	if seconds == 0 {
		return 0
	}
	return 100 * used / seconds
}

func known(format string, value float64) string {
	if value == 0 {
		return "-"
	}
	return fmt.Sprintf(format, value)
}

func ratio(value, base float64) string {
	if value == 0 || base == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", value/base)
}
