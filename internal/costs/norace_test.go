//go:build !race

package costs

// raced is whether the race detector runs, which allocates memory of its own and makes SQLite twenty times slower.
const raced = false
