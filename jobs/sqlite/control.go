package sqlite

import "github.com/sqluice/sqluice/internal/sqlfiles"

// control is a statement of sql/control/sqlite, by the name of its file.
var control = sqlfiles.Control("sqlite")
