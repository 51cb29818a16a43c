package main

import (
	"github.com/spf13/pflag"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// durabilityFor returns the options of a database for the flag's value, or an error if the database has no such setting.
type durabilityFor func(address.Database) ([]sqlite.Option, error)

// durabilityFlag adds --durability.
func durabilityFlag(flags *pflag.FlagSet) durabilityFor {
	name := "normal"
	flags.Var(&choiceValue{&name, []string{"normal", "full"}}, "durability",
		"SQLite only: full also survives a power loss, at an fsync for each group of writes; in PostgreSQL synchronous_commit decides")
	return func(d address.Database) ([]sqlite.Option, error) {
		switch {
		case d.Postgres() && flags.Changed("durability"):
			return nil, usagef("--durability is for SQLite: in PostgreSQL the setting synchronous_commit decides, " +
				"which survives a power loss unless it is off")
		case name == "full":
			return []sqlite.Option{sqlite.WithDurability(sqlite.Full)}, nil
		}
		return nil, nil
	}
}
