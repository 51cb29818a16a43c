//go:build !race

package sql_test

// ballastRows is how many rows of a sort stand in the way of a claim.
const ballastRows = 100_000
