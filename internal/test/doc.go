// Package test holds the tools and tests that belong to no single package. Programs of this module do not link them.
//
//	conformance  what both engines must do, once for both
//	model        random steps on a model of the queue and on both engines
//	chaos        kills, stops and starves processes; history checks what they recorded
//	crashtest    several processes, and the mutants that tests must catch
//	spin         the model of claim, lease, rescue and finish, searched as a whole
//	costs        statements, round trips and memory a job
//	faultvfs     a file system of SQLite that fails on purpose
//	testdb       servers, poolers and databases of tests; serveruser runs a server without root's rights
//	gates        the rules of the source: imports, names, words, sizes
//	trial        changes of the schema, made in a copy of the tree
//	fuzz         runs every fuzz target
//	browser, tsclient, languages, install, deploy, pgversions  programs of others with this one
package test
