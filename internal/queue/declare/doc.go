// Package declare keeps the declarations of programs, such as the settings of a kind or a schedule, with the live workers that make them.
//
// Each distinct content of a name is a row of sqluice_declarations, and the row of a worker names the contents of its program. Of the
// contents of one name that live workers declare, the one that was seen first after the others is in force. A worker looks whether that
// is one of its own when it starts, and whenever other workers live than at its last look. The worker that puts a content in force writes
// the rows that follow from it, in the same transaction. When no live worker declares a name, the content last in force stays.
//
// The package does not know handlers, claims, or the requests of clients.
package declare
