package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/internal/sqlfiles"
)

// control is a statement of sql/control/postgres, by the name of its file.
var control = sqlfiles.Control("postgres")

// controlOn is a statement that takes a name where PostgreSQL takes no parameter.
func controlOn(name, identifier string) string {
	return strings.ReplaceAll(control(name), "@name", pgx.Identifier{identifier}.Sanitize())
}
