// Package sql holds the project's SQL as files and nothing else: the migrations, which are the only DDL, and the
// few statements that sqlc cannot compile. Package db holds what sqlc generates from the rest.
package sql

import "embed"

// Migrations are the goose migrations, one folder per engine: migrations/sqlite and migrations/postgres.
//
//go:embed migrations
var Migrations embed.FS

// Control are the statements outside sqlc's grammar (pragmas, VACUUM INTO), one folder per engine.
//
//go:embed control
var Control embed.FS
