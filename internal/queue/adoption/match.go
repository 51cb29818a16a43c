package adoption

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pressly/goose/v3/database"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/migration"
)

// Match is the version of the schema that a database equals.
type Match struct {
	Migrations []migration.Migration // the migrations whose rows Record adds, in their order
	Version    int64                 // the version of the project's last migration among Migrations
	Own        []string              // the parts that the owner of the database has added
}

// DifferentError names the differences between a database and the nearest version of the schema.
type DifferentError struct {
	Version     int64
	Differences []string
	Elsewhere   string // a place for a separate queue: another file, another schema
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("the database has the queue's tables without their versions, and no version of the schema is like them. "+
		"Version %d is the nearest, and differs in this:\n  %s\n"+
		"Nothing was changed. Put this right and migrate again; or drop the tables whose names begin with sqluice_, if they hold no jobs, and "+
		"migrate again; or use %s, or rename them if they are of an application (docs/upgrade.md: A schema without its versions)",
		e.Version, strings.Join(e.Differences, "\n  "), e.Elsewhere)
}

// Find runs the migrations of a set one after the other by apply, which returns the parts of the schema after each. It returns the newest
// version whose parts equal those of a database, and a DifferentError when there is none.
//
// The match has each of the owner's migrations whose changes of the queue's tables the database has. It ends before the first migration
// that changes none of them, or that needs tables of the application: nothing shows whether that one ran, and goose runs it.
func Find(set migration.Set, have []Part, elsewhere string, apply func(up string) ([]Part, error)) (Match, error) {
	var match Match
	var nearest *DifferentError
	var expected, matched []Part
	all := set.All()
	first := slices.IndexFunc(all, migration.Migration.IsOwn)
	if first < 0 {
		first = len(all)
	}
	for i, m := range all[:first] {
		up, err := set.Up(m)
		if err != nil {
			return Match{}, err
		}
		if expected, err = apply(up); err != nil {
			return Match{}, fmt.Errorf("make version %d to compare with: %w", m.Version, err)
		}
		c := compare(have, expected)
		switch {
		case len(c.differences) == 0:
			match, matched = Match{Migrations: all[:i+1], Version: m.Version, Own: c.own}, expected
		case nearest == nil || len(c.differences) <= len(nearest.Differences):
			nearest = &DifferentError{Version: m.Version, Differences: c.differences, Elsewhere: elsewhere}
		}
	}
	switch {
	case len(match.Migrations) > 0:
		own, err := shown(set, all[first:], evidence{index(have), index(matched), index(expected)}, apply)
		match.Migrations = slices.Concat(match.Migrations, own)
		return match, err
	case nearest == nil:
		return Match{}, errors.New("compare the database with the migrations: the list of migrations is empty")
	default:
		return Match{}, nearest
	}
}

// evidence holds the parts that tell whether the owner's migrations ran.
type evidence struct {
	have     map[key]Part // the parts of the database
	matched  map[key]Part // the parts of the project's version that the database equals
	expected map[key]Part // the parts of the project's last version, on which the owner's migrations run here
}

// shown returns the owner's migrations up to the last one whose changes the database has. It considers those before the first that does
// not change the queue's tables or cannot run here. An earlier one counts without its changes: a later one may have changed them again.
func shown(set migration.Set, own []migration.Migration, e evidence, apply func(up string) ([]Part, error)) ([]migration.Migration, error) {
	ran, before := 0, e.expected
	for i, m := range own {
		up, err := set.Up(m)
		if err != nil {
			return nil, err
		}
		parts, err := apply(up)
		if err != nil {
			break
		}
		after := index(parts)
		if maps.Equal(before, after) {
			break
		}
		if e.shows(after) {
			ran = i + 1
		}
		before = after
	}
	return own[:ran], nil
}

// shows reports whether a database has everything that migrations changed; after holds the parts that exist after them. A missing part
// shows a removal only if the database's version had it.
func (e evidence) shows(after map[key]Part) bool {
	changes := 0
	for k, part := range after {
		if e.expected[k] == part {
			continue
		}
		if changes++; e.have[k] != part {
			return false
		}
	}
	for k := range e.expected {
		if _, kept := after[k]; kept {
			continue
		}
		changes++
		_, there := e.have[k]
		if _, had := e.matched[k]; there || !had {
			return false
		}
	}
	return changes > 0
}

// Rows names the table and holds the statement for the rows that migrations leave in the database.
type Rows struct {
	Dialect     database.Dialect
	Table       string // the name of goose's table
	TableExists bool
	RunsFrom    string // the statement that adds a version and its runs_from to sqluice_schema_versions, unless the version is there
}

// Record adds, in a separate transaction, the rows that the migrations of a match would have left.
func (r Rows) Record(ctx context.Context, pool *sql.DB, set migration.Set, match Match) (*engine.Adoption, error) {
	store, err := database.NewStore(r.Dialect, r.Table)
	if err != nil {
		return nil, err
	}
	err = InTransaction(ctx, pool, func(tx *sql.Tx) error { return r.add(ctx, tx, store, set, match) }, (*sql.Tx).Commit)
	if err != nil {
		return nil, err
	}
	return &engine.Adoption{Version: match.Version, Own: match.Own}, nil
}

func (r Rows) add(ctx context.Context, tx *sql.Tx, store database.Store, set migration.Set, match Match) error {
	if !r.TableExists {
		if err := store.CreateVersionTable(ctx, tx); err != nil {
			return err
		}
	}
	if err := addVersion(ctx, tx, store, 0); err != nil { // goose adds version 0 too when it makes the table
		return err
	}
	for _, m := range match.Migrations {
		if err := addVersion(ctx, tx, store, m.Version); err != nil {
			return err
		}
		if err := r.addRunsFrom(ctx, tx, set, m); err != nil {
			return err
		}
	}
	return nil
}

// addVersion adds the row of a version to goose's table, unless the table has it: the owner's versions may be there.
func addVersion(ctx context.Context, tx *sql.Tx, store database.Store, version int64) error {
	_, err := store.GetMigration(ctx, tx, version)
	if errors.Is(err, database.ErrVersionNotFound) {
		return store.Insert(ctx, tx, database.InsertRequest{Version: version})
	}
	return err
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
