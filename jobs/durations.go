package jobs

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"
)

// finest is the upper end of the shortest class of durations. Each further class ends at twice the time of the one before.
const finest = 125 * time.Microsecond

// bucketOf is the class of a duration.
func bucketOf(d time.Duration) int64 {
	if d <= finest {
		return 0
	}
	return int64(bits.Len64(uint64((d - 1) / finest)))
}

// bucketEnds are the bounds of a class: longer than from, at most to.
func bucketEnds(bucket int64) (from, to time.Duration) {
	const most = 46 // beyond it, a Duration overflows
	if bucket > 0 {
		from = finest << min(bucket-1, most)
	}
	return from, finest << min(max(bucket, 0), most)
}

// quantile estimates the duration that a share of the durations, counted by class, do not exceed: within its class, whose
// ends are a factor of two apart, it takes them to lie evenly.
func quantile(counts map[int64]int64, share float64) time.Duration {
	var total int64
	for _, n := range counts {
		total += n
	}
	rank := share * float64(total)
	var before int64
	for _, bucket := range slices.Sorted(maps.Keys(counts)) {
		n := counts[bucket]
		if n == 0 || float64(before+n) < rank {
			before += n
			continue
		}
		from, to := bucketEnds(bucket)
		inside := math.Max(0, rank-float64(before)) / float64(n)
		return from + time.Duration(inside*float64(to-from))
	}
	return 0
}
