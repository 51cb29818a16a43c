package bench

import (
	"strings"
	"testing"
	"time"
)

func TestPerMille(t *testing.T) {
	laps := make([]time.Duration, 1000)
	for i := range laps {
		laps[i] = time.Duration(i+1) * time.Millisecond
	}
	var many, few Line
	many.setLaps(laps)
	few.setLaps(laps[:999])
	if many.P999 != 999 || few.P999 != 0 || few.P99 != 990 {
		t.Errorf("of 1000 laps: %+v, of 999: %+v", many, few)
	}
	if shown := many.times() + few.times(); strings.Count(shown, "p99.9 999.000 ms") != 1 || strings.Count(shown, "p99.9") != 1 {
		t.Errorf("shown: %q", shown)
	}
	for n, want := range map[int]float64{1: 1, 500: 500, 990: 990, 999: 999, 1000: 1000} {
		if got := perMille(laps, n); got != want {
			t.Errorf("perMille(%d) = %v, want %v", n, got, want)
		}
	}
	if got := perMille(laps[:200], 999); got != 200 {
		t.Errorf("of 200 it is %v", got)
	}
	if got := perMille(laps[:1], 500); got != 1 {
		t.Errorf("of one it is %v", got)
	}
	if got := perMille(nil, 500); got != 0 {
		t.Errorf("of none it is %v", got)
	}
}
