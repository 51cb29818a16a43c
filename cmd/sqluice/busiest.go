package main

import (
	"cmp"
	"slices"
)

// maxRows is how many queues and the like a table for people shows.
const maxRows = 100

// busiest returns up to most of a list that have the most jobs, in the order of the list, and the others.
func busiest[T any](list []T, most int, jobs func(T) int64) (shown, rest []T) {
	if len(list) <= most {
		return list, nil
	}
	byJobs := make([]int, len(list))
	for i := range list {
		byJobs[i] = i
	}
	slices.SortStableFunc(byJobs, func(a, b int) int { return cmp.Compare(jobs(list[b]), jobs(list[a])) })
	among := make([]bool, len(list))
	for _, i := range byJobs[:most] {
		among[i] = true
	}
	for i, v := range list {
		if among[i] {
			shown = append(shown, v)
		} else {
			rest = append(rest, v)
		}
	}
	return shown, rest
}
