//go:build race

package conformance

// many is fewer under the race detector, which makes SQLite ten times slower and finds no more in the rest.
const many = 10_000
