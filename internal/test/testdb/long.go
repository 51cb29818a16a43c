package testdb

import "testing"

// TakesLong skips a test in the short form.
func TakesLong(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("takes long: make test LONG=1")
	}
}
