// Package foreign tests what becomes of a program that imports another driver of SQLite beside the queue's, modernc.org/sqlite. The programs
// below it import one each.
package foreign
