// Package db is the queue's queries as Go, for every engine alike: the interface [Querier], one method for each named
// statement in sql/queries, and the structs it takes and returns.
//
// sqlc generates the same interface and structs from the SQLite and the PostgreSQL statements. The names here are
// those of package db/sqlite; those of db/postgres convert to them, field for field, and a test holds the two equal.
// Use this package for queries beside those that package jobs makes; what it writes is not validated.
package db
