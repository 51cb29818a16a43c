//go:build !race

package conformance

// many is the number of jobs that are enqueued at once.
const many = 100_000
