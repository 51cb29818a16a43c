// Package migration knows the queue's migrations by their files: their versions, and from which version of the schema on programs run
// on what they make. It compares them with what a database has. It runs no statement: the engines read the database.
//
// A version is a number. The project's own rise by one from 1. Those with fourteen digits, which goose makes of the time, are the
// database owner's: see docs/changing-sql.md.
package migration
