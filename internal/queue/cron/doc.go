// Package cron parses the specifications of schedules and computes their ticks.
//
//	Parse   a specification: five fields, six with seconds, @daily and its like, @every 90s
//	Next    the first tick after a time, in a time zone
//
// Fields are minute, hour, day of month, month and day of week, as in Vixie cron: numbers, names, lists, ranges, steps; L for the last
// day of a month, 5L for its last Friday and 5#2 for its second one. When both the day of month and the day of week are restricted, a
// day that matches either of them counts. A field that begins with a star is not restricted, also with a step.
//
// Local time has gaps and repetitions. A fixed time of day, whose minute and hour have no wildcard, is due once on each of its days: at the end
// of a gap that it falls into, and at the first of two times that it occurs. Any other specification follows real time: it is due at
// each real minute whose local fields match.
//
// To find these times, the package cuts a zone into stretches of a constant offset. A local time n belongs to the first stretch that ends
// after it. There it is the instant n less the offset, or the beginning of the stretch when that is later, which is the end of a gap.
//
// The package keeps no state and knows no schedules.
package cron
