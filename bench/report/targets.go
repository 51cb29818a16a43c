package main

import (
	"cmp"
	"fmt"
)

// target is a figure that the project wants to reach.
type target struct {
	engine, workload, durability string // durability is empty for the engine's default
	figure                       figure
	bound                        float64
}

// figure is a value of a row that a target bounds.
type figure struct {
	name   string
	of     func(workload, *row) (value float64, ok bool) // not ok when the row does not have it
	isMost bool                                          // the bound is the greatest allowed value, not the least
	show   func(float64) string
	// isRatio is true when the figure is a comparison already.
	isRatio bool
}

var (
	perSecond = figure{"jobs/s", known(func(_ workload, r *row) float64 { return r.PerSecond }), false, number, false}
	p50       = figure{"p50, ms", known(func(_ workload, r *row) float64 { return r.P50 }), true, number, false}
	p99       = figure{"p99, ms", known(func(_ workload, r *row) float64 { return r.P99 }), true, number, false}
	ofLimit   = figure{"share of the raw loop", known(func(w workload, r *row) float64 { return w.factor(r, w.limitOf(r)) }), false, share, true}
	ofPlain   = figure{"share of the empty table's", known(func(w workload, r *row) float64 { return w.factor(r, w.plainOf(r)) }), false, share, true}
	ofRedis   = figure{"times the best on Redis", known(func(w workload, r *row) float64 { return w.factor(r, w.best(onRedis)) }), false, number, true}
	ofCore    = figure{"% of a core", known(func(_ workload, r *row) float64 { return cost.value(r.result) }), true, number, false}
	peakRSS   = figure{"peak memory, MB", known(func(_ workload, r *row) float64 { return r.PeakRSS }), true, number, false}
	// fairness may be 0: a process can have got no job.
	fairness = figure{"least of the processes' fair shares", func(_ workload, r *row) (float64, bool) {
		if r.LeastShare == nil {
			return 0, false
		}
		return *r.LeastShare, true
	}, false, share, true}
)

// known treats 0 as a missing figure.
func known(of func(workload, *row) float64) func(workload, *row) (float64, bool) {
	return func(w workload, r *row) (float64, bool) {
		value := of(w, r)
		return value, value != 0
	}
}

func onRedis(r *row) bool { return r.Engine == "Redis" }

func share(v float64) string { return fmt.Sprintf("%.2f", v) }

const (
	drain       = "drain"
	drainBy4    = "drain by 4 processes"
	insertOne   = "insert one by one"
	insertBy64  = "insert by 64 callers"
	bulkInsert  = "bulk insert"
	latencySame = "latency, same process"
	latencyElse = "latency, other process"
	latencyBare = "latency, plain INSERT by another process"
	idle        = "idle"
	backlog     = "drain beside a backlog"
	slots       = "drain, handlers of 50 ms in 1000 slots"
)

// targets returns all targets, in the order of the page.
func targets() []target {
	return []target{
		{"SQLite", drain, "", perSecond, 80_000},
		{"SQLite", drain, "", ofLimit, 0.8},
		{"SQLite", drain, "", ofRedis, 10},
		{"SQLite", drainBy4, "", perSecond, 65_000},
		{"SQLite", drainBy4, "", fairness, 0.5},
		{"SQLite", insertOne, "", perSecond, 28_000},
		{"SQLite", insertBy64, "", perSecond, 100_000},
		{"SQLite", bulkInsert, "", perSecond, 250_000},
		{"SQLite", insertOne, "full", perSecond, 6_000},
		{"SQLite", drain, "full", perSecond, 50_000},
		{"SQLite", latencySame, "", p50, 0.25},
		{"SQLite", latencySame, "", p99, 0.7},
		{"SQLite", latencyElse, "", p50, 0.3},
		{"SQLite", latencyElse, "", p99, 1.5},
		{"SQLite", latencyBare, "", p50, 0.3},
		{"SQLite", latencyBare, "", p99, 1.5},
		{"SQLite", backlog, "", ofPlain, 0.95},
		{"SQLite", slots, "", peakRSS, 40},
		{"SQLite", idle, "", ofCore, 0.2},
		{"PostgreSQL", drain, "", perSecond, 55_000},
		{"PostgreSQL", drainBy4, "", perSecond, 60_000},
		{"PostgreSQL", bulkInsert, "", perSecond, 150_000},
		{"PostgreSQL", latencyElse, "", p50, 1.5},
		{"PostgreSQL", latencyElse, "", p99, 4},
		{"PostgreSQL", backlog, "", ofPlain, 0.95},
		{"PostgreSQL", slots, "", peakRSS, 40},
		{"PostgreSQL", idle, "", ofCore, 0.2},
	}
}

// outcome is the result of a target.
type outcome struct {
	target
	workload workload
	row      *row // in the default settings; nil when it was not measured
	value    float64
	isMet    bool
	tuned    *row // in other settings; nil without any
}

// check looks a target up among the figures.
func (t target) check(workloads []workload) outcome {
	o := outcome{target: t}
	for _, w := range workloads {
		if w.name != t.workload {
			continue
		}
		o.workload = w
		for _, r := range w.rows {
			durable := cmp.Or(r.Durability, defaultDurability(r.Engine)) == cmp.Or(t.durability, defaultDurability(t.engine))
			isPlain := len(w.variants) > 1 && r.variant == w.variants[0] // the one that the others are compared with
			value, ok := t.figure.of(w, r)
			switch {
			case !ok || r.System != ours || r.Engine != t.engine || !durable || isPlain:
			case o.row == nil:
				o.row, o.value = r, value
			case o.tuned == nil:
				o.tuned = r
			}
		}
	}
	if o.row == nil {
		return o
	}
	o.isMet = o.value >= t.bound
	if t.figure.isMost {
		o.isMet = o.value <= t.bound
	}
	return o
}

// title returns the heading in notes.md for the workload of a target.
func (t target) title() string {
	title := t.engine + ", " + t.workload
	if t.durability != "" {
		title += ", durability " + t.durability
	}
	return title
}
