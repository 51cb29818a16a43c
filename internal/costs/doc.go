// Package costs holds a test of what the queue costs, in figures that are the same on any machine and at any load:
// statements, round trips, bytes of the write-ahead log, database pages, allocations. Seconds are for `make bench`.
//
// The figures are held against testdata. Who changes what the queue costs writes the files anew with
//
//	go test ./internal/costs -update
//
// and says in the commit what has become dearer or cheaper, and why. What is the same at each run must be the same as in
// the file; the rest may be more by a share that stands in the file. Another version of Go, of modernc.org/sqlite or of
// PostgreSQL may be a reason too.
//
// Beside the test it holds the benchmarks of the engines, which do measure time.
package costs
