// Package human makes texts of several commands for people: ages and times, shortened texts, and the busiest rows of a long table with a
// summary of the others. Its functions are pure. They do not make text safe for a terminal: package printable does.
package human
