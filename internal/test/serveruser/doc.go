// Package serveruser says how tests and benchmarks start database servers that refuse to run as root. It is for programs
// that start PostgreSQL, PgBouncer or Redis from local binaries.
package serveruser
