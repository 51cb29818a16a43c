// Command glebarez imports github.com/glebarez/go-sqlite beside the queue, as github.com/glebarez/sqlite does for GORM. Both drivers register
// the name sqlite, so that the program panics before its main function.
package main

import (
	_ "github.com/glebarez/go-sqlite"

	"github.com/sqluice/sqluice/examples/recipes/foreign/try"
)

func main() { try.New("sqlite") }
