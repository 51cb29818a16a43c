// Package crashtest holds tests with several processes on one database: they are killed, stopped and run against each
// other. The processes are the test binary itself, started again with a role. Each appends its actions to a history
// file, which outlives it and is checked at the end.
package crashtest
