//go:build !race

package sql_test

// ballastRows is the number of rows of each kind in the way of a claim.
const ballastRows = 100_000
