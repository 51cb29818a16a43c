package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

const upHelp = `up runs the migrations that the database lacks, and prints their names. Several processes may run it at the same time.

It makes a SQLite file if there is none. A PostgreSQL database must exist; up makes the schema that schema=NAME in its
URL names. The role needs the right to make tables there; the roles of workers do not.

Where the tables have no versions, as after a dump of the schema alone was loaded, up compares them with the versions of the schema. It
adopts them at the version that they equal, and runs the migrations after it. Otherwise it names what differs, and changes nothing.

Programs of the schema before go on when the migrations are compatible with them. Else up says, before it runs them, which programs
will be refused.

"goose up" on sql/migrations/sqlite or sql/migrations/postgres, with -table sqluice_migrations, does the same.`

func (a *app) upCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "up",
		Short:   "Make the queue's tables, or migrate them to this version",
		Long:    upHelp,
		GroupID: groupDatabase,
		Args:    noArgs(),
		RunE:    a.do(a.up),
	}
}

func (a *app) up(ctx context.Context, _ []string) error {
	d, err := a.database()
	if err != nil {
		return err
	}
	var store jobs.Store
	if d.Postgres() {
		store, err = openDatabase(ctx, d, nil)
	} else {
		store, err = sqlite.Open(ctx, d.Path, sqlite.WithLogger(slog.New(slog.DiscardHandler))) // up prints the migrations itself
	}
	if err != nil {
		return err
	}
	return a.migrate(ctx, store)
}

// migrate prints the names of the migrations that it ran, and closes the store.
func (a *app) migrate(ctx context.Context, store jobs.Store) error {
	client := jobs.New(store)
	found, unread := engine.StoreOf(store).Migrations().Schema(ctx) // Migrate returns the error of an unreadable schema, with a remedy
	if unread == nil && found.Refuses != 0 {
		a.print("%s", refusedAfter(found))
	}
	done, err := engine.StoreOf(store).Migrations().Migrate(ctx)
	if done.Adopted != nil {
		a.print("%s", adopted(done.Adopted))
	}
	for _, name := range done.Names {
		a.print("up %s", name)
	}
	if err != nil {
		err = fmt.Errorf("migrate: %w", err)
	} else {
		err = client.CheckSchema(ctx)
	}
	switch {
	case err != nil || done.Adopted != nil || len(done.Names) > 0:
	case found.Newer():
		a.print("nothing to do: the schema is version %d, newer than this program, which runs on it", found.Have)
	default:
		a.print("nothing to do: the schema is up to date")
	}
	return errors.Join(err, closeStore(store))
}

// refusedAfter returns the programs that the database refuses after the pending migrations, as text.
func refusedAfter(found engine.Schema) string {
	return fmt.Sprintf("programs older than schema version %d will be refused", found.Refuses)
}

// adopted returns the version at which tables without versions were adopted, and the parts that the owner has added, in words.
func adopted(a *engine.Adoption) string {
	text := fmt.Sprintf("adopted the tables, which had no versions: they are those of schema version %d", a.Version)
	for _, own := range a.Own {
		text += fmt.Sprintf("\nkept the %s, which is yours", own)
	}
	return text
}
