package adoption

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/migration"
)

// Match is the version of the schema that a database equals.
type Match struct {
	Migrations []migration.Migration // in their order; they make the version
	Own        []string              // what the owner of the database has added
}

// Version returns the last version of the match.
func (m Match) Version() int64 { return m.Migrations[len(m.Migrations)-1].Version }

// DifferentError names what differs between a database and the nearest version of the schema.
type DifferentError struct {
	Version     int64
	Differences []string
	Elsewhere   string // where a queue of its own would go: another file, another schema
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("the database has the queue's tables without their versions, and no version of the schema is like them. "+
		"Version %d is the nearest, and differs in this:\n  %s\n"+
		"Nothing was changed. Put this right and migrate again; or drop the tables whose names begin with sqluice_, if they hold no jobs, and "+
		"migrate again; or use %s, or rename them if they are of an application (docs/upgrade.md: A schema without its versions)",
		e.Version, strings.Join(e.Differences, "\n  "), e.Elsewhere)
}

// Find runs the migrations of a set one after the other by apply, which returns the parts of the schema after each, and returns the newest
// version that equals the parts of a database. It returns a DifferentError when none does.
func Find(set migration.Set, have []Part, elsewhere string, apply func(up string) ([]Part, error)) (Match, error) {
	all := set.All()
	var match Match
	var nearest *DifferentError
	for i, m := range all {
		up, err := set.Up(m)
		if err != nil {
			return Match{}, err
		}
		parts, err := apply(up)
		if err != nil {
			return Match{}, fmt.Errorf("make version %d to compare with: %w", m.Version, err)
		}
		c := compare(have, parts)
		switch {
		case len(c.differences) == 0:
			match = Match{Migrations: all[:i+1], Own: c.own}
		case nearest == nil || len(c.differences) <= len(nearest.Differences):
			nearest = &DifferentError{Version: m.Version, Differences: c.differences, Elsewhere: elsewhere}
		}
	}
	switch {
	case len(match.Migrations) > 0:
		return match, nil
	case nearest == nil:
		return Match{}, errors.New("there are no migrations")
	default:
		return Match{}, nearest
	}
}

// Rows are what migrations leave in the database.
type Rows struct {
	Dialect     database.Dialect
	Table       string // goose's table
	TableExists bool
	RunsFrom    string // the statement that adds a version and its runs_from to sqluice_schema_versions, unless the version is there
}

// Record adds the rows that the migrations of a match would have left, in a transaction of its own.
func (r Rows) Record(ctx context.Context, pool *sql.DB, set migration.Set, match Match) (*engine.Adoption, error) {
	store, err := database.NewStore(r.Dialect, r.Table)
	if err != nil {
		return nil, err
	}
	err = InTransaction(ctx, pool, func(tx *sql.Tx) error { return r.add(ctx, tx, store, set, match) }, (*sql.Tx).Commit)
	if err != nil {
		return nil, err
	}
	return &engine.Adoption{Version: match.Version(), Own: match.Own}, nil
}

func (r Rows) add(ctx context.Context, tx *sql.Tx, store database.Store, set migration.Set, match Match) error {
	if !r.TableExists {
		if err := store.CreateVersionTable(ctx, tx); err != nil {
			return err
		}
	}
	if _, err := store.GetMigration(ctx, tx, 0); errors.Is(err, database.ErrVersionNotFound) {
		err = store.Insert(ctx, tx, database.InsertRequest{Version: 0}) // as goose does when it makes the table
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	for _, m := range match.Migrations {
		if err := store.Insert(ctx, tx, database.InsertRequest{Version: m.Version}); err != nil {
			return err
		}
		if err := r.addRunsFrom(ctx, tx, set, m); err != nil {
			return err
		}
	}
	return nil
}

// addRunsFrom adds the row of a migration that says which programs run on it.
func (r Rows) addRunsFrom(ctx context.Context, tx *sql.Tx, set migration.Set, m migration.Migration) error {
	if m.IsOwn() || m.Version < migration.Recorded {
		return nil
	}
	from, err := set.RunsFrom(m.Version)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, r.RunsFrom, m.Version, from)
	return err
}
