// Package db has every statement that both engines run as a Go method: the interface [Querier], and the structs that it takes and
// returns.
//
// sqlc generates the same interface and structs from the SQLite and the PostgreSQL statements. The names here are those of
// package db/sqlite; those of db/postgres convert to them, field for field, and a test holds the two equal. The statements
// validate nothing: package jobs does so before it calls them.
//
// The package is public, so that a program can run the queue's own statements. It follows the version of the schema and not
// semantic versioning: a migration may change a method, a parameter or a row in any release. Programs that need a stable
// interface use package jobs.
package db
