//go:build !race

package conformance

// many is how many jobs are enqueued at once.
const many = 100_000
