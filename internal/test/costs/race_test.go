//go:build race

package costs

// raced says that the race detector runs, which allocates memory and makes SQLite twenty times slower.
const raced = true
