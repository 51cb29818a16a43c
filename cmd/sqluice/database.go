package main

import "github.com/sqluice/sqluice/cmd/sqluice/internal/address"

const (
	defaultDatabase  = "jobs.db"
	databaseVariable = "SQLUICE_DB"
)

// databaseValue is a flag that names a database.
type databaseValue struct{ database *address.Database }

func (v *databaseValue) Set(text string) (err error) {
	*v.database, err = address.Parse(text)
	return err
}

func (v *databaseValue) String() string { return v.database.String() }
func (v *databaseValue) Type() string   { return "DATABASE" }

// database returns the database of the flag, of the environment or the default.
func (a *app) database() (address.Database, error) {
	if a.db != (address.Database{}) {
		return a.db, nil
	}
	text := a.getenv(databaseVariable)
	if text == "" {
		return address.Database{Path: defaultDatabase}, nil
	}
	d, err := address.Parse(text)
	if err != nil {
		return address.Database{}, usagef("%s %q must %w", databaseVariable, shown(text), err)
	}
	return d, nil
}
