package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/internal/queue/adoption"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/migration"
	"github.com/sqluice/sqluice/jobs"
)

// migrator migrates a database.
type migrator struct {
	suspect suspectWAL
	files   *files
	side    sideFolder
	options options
	readDB  *sql.DB
	idle    func(func(*writes) error) (bool, error) // runs a function on the writer's connection, if that is idle
	forget  func() error                            // drops the statements that were prepared for the schema
}

// Schema implements [engine.Store]. It reads by the writer's connection if that is idle.
func (s *migrator) Schema(ctx context.Context) (found engine.Schema, err error) {
	done, err := s.idle(func(w *writes) (err error) {
		found, err = schemaOf(ctx, w.conn)
		return err
	})
	if done {
		return found, err
	}
	return schemaOf(ctx, s.readDB)
}

// schemaOf reads goose's table, without creating it, and the migrations' records. It reads again if a migration was committed
// between its statements: which of them can run depends on the tables.
func schemaOf(ctx context.Context, pool statementPool) (engine.Schema, error) {
	known, err := migration.Of("sqlite")
	if err != nil {
		return engine.Schema{}, err
	}
	has, err := tablesOf(ctx, pool)
	for err == nil {
		found, wrong := schemaIn(ctx, pool, known, has)
		if wrong == nil {
			return found, nil
		}
		before := has
		if has, err = tablesOf(ctx, pool); err == nil && has == before {
			return found, wrong
		}
	}
	return engine.Schema{}, err
}

// schemaIn reads the schema of a database with these tables.
func schemaIn(ctx context.Context, pool statementPool, known migration.Set, has tables) (found engine.Schema, err error) {
	var applied, recorded string
	if has.versions {
		statement := "schema_version"
		if has.recorded {
			statement = "schema_versions"
		}
		err := pool.QueryRowContext(ctx, control(statement)).Scan(&applied, &recorded)
		if isCode(err, lib.SQLITE_ERROR) {
			return found, fmt.Errorf("%w: the table %s is not goose's table of the queue's version: rename it, or use another file", err, migration.VersionTable)
		} else if err != nil {
			return found, translate(err)
		}
	}
	if found, err = known.Compare(applied, recorded); err != nil {
		return found, err
	}
	found.Unversioned = found.Applied == 0 && has.queue
	switch {
	case found.Applied == 0 && has.earlier:
		err = fmt.Errorf("the database has a queue of an earlier build of sqluice (its versions are in the table %s), which cannot be migrated: use another file, or drop its tables",
			migration.EarlierVersionTable)
	case found.Applied != 0 && !has.queue:
		err = fmt.Errorf("the database has a queue of an earlier build of sqluice (%s is at version %d and there is no table sqluice_jobs), which cannot be migrated: use another file, or drop its tables",
			migration.VersionTable, found.Applied)
	}
	return found, err
}

// tables holds the tables of a database.
type tables struct {
	versions bool // goose's table for the queue
	queue    bool // the table of jobs
	earlier  bool // goose's table under the name of earlier builds
	recorded bool // the table in which migrations list the programs that run on them
}

// tablesOf reads which tables a database has.
func tablesOf(ctx context.Context, pool statementPool) (has tables, err error) {
	err = pool.QueryRowContext(ctx, control("has_tables")).Scan(&has.versions, &has.queue, &has.earlier, &has.recorded)
	return has, translate(err)
}

// Columns implements [engine.Store].
func (s *migrator) Columns(ctx context.Context) ([]engine.Column, error) {
	list, err := ask[string](ctx, s.readDB, "columns")
	if err != nil {
		return nil, err
	}
	return engine.ParseColumns(list)
}

// ReadColumn implements [engine.Store].
func (s *migrator) ReadColumn(ctx context.Context, c engine.Column, after, n int64) ([]engine.ColumnValue, error) {
	var list string
	if err := s.readDB.QueryRowContext(ctx, controlOn("read_column", c), after, n).Scan(&list); err != nil {
		return nil, translate(err)
	}
	return engine.ParseColumnValues(list)
}

