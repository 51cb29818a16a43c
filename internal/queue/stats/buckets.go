package stats

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"
)

// finest is the upper bound of bucket 0. Each further bucket ends at twice the duration of the one before.
const finest = 125 * time.Microsecond

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int64 {
	if d <= finest {
		return 0
	}
	return int64(bits.Len64(uint64((d - 1) / finest)))
}

// bucketBounds returns the bounds of a bucket: its durations are longer than from and at most to.
func bucketBounds(bucket int64) (from, to time.Duration) {
	const most = 46 // a Duration overflows beyond it
	if bucket > 0 {
		from = finest << min(bucket-1, most)
	}
	return from, finest << min(max(bucket, 0), most)
}

// Quantile estimates the duration that the given share of durations does not exceed. counts holds the number of durations by
// bucket; it assumes that they are spread evenly within a bucket. It returns 0 for no durations.
func Quantile(counts map[int64]int64, share float64) time.Duration {
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
		from, to := bucketBounds(bucket)
		inside := math.Max(0, rank-float64(before)) / float64(n)
		return from + time.Duration(inside*float64(to-from))
	}
	return 0
}
