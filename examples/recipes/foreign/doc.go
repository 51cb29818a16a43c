// Package foreign tests programs that import another driver of SQLite beside the queue's, modernc.org/sqlite. Each program below it
// imports one such driver.
package foreign
