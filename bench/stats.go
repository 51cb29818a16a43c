package main

import (
	"math"
	"slices"
	"time"
)

// percentile returns the smallest lap, in milliseconds, that p per cent of all do not exceed.
func percentile(sorted []time.Duration, p float64) float64 {
	rank := int(math.Ceil(float64(len(sorted)) * p / 100))
	return float64(sorted[max(rank, 1)-1].Nanoseconds()) / 1e6
}

// median returns the middle value, or the mean of the middle two, and 0 when there is none.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	values = slices.Clone(values)
	slices.Sort(values)
	if n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[n/2]
}

// countStarts returns the number of the jobs 0 ... n-1 that never started, and the number of starts that were not the
// first of their job.
func countStarts(n int, lists ...[]jobStart) (lost, again int) {
	seen := make([]bool, n)
	lost = n
	for _, list := range lists {
		for _, b := range list {
			if b.N < 0 || b.N >= n || seen[b.N] {
				again++
				continue
			}
			seen[b.N] = true
			lost--
		}
	}
	return lost, again
}

// leastShare returns the smallest share of all, relative to a fair share.
func leastShare(lists ...[]jobStart) float64 {
	least, sum := math.MaxInt, 0
	for _, list := range lists {
		least = min(least, len(list))
		sum += len(list)
	}
	if sum == 0 {
		return 0
	}
	return float64(least) * float64(len(lists)) / float64(sum)
}

// slotsBusy returns the share of slots that handlers occupied in the steady state: from a fifth to four fifths of all
// starts. It is 0 when the jobs do not fill the slots often enough to have a steady state.
func slotsBusy(slots int, hold time.Duration, lists ...[]jobStart) float64 {
	const turns = 5
	var at []int64
	for _, list := range lists {
		for _, b := range list {
			at = append(at, b.At)
		}
	}
	if len(at) < turns*slots {
		return 0
	}
	slices.Sort(at)
	from, to := len(at)/5, len(at)*4/5
	length := at[to] - at[from]
	if length <= 0 {
		return 0
	}
	return min(1, float64(to-from)*float64(hold)/float64(length)/float64(slots))
}

// lapsOf returns the times from the sending of jobs to their first start, in the order of the jobs, without the first.
func lapsOf(sent []int64, list []jobStart, without int) []time.Duration {
	first := make([]int64, len(sent))
	for _, b := range list {
		if b.N >= 0 && b.N < len(first) && (first[b.N] == 0 || b.At < first[b.N]) {
			first[b.N] = b.At
		}
	}
	var laps []time.Duration
	for n := without; n < len(sent); n++ {
		if first[n] != 0 {
			laps = append(laps, time.Duration(first[n]-sent[n]))
		}
	}
	return laps
}
