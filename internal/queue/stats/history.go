package stats

import (
	"cmp"
	"maps"
	"time"
)

// The history is kept in steps of two lengths, each with its own retention.
const (
	FineStep   = time.Minute
	CoarseStep = 15 * time.Minute

	KeepFine   = 6 * time.Hour
	KeepCoarse = 30 * 24 * time.Hour
)

// Durations counts waiting and running times of jobs, by step of time, queue, kind and bucket.
type Durations map[cell]int64

// cell is one number of the history.
type cell struct {
	start time.Time
	series
	bucket int64
}

// compare defines the order in which cells are written.
func (c cell) compare(other cell) int {
	return cmp.Or(c.start.Compare(other.start), c.series.compare(other.series), cmp.Compare(c.bucket, other.bucket))
}

// Add adds a job whose handler returned at a time, after the job had waited and then run for these durations.
func (d Durations) Add(queue, kind string, at time.Time, waited, ran time.Duration) {
	start := at.Truncate(FineStep)
	d[cell{start, series{queue, kind, EventWait}, bucketOf(waited)}]++
	d[cell{start, series{queue, kind, EventRun}, bucketOf(ran)}]++
}

// Merge adds other durations to these.
func (d Durations) Merge(other Durations) {
	for key, n := range other {
		d[key] += n
	}
}

// withTotals returns the cells together with the sums over all kinds of a queue, over all queues of a kind, and over both. An
// empty name stands for all.
func withTotals(cells map[cell]int64) map[cell]int64 {
	all := maps.Clone(cells)
	for key, n := range cells {
		for _, of := range []series{{key.queue, "", key.event}, {"", key.kind, key.event}, {"", "", key.event}} {
			key.series = of
			all[key] += n
		}
	}
	return all
}
