// Package migration knows the queue's migrations by their files: their versions, and the oldest version of the schema whose programs
// run after each. It compares them with the state of a database. RunUp and RunDown run goose; all other
// statements are the engines'.
//
// A version is a number. The project's versions rise by one from 1. Those with fourteen digits, which goose makes of the time, belong
// to the database's owner: see docs/changing-sql.md.
package migration
