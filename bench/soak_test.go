package main

import (
	"testing"
	"time"
)

func TestSummaryOfASoak(t *testing.T) {
	var samples []sample
	for i := range 100 { // 10 that do not count, then 90 in thirds
		samples = append(samples, sample{
			at: time.Duration(i) * time.Second, rss: int64(i) * megabyte, wal: 5 * megabyte, table: int64(1000-i) * megabyte,
		})
	}
	got := summary(samples, 10*time.Second)
	want := soaked{RSSFirst: 24.5, RSSLast: 84.5, WALFirst: 5, WALLast: 5, TableFirst: 975.5, TableLast: 915.5}
	if got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if got := summary(samples[:5], 10*time.Second); got != (soaked{}) {
		t.Errorf("a soak that ended in its beginning: %+v", got)
	}
}

func TestGrowthOfASoak(t *testing.T) {
	flat := soaked{RSSFirst: 40, RSSLast: 59.9, WALFirst: 4, WALLast: 4, TableFirst: 1000, TableLast: 1115}
	if err := flat.growth(); err != nil {
		t.Errorf("within the bounds, but: %v", err)
	}
	for _, grown := range []soaked{
		{RSSFirst: 40, RSSLast: 60.1}, {WALFirst: 4, WALLast: 20.5}, {TableFirst: 1000, TableLast: 1117},
	} {
		if grown.growth() == nil {
			t.Errorf("%+v is not growth", grown)
		}
	}
}
