// Package contention is the back-off of producers that wait for one lock, as on SQLite.
package contention
