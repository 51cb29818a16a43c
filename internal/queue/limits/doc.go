// Package limits claims jobs with limit keys. A lane is a row for the waiting jobs of one kind, key and queue. A claim locks ready lanes, then
// the rows of their keys, and only then counts the running jobs of each key: a count in the same statement as the lock would miss jobs that
// another claim has started meanwhile. It deals the room of the limits to the lanes in rounds, and starts that many of the
// best jobs of each lane.
//
// A slot is a running row: nothing else is counted. Ends, rescues and releases make the lanes of their keys ready again, in package
// lifecycle. A start spends a token of the rate, by the generic cell rate algorithm (GCRA). The package knows nothing of the runner's slots.
package limits
