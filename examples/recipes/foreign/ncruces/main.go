// Command ncruces imports github.com/ncruces/go-sqlite3 beside the queue. A pool of that driver is refused. It
// has no transactions beside an open queue, whose file that driver cannot use: "locking protocol".
package main

import (
	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/sqluice/sqluice/examples/recipes/foreign/try"
)

func main() { try.New("sqlite3") }
