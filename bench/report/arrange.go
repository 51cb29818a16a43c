package main

import (
	"cmp"
	"slices"
	"strings"
)

const (
	ours  = "sqluice"
	limit = "raw loop" // the rate of a hand-written loop on an engine
)

// workload is a set of rows that are compared.
type workload struct {
	name   string
	metric metric
	rows   []*row // by engine, in it the limit first, then sqluice, then the others
}

// row holds all rounds of one system in one workload.
type row struct {
	result  // medians; but sums of errors and duplicates
	rounds  int
	counted int // rounds that have the figure
	// min and max bound the workload's figure over the rounds.
	min, max float64
	variant  string   // of the workload
	failures []string // why rounds have no figures
}

// metric is the main figure of a workload.
type metric struct {
	unit   string // none for jobs a second
	value  func(result) float64
	isLess bool // less is better
}

var (
	throughput = metric{"", func(r result) float64 { return r.PerSecond }, false}
	latency    = metric{" ms", func(r result) float64 { return r.P50 }, true}
	cost       = metric{" %", func(r result) float64 {
		if r.Seconds == 0 {
			return 0
		}
		return 100 * (r.CPU + r.ServerCPU) / r.Seconds
	}, true}
)

// metricOf returns the main figure of a workload's results.
func metricOf(name string, list []result) metric {
	isTimed := slices.ContainsFunc(list, func(r result) bool { return r.Workload == name && r.P50 > 0 && r.PerSecond == 0 })
	switch {
	case strings.Contains(name, "latency") || isTimed:
		return latency
	case name == idle:
		return cost
	default:
		return throughput
	}
}

// arrange groups the results by workload, in the order in which the workloads and systems first appear.
func arrange(list []result) []workload {
	type contestant struct{ workload, system, version, engine, settings, durability string }
	var workloads []workload
	rounds := map[contestant][]result{}
	var order []contestant
	for _, r := range list {
		c := contestant{r.Workload, r.System, r.Version, r.Engine, r.Settings, r.Durability}
		if rounds[c] == nil {
			order = append(order, c)
		}
		rounds[c] = append(rounds[c], r)
	}
	for _, c := range order {
		at := slices.IndexFunc(workloads, func(w workload) bool { return w.name == c.workload })
		if at < 0 {
			at = len(workloads)
			workloads = append(workloads, workload{name: c.workload, metric: metricOf(c.workload, list)})
		}
		w := &workloads[at]
		w.rows = append(w.rows, summarize(rounds[c], w.metric))
	}
	for i := range workloads {
		w := &workloads[i]
		w.findVariants()
		slices.SortStableFunc(w.rows, func(a, b *row) int {
			return cmp.Or(cmp.Compare(engineRank(a.Engine), engineRank(b.Engine)), strings.Compare(a.Engine, b.Engine),
				cmp.Compare(durabilityRank(a.Durability), durabilityRank(b.Durability)),
				cmp.Compare(systemRank(a.System), systemRank(b.System)))
		})
	}
	return workloads
}

// findVariants finds a workload's variants in the settings of sqluice's rows, behind a comma.
func (w *workload) findVariants() {
	var variants []string
	for _, r := range w.rows {
		if _, variant, ok := strings.Cut(r.Settings, ", "); ok && r.System == ours {
			variants = append(variants, variant)
		}
	}
	for _, r := range w.rows {
		for _, variant := range variants {
			if strings.HasSuffix(r.Settings, ", "+variant) {
				r.variant = variant
			}
		}
	}
}

func engineRank(engine string) int      { return rank([]string{"SQLite", "PostgreSQL", "Redis"}, engine) }
func durabilityRank(durable string) int { return rank([]string{"", "normal", "full"}, durable) }
func systemRank(system string) int      { return rank([]string{limit, ours}, system) }

// rank sorts values outside of the order last.
func rank(order []string, name string) int {
	if at := slices.Index(order, name); at >= 0 {
		return at
	}
	return len(order)
}

