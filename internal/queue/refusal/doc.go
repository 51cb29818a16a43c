// Package refusal handles rows that the database refuses: for a foreign key, a unique index, a CHECK or a trigger of the
// application. One such row fails the statement that writes many.
//
//	Apart  does something with items together and, only when that is refused, with ever smaller parts of them
//	Notes  sets a refused job aside: a row in sqluice_refusals, and a line in the log, at growing intervals
//
// A part of the queue that works on many jobs leaves out the set-aside ones, until their time has come.
//
// The package decides no job's fate and knows no runner.
package refusal
