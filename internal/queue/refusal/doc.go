// Package refusal handles rows that the database refuses: for a foreign key, a unique index, a CHECK or a trigger of the
// application. One such row fails the statement that writes many.
//
//	Split  runs an operation on all items together and, only when the database refuses that, on ever smaller parts of them
//	Notes  postpones a refused job: it writes a row in sqluice_refusals, and a line in the log at growing intervals
//
// A statement that works on many jobs leaves out the postponed ones until the time of their next try.
//
// The package changes no job's status and knows no runner.
package refusal
