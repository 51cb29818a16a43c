package stats

import (
	"math"
	"testing"
	"time"
)

// Every duration lies within the bounds of its bucket, and the buckets follow each other.
func TestBuckets(t *testing.T) {
	for _, d := range []time.Duration{
		0, 1, finest - 1, finest, finest + 1, 2*finest - 1, 2 * finest, 2*finest + 1, time.Millisecond, time.Second, time.Hour,
		1000 * time.Hour, math.MaxInt64,
	} {
		bucket := bucketOf(d)
		from, to := bucketBounds(bucket)
		if d > 0 && d <= from || d > to && bucket < 46 {
			t.Errorf("%s is in bucket %d, which goes from %s to %s", d, bucket, from, to)
		}
	}
	for bucket := int64(1); bucket <= 46; bucket++ {
		_, before := bucketBounds(bucket - 1)
		from, to := bucketBounds(bucket)
		if from != before || to != 2*from {
			t.Errorf("bucket %d goes from %s to %s, the one before to %s", bucket, from, to, before)
		}
	}
}

func TestQuantile(t *testing.T) {
	if q := Quantile(nil, 0.5); q != 0 {
		t.Errorf("the median of nothing is %s", q)
	}
	counts := map[int64]int64{bucketOf(time.Millisecond): 90, bucketOf(time.Second): 10}
	for share, d := range map[float64]time.Duration{0.5: time.Millisecond, 0.9: time.Millisecond, 0.91: time.Second, 0.99: time.Second} {
		from, to := bucketBounds(bucketOf(d))
		if q := Quantile(counts, share); q <= from || q > to {
			t.Errorf("quantile %v is %s, not from %s to %s", share, q, from, to)
		}
	}
	even := map[int64]int64{3: 100}
	from, to := bucketBounds(3)
	if q := Quantile(even, 0.25); q != from+(to-from)/4 {
		t.Errorf("the first quartile of durations from %s to %s is %s", from, to, q)
	}
}
