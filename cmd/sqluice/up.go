package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

func (a *app) upCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "up",
		Short:   "Make the database, or bring its schema to this version",
		Long:    "up runs the migrations that the database lacks, and makes the database when there is no file. It prints their\nnames. Several at once do no harm. `goose up` on sql/migrations/sqlite with -table sqluice_goose_version is the same.",
		GroupID: groupDatabase,
		Args:    takesNothing(),
		RunE:    a.do(a.up),
	}
}

func (a *app) up(ctx context.Context, _ []string) error {
	path, err := a.path()
	if err != nil {
		return err
	}
	// Held so that a process that finds the half-made file waits for the rest: see openOrCreate.
	unlock, err := lockCreation(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	client := jobs.New(store)
	names, err := client.Migrate(ctx)
	for _, name := range names {
		a.print("up %s", name)
	}
	if err == nil {
		err = client.CheckSchema(ctx)
	}
	if err == nil && len(names) == 0 {
		a.print("nothing to do: the schema is up to date")
	}
	return errors.Join(err, closeStore(store))
}
