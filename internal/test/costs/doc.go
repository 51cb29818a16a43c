// Package costs tests the costs of the queue, in figures that are the same on any machine and at any load: statements,
// round trips, bytes of the write-ahead log, database pages, allocations. `make bench` measures seconds.
//
// The figures are compared with testdata. A change of the costs needs new files, written with
//
//	go test ./internal/test/costs -update
//
// The commit then says which costs rose or fell, and why. Figures that are the same at each run must equal the file;
// the others may be higher by a share that the file has. Another version of Go, of modernc.org/sqlite or of PostgreSQL
// may be a reason too.
//
// The package also holds the benchmarks of the engines, which do measure time.
package costs
