//go:build mattn

// Command mattn imports github.com/mattn/go-sqlite3 beside the queue. Pools and transactions of that driver are refused. It needs cgo and is
// compiled for most of a minute: hence the tag.
package main

import (
	_ "github.com/mattn/go-sqlite3"

	"github.com/sqluice/sqluice/examples/recipes/foreign/try"
)

func main() {
	try.New("sqlite3")
	try.Tx("sqlite3")
}
