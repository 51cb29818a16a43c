// Package sql holds the project's SQL as files and nothing else: the migrations, which are the only DDL, and the few
// statements that sqlc cannot compile. Package db holds the code that sqlc generates from the rest.
package sql

import "embed"

// Migrations holds the goose migrations, one folder per engine: migrations/sqlite and migrations/postgres.
//
//go:embed migrations
var Migrations embed.FS

// Control holds the statements outside sqlc's grammar (pragmas, VACUUM INTO), one folder per engine.
//
//go:embed control
var Control embed.FS
