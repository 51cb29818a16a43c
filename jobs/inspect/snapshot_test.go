package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// A pause blocks jobs until it is over, whether or not a worker has removed it. Due jobs that are not promoted yet wait as well.
func TestWaits(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	ago := func(n int) time.Time { return now.Add(-time.Duration(n) * time.Minute) }
	until := func(at time.Time) *int64 { micros := at.UnixMicro(); return &micros }
	counts := []Count{
		{"a", "k", jobs.StatusPending, 3, ago(5)}, {"a", "held", jobs.StatusPending, 1, ago(9)}, {"a", "k", jobs.StatusScheduled, 1, ago(30)},
		{"over", "k", jobs.StatusPending, 1, ago(2)}, {"paused", "k", jobs.StatusPending, 1, ago(1)}, {"paused", "k", jobs.StatusRunning, 1, time.Time{}},
	}
	due := []Count{{"a", "k", statusDue, 1, ago(30)}, {"late", "k", statusDue, 1, ago(1)}}
	pauses := []db.Pause{
		{Queue: "a", Kind: "held", PausedAt: ago(60).UnixMicro()},
		{Queue: "over", PausedAt: ago(60).UnixMicro(), PausedUntil: until(now)},
		{Queue: "paused", PausedAt: ago(60).UnixMicro(), PausedUntil: until(now.Add(time.Second))},
	}
	list := waitsOf(counts, due, pauses, now)
	if want := []Wait{
		{"a", "held", ago(9), true}, {"a", "k", ago(30), false}, {"late", "k", ago(1), false}, {"over", "k", ago(2), false}, {"paused", "k", ago(1), true},
	}; !slices.Equal(list, want) {
		t.Errorf("%v", list)
	}
}
