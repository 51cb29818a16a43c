// Package address names the database that a command works on: a SQLite file or a PostgreSQL server's database. Parse reads the text of
// --db or SQLUICE_DB, and String returns it without its password. The package opens nothing and knows no engine; the command opens the
// database, and package bench derives the address of its own database from the user's.
package address
