// Package trial changes the queue's SQL in a copy of the tree as docs/changing-sql.md and docs/architecture.md say: a parameter of the
// claim, and a column that an enqueue option sets. Its test runs the generator and the tests that must notice a forgotten place, and
// counts the files that were edited by hand.
//
// A folder of testdata holds one change. edits.txt has the lines to replace; a file named sqlite.sql or postgres.sql is a migration.
//
// The worked examples of docs/changing-sql.md are read from the page: its commands, edits, migrations and outputs, in their order. So an
// example that no longer fits the tree is corrected in the page alone. check_test.go.txt holds the conditions that must hold afterwards.
package trial