// WriteColumn implements [engine.Store].
func (s *migrator) WriteColumn(ctx context.Context, c engine.Column, values []engine.ColumnValue) (err error) {
	list, err := json.Marshal(values)
	if err != nil {
		return err
	}
	pool, err := openPool(s.files.main.path, s.options, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	_, err = pool.ExecContext(ctx, controlOn("write_column", c), string(list))
	return translate(err)
}

// controlOn returns a statement of sql/control with the names of a table and a column of it.
func controlOn(name string, c engine.Column) string {
	quote := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	return strings.NewReplacer("@table", quote(c.Table), "@column", quote(c.Name)).Replace(control(name))
}

// Migrate implements [engine.Store].
func (s *migrator) Migrate(ctx context.Context) (done engine.Migrated, err error) {
	done.Adopted, err = s.migrate(ctx, false, func(p *goose.Provider) (err error) {
		done.Names, err = s.up(ctx, p)
		return err
	})
	return done, err
}

// MigrateDown implements [engine.Store].
func (s *migrator) MigrateDown(ctx context.Context) (name string, err error) {
	_, err = s.migrate(ctx, true, func(p *goose.Provider) (err error) {
		name, err = migration.RunDown(ctx, p, s.Schema)
		return err
	})
	return name, err
}

// migrate drops the statements that were prepared for the old schema, before and after: another caller may have prepared some in
// the meantime.
func (s *migrator) migrate(ctx context.Context, down bool, run func(*goose.Provider) error) (*engine.Adoption, error) {
	if err := s.forget(); err != nil {
		return nil, err
	}
	adopted, err := s.migrateAlone(ctx, down, run)
	return adopted, errors.Join(err, s.forget())
}

// migrateAlone holds a lock while goose runs: of several concurrent goose.Up on one file all but one would fail.
func (s *migrator) migrateAlone(ctx context.Context, down bool, run func(*goose.Provider) error) (*engine.Adoption, error) {
	unlock, err := s.side.lock(ctx, migrateFile)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.migrateLocked(ctx, down, run)
}

// migrateLocked adopts tables without versions, and then runs goose. The caller holds the lock of migrations.
func (s *migrator) migrateLocked(ctx context.Context, down bool, run func(*goose.Provider) error) (adopted *engine.Adoption, err error) {
	if err := s.files.intact(); err != nil {
		return nil, err
	}
	found, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	if err := found.CheckMigrate(down); err != nil {
		return nil, err
	}
	if found.Unversioned {
		if adopted, err = s.adopt(ctx); err != nil {
			return nil, err
		}
		if found, err = s.Schema(ctx); err != nil {
			return adopted, err
		}
	} else if found.Have == 0 {
		if err := s.checkNames(ctx); err != nil {
			return nil, err
		}
	}
	if !down {
		if err := s.announce(found); err != nil {
			return adopted, err
		}
	}
	if found.Have > 0 && (down || len(found.Pending) > 0) { // a migration may recompute the job counts, as a recount does
		return adopted, s.side.locked(ctx, recountFile, func() error { return s.migrateFrom(ctx, found.Have, down, run) })
	}
	return adopted, s.migrateFrom(ctx, found.Have, down, run)
}

// announce logs which programs the migrations will refuse. It logs nothing when it completes an interrupted first migration: no
// program has run on that schema.
func (s *migrator) announce(found engine.Schema) error {
	unfinished, err := s.side.exists(unfinishedFile)
	if err == nil && !unfinished {
		migration.Announce(s.options.logger, found)
	}
	return err
}

// adopt compares the queue's tables, which have no versions, with the tables that the migrations create in an in-memory database,
// and records the versions of the schema that they equal. The caller holds the lock of migrations.
func (s *migrator) adopt(ctx context.Context) (adopted *engine.Adoption, err error) {
	known, err := migration.Of("sqlite")
	if err != nil {
		return nil, err
	}
	match, err := s.match(ctx, known)
	if err != nil {
		return nil, err
	}
	pool, err := openPool(s.files.main.path, s.options, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	has, err := tablesOf(ctx, pool)
	if err != nil {
		return nil, err
	}
	rows := adoption.Rows{Dialect: database.DialectSQLite3, Table: migration.VersionTable, TableExists: has.versions, RunsFrom: control("record_version")}
	if adopted, err = rows.Record(ctx, pool, known, match); err != nil {
		return nil, translate(err)
	}
	migration.AnnounceAdoption(s.options.logger, adopted)
	return adopted, nil
}

// match returns the version of the schema that the database equals.
func (s *migrator) match(ctx context.Context, known migration.Set) (match adoption.Match, err error) {
	have, err := partsOf(ctx, s.readDB)
	if err != nil {
		return match, err
	}
	scratch, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return match, err
	}
	scratch.SetMaxOpenConns(1) // each connection has a separate database
	defer func() { err = errors.Join(err, scratch.Close()) }()
	return adoption.Find(known, have, "another file", func(up string) ([]adoption.Part, error) {
		if _, err := scratch.ExecContext(ctx, up); err != nil {
			return nil, translate(err)
		}
		return partsOf(ctx, scratch)
	})
}

// partsOf reads the parts of the queue's schema.
func partsOf(ctx context.Context, pool *sql.DB) ([]adoption.Part, error) {
	parts, err := adoption.Read(ctx, pool, adoption.OfSQLite, control("parts"))
	return parts, translate(err)
}

// migrateFrom runs goose from a version of the schema on.
func (s *migrator) migrateFrom(ctx context.Context, have int64, down bool, run func(*goose.Provider) error) (err error) {
	// Not the writer's connection, which other callers may use as soon as the schema is right again.
	pool, err := openPool(s.files.main.path, s.migrating(down, have), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := useWAL(ctx, pool); err != nil {
		return err
	}
	known, err := migration.Of("sqlite")
	if err != nil {
		return err
	}
	provider, err := known.Provider(goose.DialectSQLite3, pool)
	if err != nil {
		return err
	}
	if err := translate(run(provider)); errors.Is(err, jobs.ErrFull) {
		return fmt.Errorf("%w: the folder of the database needs room for the WAL, and the folder that SQLITE_TMPDIR names, or else TMPDIR or /var/tmp, for temporary files", err)
	} else if err != nil {
		return err
	}
	return nil
}

// up runs all missing migrations and returns the names of the ones that it ran. While it creates a new schema, a file in
// the side folder marks this: a process that finds the mark after a kill may continue.
func (s *migrator) up(ctx context.Context, p *goose.Provider) ([]string, error) {
	found, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	if found.Have == 0 {
		file, err := s.side.open(unfinishedFile)
		if err != nil {
			return nil, err
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	names, err := migration.RunUp(ctx, p)
	if err != nil {
		return names, err
	}
	return names, s.forgetUnfinished()
}

// forgetUnfinished removes the file that marks a running first migration.
func (s *migrator) forgetUnfinished() error {
	file, err := s.side.openExisting(unfinishedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.side.remove(unfinishedFile, file), file.Close())
}

// migrating returns the options of the connection that migrates from a version of the schema.
func (s *migrator) migrating(down bool, have int64) options {
	o := s.options
	o.tempFiles = true             // a migration that rebuilds a large table would need twice its size in memory
	o.remaking = !down || have > 1 // undoing the first migration drops tables without rebuilding them
	return o
}

// checkNames refuses a database in which names of the queue are taken. The first migration refuses it as well, but by
// then goose has created its own table.
func (s *migrator) checkNames(ctx context.Context) error {
	taken, err := ask[string](ctx, s.readDB, "taken_names")
	if err == nil && taken != "" {
		return fmt.Errorf("the database has these names already, of an application or of another build of sqluice: %s: use another file, or rename them", taken)
	}
	return err
}

// NewestSchema returns the version of the schema that this library was built for: that of its last migration.
func NewestSchema() (int64, error) {
	known, err := migration.Of("sqlite")
	return known.Newest(), err
}
