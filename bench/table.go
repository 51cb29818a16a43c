package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// line is what the results of all rounds of a system in a workload are printed on.
type line struct{ workload, system string }

// table prints the medians, and for each the ratio to the first system of its workload.
func table(out io.Writer, all []result) error {
	groups := map[line][]result{}
	first := map[string]line{}
	var order []line
	for _, r := range all {
		l := line{r.Workload, r.System}
		if groups[l] == nil {
			order = append(order, l)
		}
		groups[l] = append(groups[l], r)
		if _, ok := first[r.Workload]; !ok {
			first[r.Workload] = l
		}
	}
	// Lines of one workload stand together, in the order in which the workloads began.
	slices.SortStableFunc(order, func(a, b line) int {
		place := func(l line) int {
			return slices.IndexFunc(all, func(r result) bool { return r.Workload == l.workload })
		}
		return cmp.Compare(place(a), place(b))
	})
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nworkload\tsystem\tper second\tratio\tp50 ms\tratio\tp99 ms\tratio\tCPU\tserver's CPU\tstarted again")
	for _, l := range order {
		rs, base := groups[l], groups[first[l.workload]]
		fmt.Fprintf(w, "%s\t%s", l.workload, l.system)
		for _, c := range []struct {
			format string
			value  func(result) float64
		}{
			{"%.0f", func(r result) float64 { return r.PerSecond }},
			{"%.3f", func(r result) float64 { return r.P50 }},
			{"%.3f", func(r result) float64 { return r.P99 }},
		} {
			fmt.Fprintf(w, "\t%s\t%s", known(c.format, median(rs, c.value)), ratio(median(rs, c.value), median(base, c.value)))
		}
		fmt.Fprintf(w, "\t%s\t%s\t%s\n",
			known("%.2f %%", 100*median(rs, func(r result) float64 { return r.CPUShare })),
			known("%.2f %%", 100*median(rs, func(r result) float64 { return r.ServersCPU })), startedAgain(rs))
	}
	return w.Flush()
}

func median(rs []result, value func(result) float64) float64 {
	rs = slices.Clone(rs)
	slices.SortFunc(rs, func(a, b result) int { return cmp.Compare(value(a), value(b)) })
	return value(rs[len(rs)/2])
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

// startedAgain is the sum over all rounds: none is to be lost in a median.
func startedAgain(rs []result) string {
	sum, counted := 0, false
	for _, r := range rs {
		if r.Again != nil {
			sum, counted = sum+*r.Again, true
		}
	}
	if !counted {
		return "-"
	}
	return fmt.Sprint(sum)
}
