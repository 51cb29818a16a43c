package history

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// limited returns the events of an attempt of a job with the limit key k, which was claimed when it started.
func limited(job int64, number int, from, returned int64, ended bool) []Event {
	key := "k"
	list := []Event{{What: Start, Job: job, Attempt: number, At: from, Claimed: from, Limit: &key}}
	if returned > 0 {
		list = append(list, Event{What: Return, Job: job, Attempt: number, At: returned})
	}
	if ended {
		list = append(list, Event{What: Ok, Job: job, Attempt: number, At: returned + 1})
	}
	return list
}

// acks returns the acknowledgements of the enqueues of jobs.
func acks(jobs ...int64) (list []Event) {
	for _, job := range jobs {
		list = append(list, Event{What: Acked, Job: job, At: 1})
	}
	return list
}

func TestLimits(t *testing.T) {
	every := time.Duration(10) * time.Microsecond
	other := "other"
	for name, c := range map[string]struct {
		events []Event
		bound  Bound
		want   string // in the one fault; empty: there is none
	}{
		"one after the other":            {slices.Concat(limited(1, 1, 10, 20, true), limited(2, 1, 20, 30, true)), Bound{Running: 1}, ""},
		"two at once":                    {slices.Concat(limited(1, 1, 10, 20, true), limited(2, 1, 19, 30, true)), Bound{Running: 1}, "2 jobs of the key \"k\" ran at once, not at most 1, when attempt 1 of job 2"},
		"two of two":                     {slices.Concat(limited(1, 1, 10, 20, true), limited(2, 1, 19, 30, true)), Bound{Running: 2}, ""},
		"three of two":                   {slices.Concat(limited(1, 1, 10, 40, true), limited(2, 1, 19, 30, true), limited(3, 1, 29, 50, true)), Bound{Running: 2}, "3 jobs"},
		"in another order":               {slices.Concat(limited(2, 1, 19, 30, true), limited(1, 1, 10, 20, true)), Bound{Running: 1}, "of job 2"},
		"an attempt that was taken over": {slices.Concat(limited(1, 1, 10, 50, false), limited(2, 1, 20, 30, true)), Bound{Running: 1}, ""},
		"a killed one":                   {slices.Concat(limited(1, 1, 10, 0, false), limited(2, 1, 20, 30, true), limited(1, 2, 30, 40, true)), Bound{Running: 1}, ""},
		"a killed one starts beside one": {slices.Concat(limited(1, 1, 10, 30, true), limited(2, 1, 20, 0, false)), Bound{Running: 1}, "attempt 1 of job 2"},
		"another key":                    {slices.Concat(limited(1, 1, 10, 20, true), []Event{{What: Start, Job: 2, Attempt: 1, At: 15, Limit: &other}}), Bound{Running: 1}, ""},
		"without a key":                  {slices.Concat(limited(1, 1, 10, 20, true), []Event{{What: Start, Job: 2, Attempt: 1, At: 15}}), Bound{Running: 1}, ""},
		"at the rate":                    {slices.Concat(limited(1, 1, 10, 0, false), limited(2, 1, 20, 0, false), limited(3, 1, 30, 0, false)), Bound{Every: every}, ""},
		"too soon":                       {slices.Concat(limited(1, 1, 10, 0, false), limited(2, 1, 19, 0, false)), Bound{Every: every}, "2 jobs of the key \"k\" were started in 9µs"},
		"a burst":                        {slices.Concat(limited(1, 1, 10, 0, false), limited(2, 1, 10, 0, false), limited(3, 1, 20, 0, false)), Bound{Every: every, Burst: 2}, ""},
		"a burst and one more":           {slices.Concat(limited(1, 1, 10, 0, false), limited(2, 1, 10, 0, false), limited(3, 1, 19, 0, false)), Bound{Every: every, Burst: 2}, "3 jobs"},
		"a second burst too soon":        {slices.Concat(limited(1, 1, 10, 0, false), limited(2, 1, 10, 0, false), limited(3, 1, 25, 0, false), limited(4, 1, 26, 0, false)), Bound{Every: every, Burst: 2}, "of job 4"},
		"a second burst after a pause":   {slices.Concat(limited(1, 1, 10, 0, false), limited(2, 1, 10, 0, false), limited(3, 1, 90, 0, false), limited(4, 1, 90, 0, false)), Bound{Every: every, Burst: 2}, ""},
		"a retry pays":                   {slices.Concat(limited(1, 1, 10, 0, false), limited(1, 2, 11, 0, false)), Bound{Every: every}, "attempt 2 of job 1"},
		"a late call of an early claim":  {[]Event{{What: Start, Job: 1, Attempt: 1, At: 19, Claimed: 10, Limit: new("k")}, {What: Start, Job: 2, Attempt: 1, At: 20, Claimed: 20, Limit: new("k")}}, Bound{Every: every}, ""},
		"in order":                       {slices.Concat(acks(1, 2), limited(1, 1, 10, 0, false), limited(1, 2, 20, 25, true), limited(2, 1, 30, 40, true)), Bound{Ordered: true}, ""},
		"the later one first":            {slices.Concat(acks(1, 2), limited(2, 1, 10, 20, true), limited(1, 1, 30, 40, true)), Bound{Ordered: true}, "attempt 1 of job 1 of the key \"k\" was started after job 2"},
		"a retry after the later one":    {slices.Concat(acks(1, 2), limited(1, 1, 10, 0, false), limited(2, 1, 20, 30, true), limited(1, 2, 40, 50, true)), Bound{Ordered: true}, "attempt 2 of job 1"},
		"a late enqueue":                 {slices.Concat(limited(2, 1, 10, 20, true), []Event{{What: Acked, Job: 1, At: 15}}, limited(1, 1, 30, 40, true)), Bound{Ordered: true}, ""},
		"no bound":                       {slices.Concat(limited(1, 1, 10, 20, true), limited(2, 1, 10, 20, true)), Bound{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			faults := CheckLimits(c.events, map[string]Bound{"k": c.bound})
			if c.want == "" && len(faults) > 0 || c.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], c.want)) {
				t.Errorf("found is %q, not %q", faults, c.want)
			}
		})
	}
}

// The bound of all keys together counts the jobs of each.
func TestTotal(t *testing.T) {
	other := limited(2, 1, 19, 30, true)
	other[0].Limit = new("other")
	events := slices.Concat(limited(1, 1, 10, 20, true), other)
	if faults := CheckTotal(events, 2); len(faults) > 0 {
		t.Errorf("found is %q, not nothing", faults)
	}
	const want = "2 jobs of all keys ran at once, not at most 1, when attempt 1 of job 2"
	if faults := CheckTotal(events, 1); len(faults) != 1 || !strings.Contains(faults[0], want) {
		t.Errorf("found is %q, not %q", faults, want)
	}
}
