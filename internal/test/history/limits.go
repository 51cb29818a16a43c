package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Bound is the limit of a key. Zero fields bound nothing.
type Bound struct {
	Running int           // the most jobs at once
	Every   time.Duration // the time of one start of the rate
	Burst   int           // the most starts at one time; 0: one
	Ordered bool          // one by one, in the order of the ids
}

// CheckLimits returns the moments at which more jobs of a limit key ran than its bound allows, the times in which more were started, and the
// starts after those of later jobs where they run in order.
//
// An attempt certainly held its place from its start until its handler's return if its end was committed: then no other worker took the
// job meanwhile. Of an attempt without a committed end, whose process may have lost the job before, only the start counts. A start is
// judged by the time of the claim, which is the time that the rate is computed with.
func CheckLimits(events []Event, bounds map[string]Bound) (faults []string) {
	keys := heldOf(events)
	acked := map[int64]int64{}
	for _, e := range events {
		if e.What == Acked {
			acked[e.Job] = e.At
		}
	}
	for key, list := range keys {
		bound := bounds[key]
		if bound.Ordered {
			faults = append(faults, outOfOrder(key, list, acked)...)
		}
		if bound.Running > 0 {
			faults = append(faults, overlaps(fmt.Sprintf("of the key %q", key), list, bound.Running)...)
		}
		if bound.Every > 0 {
			faults = append(faults, tooSoon(key, list, bound)...)
		}
	}
	slices.Sort(faults)
	return faults
}

// CheckTotal returns the moments at which more jobs with limit keys ran than a limit of them all together allows, as CheckLimits does for a key.
func CheckTotal(events []Event, most int) (faults []string) {
	var all []*held
	for _, list := range heldOf(events) {
		all = append(all, list...)
	}
	return overlaps("of all keys", all, most)
}

// heldOf returns the attempts with limit keys, by key.
func heldOf(events []Event) map[string][]*held {
	keys := map[string][]*held{}
	all := map[attempt]*held{}
	for _, e := range events {
		if e.What != Start || e.Limit == nil {
			continue
		}
		a := attempt{e.Job, e.Attempt}
		if all[a] == nil { // a second start of one attempt is a fault that Check finds
			all[a] = &held{attempt: a, from: e.At, claimed: e.Claimed}
			keys[*e.Limit] = append(keys[*e.Limit], all[a])
		}
	}
	for _, e := range events {
		h := all[attempt{e.Job, e.Attempt}]
		switch {
		case h == nil:
		case e.What == Return:
			h.returned = e.At
		case e.What == Ok:
			h.ended = true
		}
	}
	return keys
}

// held is an attempt that held a place in the limit of its key.
type held struct {
	attempt
	from, returned, claimed int64
	ended                   bool
}

// until returns the time until which the attempt certainly held its place.
func (h *held) until() int64 {
	if !h.ended {
		return h.from
	}
	return max(h.from, h.returned)
}

// overlaps returns the starts at which more attempts ran at once than most.
func overlaps(of string, list []*held, most int) (faults []string) {
	slices.SortFunc(list, func(a, b *held) int { return cmp.Compare(a.from, b.from) })
	var running []*held
	for _, h := range list {
		running = slices.DeleteFunc(running, func(r *held) bool { return r.until() <= h.from })
		if running = append(running, h); len(running) > most {
			faults = append(faults, fmt.Sprintf("%d jobs %s ran at once, not at most %d, when attempt %d of job %d started",
				len(running), of, most, h.number, h.job))
		}
	}
	return faults
}

// tooSoon returns the starts of a key that exceed its rate in a time that ends with them.
func tooSoon(key string, list []*held, bound Bound) (faults []string) {
	slices.SortFunc(list, func(a, b *held) int { return cmp.Compare(a.claimed, b.claimed) })
	every, burst := bound.Every.Microseconds(), int64(max(1, bound.Burst))
	// With n starts from the first to the last of a time: (n - burst) * every <= last - first. So of all first starts the one counts whose
	// time, less that of the starts before it, is largest.
	first := 0
	lead := func(i int) int64 { return list[i].claimed - int64(i)*every }
	for i := range list {
		if lead(i) > lead(first) {
			first = i
		}
		if n := int64(i - first + 1); (n-burst)*every > list[i].claimed-list[first].claimed {
			faults = append(faults, fmt.Sprintf("%d jobs of the key %q were started in %s, not at most %d and one each %s: attempt %d of job %d is the last of them",
				n, key, time.Duration(list[i].claimed-list[first].claimed)*time.Microsecond, burst, bound.Every, list[i].number, list[i].job))
		}
	}
	return faults
}

// outOfOrder returns the starts of jobs of a key that were claimed after the start of a job with a later id, although the enqueue of the
// earlier one had been acknowledged before that was claimed.
func outOfOrder(key string, list []*held, acked map[int64]int64) (faults []string) {
	first := map[int64]*held{} // the first start of each job
	for _, h := range list {
		if f := first[h.job]; f == nil || h.claimed < f.claimed {
			first[h.job] = h
		}
	}
	for _, later := range first {
		for _, h := range list {
			at, known := acked[h.job]
			if h.job < later.job && known && at < later.claimed && h.claimed > later.from {
				faults = append(faults, fmt.Sprintf("attempt %d of job %d of the key %q was started after job %d, which comes later", h.number, h.job, key, later.job))
			}
		}
	}
	return faults
}
