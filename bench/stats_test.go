package main

import (
	"slices"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1)*time.Millisecond)
	}
	for _, c := range []struct {
		laps []time.Duration
		p    float64
		want float64
	}{
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 99.9, 100}, {hundred, 100, 100}, {hundred, 0, 1},
		{hundred[:1], 50, 1}, {hundred[:1], 99.9, 1}, {hundred[:2], 50, 1}, {hundred[:2], 51, 2},
		{[]time.Duration{1500 * time.Nanosecond}, 50, 0.0015},
	} {
		if got := percentile(c.laps, c.p); got != c.want {
			t.Errorf("percentile %v of %d laps is %v, not %v", c.p, len(c.laps), got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		given := slices.Clone(c.values)
		if got := median(c.values); got != c.want {
			t.Errorf("the median of %v is %v, not %v", c.values, got, c.want)
		}
		if !slices.Equal(given, c.values) {
			t.Errorf("the median of %v put them in order in place: %v", given, c.values)
		}
	}
}

func starts(numbers ...int) []jobStart {
	var list []jobStart
	for i, n := range numbers {
		list = append(list, jobStart{N: n, At: int64(i)})
	}
	return list
}

func TestCountStarts(t *testing.T) {
	for _, c := range []struct {
		n           int
		lists       [][]jobStart
		lost, again int
	}{
		{3, nil, 3, 0},
		{3, [][]jobStart{starts(0, 1, 2)}, 0, 0},
		{3, [][]jobStart{starts(0, 2), starts(2)}, 1, 1}, // as many starts as jobs, but one is missing
		{2, [][]jobStart{starts(0, 0, 0), starts(1)}, 0, 2},
		{2, [][]jobStart{starts(0, 1, 2, -1)}, 0, 2}, // jobs that were never added
	} {
		if lost, again := countStarts(c.n, c.lists...); lost != c.lost || again != c.again {
			t.Errorf("of %d jobs and the starts %v %d are lost and %d again, not %d and %d", c.n, c.lists, lost, again, c.lost, c.again)
		}
	}
}

func TestLeastShare(t *testing.T) {
	for _, c := range []struct {
		lists [][]jobStart
		want  float64
	}{
		{[][]jobStart{starts(0, 1), starts(2, 3)}, 1},
		{[][]jobStart{starts(0, 1, 2), starts(3)}, 0.5},
		{[][]jobStart{starts(0, 1, 2), nil}, 0},
		{[][]jobStart{nil, nil}, 0},
		{[][]jobStart{starts(0), starts(1), starts(2), starts(3, 4, 5, 6, 7)}, 0.5},
	} {
		if got := leastShare(c.lists...); got != c.want {
			t.Errorf("the least share of %v is %v, not %v", c.lists, got, c.want)
		}
	}
}

func TestSlotsBusy(t *testing.T) {
	const slots, hold = 10, time.Second
	// waves of as many starts as there are slots, each the time apart after the one before
	waves := func(n int, apart time.Duration) []jobStart {
		var list []jobStart
		for i := range n * slots {
			list = append(list, jobStart{N: i, At: int64(time.Duration(i/slots) * apart)})
		}
		return list
	}
	half := waves(100, 2*hold)
	for _, c := range []struct {
		what  string
		lists [][]jobStart
		want  float64
	}{
		{"full", [][]jobStart{waves(100, hold)}, 1},
		{"half full", [][]jobStart{half}, 0.5},
		{"half full, told by two processes", [][]jobStart{half[:300], half[300:]}, 0.5},
		{"too few", [][]jobStart{waves(4, hold)}, 0},
		{"all at once", [][]jobStart{waves(100, 0)}, 0},
	} {
		if got := slotsBusy(slots, hold, c.lists...); got != c.want {
			t.Errorf("%s: %v are busy, not %v", c.what, got, c.want)
		}
	}
}

func TestLapsOf(t *testing.T) {
	sent := []int64{100, 200, 300, 400, 500}
	list := []jobStart{{N: 4, At: 590}, {N: 2, At: 320}, {N: 2, At: 310}, {N: 0, At: 101}, {N: 1, At: 250}, {N: 9, At: 1}, {N: -1, At: 1}}
	got := lapsOf(sent, list, 1)
	// without the first, the one that never started, and the second start of one
	if want := []time.Duration{50, 10, 90}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
