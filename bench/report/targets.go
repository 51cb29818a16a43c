package main

// target is a figure that the project wants to reach by default: with default settings and the engine's default durability.
type target struct {
	engine, workload string
	figure           figure
	bound            float64
}

// figure is a value of a row that a target bounds.
type figure struct {
	name   string
	of     func(workload, *row) (value float64, other *row) // 0 without a figure; other is nil unless it is compared with a peer
	isMost bool                                             // the bound is the greatest allowed value, not the least
	show   func(float64) string
}

var (
	overPeer  = figure{"sqluice / best peer", ofPeer, false, factorText}
	belowPeer = figure{"sqluice / best peer", ofPeer, true, factorText}
	ofLimit   = figure{"sqluice / raw loop", func(w workload, r *row) (float64, *row) { return w.ratio(r, w.limitOf(r)), nil }, false, factorText}
	p50       = figure{"p50, ms", func(_ workload, r *row) (float64, *row) { return r.P50, nil }, true, number}
	p99       = figure{"p99, ms", func(_ workload, r *row) (float64, *row) { return r.P99, nil }, true, number}
)

func ofPeer(w workload, r *row) (float64, *row) {
	peer := w.peerOf(r)
	return w.ratio(r, peer), peer
}

const (
	drain       = "drain"
	drainBy4    = "drain by 4 processes"
	payloads    = "drain, payloads of 10 KB"
	slots       = "drain, handlers of 50 ms in 1000 slots"
	insertOne   = "insert one by one"
	bulkInsert  = "bulk insert"
	latencySame = "latency, same process"
	latencyElse = "latency, other process"
	latencyBare = "latency, plain INSERT by another process"
	idle        = "idle"
)

// targets returns all targets, in the order of the page.
func targets() []target {
	return []target{
		{"SQLite", drain, overPeer, 4.5},
		{"SQLite", drain, ofLimit, 0.73},
		{"SQLite", insertOne, overPeer, 1.05},
		{"SQLite", bulkInsert, overPeer, 1.65},
		{"SQLite", latencySame, p50, 0.25},
		{"SQLite", latencySame, p99, 0.7},
		{"SQLite", latencyElse, p50, 0.3},
		{"SQLite", latencyElse, p99, 1.5},
		{"SQLite", latencyBare, p50, 0.3},
		{"SQLite", latencyBare, p99, 1.5},
		{"PostgreSQL", drain, overPeer, 1.07},
		{"PostgreSQL", drain, ofLimit, 0.87},
		{"PostgreSQL", drainBy4, overPeer, 1.35},
		{"PostgreSQL", drainBy4, ofLimit, 0.78},
		{"PostgreSQL", payloads, overPeer, 0.95},
		{"PostgreSQL", slots, overPeer, 1},
		{"PostgreSQL", insertOne, overPeer, 1.3},
		{"PostgreSQL", insertOne, ofLimit, 0.55},
		{"PostgreSQL", bulkInsert, overPeer, 1.5},
		{"PostgreSQL", latencyElse, p50, 1.5},
		{"PostgreSQL", latencyElse, p99, 4},
		{"PostgreSQL", idle, belowPeer, 1},
	}
}

// outcome is the result of a target.
type outcome struct {
	value float64 // 0 when it was not measured
	other *row    // the peer that it is compared with, or nil
	isMet bool
}

// check looks a target up among the figures.
func (t target) check(workloads []workload) outcome {
	wanted := &row{result: result{Engine: t.engine}}
	for _, w := range workloads {
		if r := w.oursOf(wanted); w.name == t.workload && r != nil {
			value, other := t.figure.of(w, r)
			isMet := value >= t.bound
			if t.figure.isMost {
				isMet = value <= t.bound
			}
			return outcome{value, other, isMet && value > 0}
		}
	}
	return outcome{}
}

// title returns the heading in notes.md for the workload of a target.
func (t target) title() string { return t.engine + ", " + t.workload }