// summarize computes medians. A round without a figure, because the run failed, does not count.
func summarize(rounds []result, m metric) *row {
	r := &row{result: rounds[0], rounds: len(rounds)}
	for _, figure := range []func(*result) *float64{
		func(r *result) *float64 { return &r.PerSecond }, func(r *result) *float64 { return &r.P50 },
		func(r *result) *float64 { return &r.P99 }, func(r *result) *float64 { return &r.CPU },
		func(r *result) *float64 { return &r.ServerCPU }, func(r *result) *float64 { return &r.Seconds },
	} {
		*figure(&r.result) = median(rounds, func(one result) float64 { return *figure(&one) })
	}
	r.Errors, r.Duplicates = 0, 0
	for _, one := range rounds {
		r.Errors += one.Errors
		r.Duplicates += one.Duplicates
		if why := firstLine(one.Error); why != "" && !slices.Contains(r.failures, why) {
			r.failures = append(r.failures, why)
		}
		if value := m.value(one); value > 0 {
			if r.counted++; r.counted == 1 {
				r.min, r.max = value, value
			}
			r.min, r.max = min(r.min, value), max(r.max, value)
		}
	}
	return r
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

func median(rounds []result, value func(result) float64) float64 {
	var values []float64
	for _, one := range rounds {
		if v := value(one); v != 0 {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 1 {
		return values[half]
	}
	return (values[half-1] + values[half]) / 2
}

// value returns the main figure of the workload, or 0.
func (w workload) value(r *row) float64 {
	if r == nil {
		return 0
	}
	return w.metric.value(r.result)
}

// best returns the best of the matching rows, or nil when no row has a figure.
func (w workload) best(fits func(*row) bool) *row {
	var best *row
	for _, r := range w.rows {
		v := w.value(r)
		if v == 0 || !fits(r) {
			continue
		}
		if b := w.value(best); best == nil || w.metric.isLess && v < b || !w.metric.isLess && v > b {
			best = r
		}
	}
	return best
}

// limitOf returns the hand-written loop that a row is compared with.
func (w workload) limitOf(r *row) *row {
	return w.best(func(other *row) bool { return other.System == limit && isComparable(other, r) })
}

// peerOf returns the best peer that a row is compared with.
func (w workload) peerOf(r *row) *row {
	return w.best(func(other *row) bool { return isPeer(other) && isComparable(other, r) })
}

// oursOf returns the row of sqluice by default that a row is compared with, or nil.
func (w workload) oursOf(r *row) *row {
	at := slices.IndexFunc(w.rows, func(other *row) bool { return isOurs(other) && isComparable(other, r) })
	if at < 0 {
		return nil
	}
	return w.rows[at]
}

// isComparable reports whether rows have the same engine, durability and variant.
func isComparable(a, b *row) bool {
	return a.Engine == b.Engine && sameDurability(a, b) && a.variant == b.variant
}

func isPeer(r *row) bool { return r.System != ours && r.System != limit }

// isOurs reports whether a row is of sqluice by default.
func isOurs(r *row) bool {
	settings, _, _ := strings.Cut(r.Settings, ", ")
	return r.System == ours && settings == "default"
}

// sameDurability treats rows without a durability as having their engine's default.
func sameDurability(a, b *row) bool {
	return cmp.Or(a.Durability, defaultDurability(a.Engine)) == cmp.Or(b.Durability, defaultDurability(b.Engine))
}

func defaultDurability(engine string) string {
	if engine == "PostgreSQL" {
		return "full"
	}
	return "normal"
}

// ratio returns the figure of a divided by the figure of b, or 0 when one of them has no figure.
func (w workload) ratio(a, b *row) float64 {
	if w.value(a) == 0 || w.value(b) == 0 {
		return 0
	}
	return w.value(a) / w.value(b)
}
