package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/sql"
)

// control is a statement of sql/control/postgres, by the name of its file.
func control(name string) string {
	text, err := sql.Control.ReadFile("control/postgres/" + name + ".sql")
	if err != nil {
		panic(err) // the names are constants of this package and the files are compiled in
	}
	return strings.TrimSpace(string(text))
}

// controlOn is a statement that takes a name where PostgreSQL takes no parameter.
func controlOn(name, identifier string) string {
	return strings.ReplaceAll(control(name), "@name", pgx.Identifier{identifier}.Sanitize())
}
