// Package crashtest holds tests with several processes on one database: they are killed, stopped and set against each
// other. The processes are the test binary itself, started again with a role. What they do they append to a history
// file each, which outlives them and is checked at the end.
package crashtest
