package main

import (
	"testing"
	"time"
)

func TestJobsThatDidNotStartAreNotInTheRate(t *testing.T) {
	r := newResult(comparison{}, contender{}, variant{}, 1, figures{n: 100, lost: 40, seconds: 3, isRate: true}, nil)
	if r.JobsPerSecond != 20 {
		t.Errorf("%v jobs a second", r.JobsPerSecond)
	}
}

func TestStalledIsHowLongAllWaited(t *testing.T) {
	for _, c := range []struct {
		reports []report
		want    time.Duration
	}{
		{[]report{{}}, 0},
		{[]report{{Stalled: 20 * time.Second}}, 20 * time.Second},
		{[]report{{Stalled: 22 * time.Second}, {Stalled: 21 * time.Second}}, 21 * time.Second},
		{[]report{{Stalled: 22 * time.Second}, {}}, 0},
	} {
		if got := stalled(c.reports); got != c.want {
			t.Errorf("%+v: %s", c.reports, got)
		}
	}
}

func TestASlowSystemGetsAShareOfADrain(t *testing.T) {
	drain, insert := workload{needs: []string{roleBulk, roleDrain}}, workload{needs: []string{roleInsert}}
	for _, c := range []struct {
		share, n int
		in       workload
		want     int
	}{{0, 100, drain, 100}, {1, 100, drain, 100}, {20, 100, drain, 5}, {20, 5, drain, 1}, {20, 100, insert, 100}} {
		if got := (contender{share: c.share}).jobsIn(c.in, c.n); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	drain.name = drainBy4
	slow := drain
	slow.name = handlersMiddle
	both := contender{share: 2, timed: 10}
	if by, of := both.jobsIn(drain, 100), both.jobsIn(slow, 100); by != 10 || of != 50 {
		t.Errorf("a system that waits for a timer gets %d jobs of an empty drain and %d of another", by, of)
	}
}
