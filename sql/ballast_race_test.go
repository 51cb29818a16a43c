//go:build race

package sql_test

// ballastRows is smaller under the race detector, which makes SQLite twenty times slower; a scan would still show.
const ballastRows = 10_000
