package human

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/jobs/inspect"
)

// MaxRows bounds the rows of a table for people.
const MaxRows = 100

// Busiest returns the elements of a list with the most jobs, at most most of them, and the rest. Both keep the order of the list.
func Busiest[T any](list []T, most int, jobs func(T) int64) (shown, rest []T) {
	if len(list) <= most {
		return list, nil
	}
	byJobs := make([]int, len(list))
	for i := range list {
		byJobs[i] = i
	}
	slices.SortStableFunc(byJobs, func(a, b int) int { return cmp.Compare(jobs(list[b]), jobs(list[a])) })
	for i, v := range list {
		if slices.Contains(byJobs[:most], i) {
			shown = append(shown, v)
		} else {
			rest = append(rest, v)
		}
	}
	return shown, rest
}

// Sum returns the sums of the queues' scheduled, pending and running jobs.
func Sum(queues []inspect.QueueInfo) (sum inspect.QueueInfo) {
	for _, q := range queues {
		sum.Scheduled += q.Scheduled
		sum.Pending += q.Pending
		sum.Running += q.Running
	}
	return sum
}

// Paused returns "; N paused" for the paused queues, or "" if there are none.
func Paused(queues []inspect.QueueInfo) string {
	n := 0
	for _, q := range queues {
		if !q.PausedAt.IsZero() {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d paused", n)
}
