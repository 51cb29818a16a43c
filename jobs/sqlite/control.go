package sqlite

import (
	"strings"

	"github.com/sqluice/sqluice/sql"
)

// control is a statement of sql/control/sqlite, by the name of its file.
func control(name string) string {
	text, err := sql.Control.ReadFile("control/sqlite/" + name + ".sql")
	if err != nil {
		panic(err) // the names are constants of this package and the files are compiled in
	}
	return strings.TrimSpace(string(text))
}
