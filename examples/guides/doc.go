// Package guides holds the programs that the pages of docs quote. It holds tests only: package examples compares the pages with them.
package guides
