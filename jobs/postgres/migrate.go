package postgres

import (
	"cmp"
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/sqluice/sqluice/internal/queue/adoption"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/migration"
	"github.com/sqluice/sqluice/sql"
)

// versionTable is goose's bookkeeping for the queue, so that it lives beside an application's own migrations.
const versionTable = "sqluice_migrations"

// earlierVersionTable is the name that goose's table had in earlier builds of sqluice.
const earlierVersionTable = "sqluice_goose_version"

// direction is whether migrations are applied or undone.
type direction int

const (
	upward direction = iota
	downward
)

const jobsTable = "sqluice_jobs"

// migrateLock is the advisory lock of migrations: "sqluice" in ASCII.
const migrateLock = 0x73716c75696365

// schema migrates a database.
type schema struct {
	conns *connections

	usable atomic.Bool  // the schema was found right
	asked  atomic.Int64 // how often its version was read
}

// lookAgain is how often a schema that was found right is looked at as a whole, in reads of its version: a worker reads it each second.
const lookAgain = 30

// briefly reports whether it is enough to read the version.
func (s *schema) briefly() bool { return s.asked.Add(1)%lookAgain != 0 && s.usable.Load() }

// Schema implements [engine.Store]. It reads goose's table without making it, and the server's clock with it.
func (s *schema) Schema(ctx context.Context) (found engine.Schema, err error) {
	known, err := migrations()
	if err != nil {
		return found, err
	}
	if s.briefly() {
		// It was there. Where it is not any more, or may not be read, the longer way says why.
		if found, err = s.read(ctx, known, "schema_versions", !s.conns.unprepared.Load()); err == nil && found.Have != 0 || ctx.Err() != nil {
			return found, err
		}
	}
	return s.wholeSchema(ctx, known)
}

// wholeSchema is Schema for a database of which nothing is known yet.
func (s *schema) wholeSchema(ctx context.Context, known migration.Set) (found engine.Schema, err error) {
	found = engine.Schema{Want: known.Newest()}
	l, err := s.conns.locate(ctx)
	if err != nil {
		return found, err
	}
	unversioned := slices.Contains(l.jobs, s.conns.names.at().schema) // unless goose's table has a version
	if !slices.Contains(l.versions, s.conns.names.at().schema) {
		if err := s.checkEarlier(l); err != nil {
			return found, err
		}
		found, err = known.Compare("", "")
		found.Unversioned = unversioned
		return found, err
	}
	if err := s.checkRowSecurity(ctx); err != nil {
		s.usable.Store(false) // until it is mended
		return found, err
	}
	if found, err = s.versions(ctx, known); err != nil {
		return found, err
	}
	if found.Applied == 0 {
		found.Unversioned = unversioned
		return found, s.checkEarlier(l)
	}
	if slices.Contains(l.jobs, s.conns.names.at().schema) {
		return found, nil
	}
	// Another process may have committed the first migration meanwhile.
	if l, err = s.conns.locate(ctx); err == nil && !slices.Contains(l.jobs, s.conns.names.at().schema) {
		err = fmt.Errorf("the database has a queue of an earlier build of sqluice (%s is at version %d and there is no table %s), which cannot be migrated: use another database or schema, or drop its tables",
			versionTable, found.Applied, jobsTable)
	}
	return found, err
}

// versions reads the versions of a schema that may be older than the table in which migrations say which programs run on them.
func (s *schema) versions(ctx context.Context, known migration.Set) (engine.Schema, error) {
	found, err := s.read(ctx, known, "schema_versions", false)
	if !isNoTable(err) {
		return found, err
	}
	if found, err = s.read(ctx, known, "schema_version", false); err != nil {
		// The migration that makes the table may have been committed between the two.
		if again, err := s.read(ctx, known, "schema_versions", false); !isNoTable(err) {
			return again, err
		}
	}
	return found, err
}

// checkEarlier returns an error when the queue in the schema is one of an earlier build.
func (s *schema) checkEarlier(l location) error {
	if !slices.Contains(l.earlier, s.conns.names.at().schema) {
		return nil
	}
	return fmt.Errorf("the database has a queue of an earlier build of sqluice (its versions are in the table %s), which cannot be migrated: use another database or schema, or drop its tables",
		earlierVersionTable)
}

// read reads the versions by a statement, and the server's time with them. Not prepared, half of what it costs the server is to parse
// and plan it.
func (s *schema) read(ctx context.Context, known migration.Set, statement string, prepare bool) (found engine.Schema, err error) {
	var args []any
	if !prepare {
		args = once()
	}
	var applied, recorded string
	var server int64
	sent := s.conns.clock.instant()
	err = s.conns.queryRow(ctx, statement, args, &applied, &recorded, &server)
	var e *pgconn.PgError
	switch {
	case err == nil:
		s.conns.clock.sample(server, sent, s.conns.clock.instant())
		return known.Compare(applied, recorded)
	case errors.As(err, &e) && e.Code == codeNoColumn:
		err = fmt.Errorf("%w: the table %s is not that of goose, in which the queue's version is: rename it, or use another schema", err, versionTable)
	}
	return engine.Schema{Want: known.Newest()}, err
}

// checkRowSecurity returns an error when policies hide rows of the queue from this role. What is hidden would be taken for what is not
// there: no jobs, no paused queue, no schema.
func (s *schema) checkRowSecurity(ctx context.Context) error {
	var tables, role string
	if err := s.conns.queryRow(ctx, "row_security", once(s.conns.names.table(versionTable)), &tables, &role); err != nil {
		return err
	}
	if tables != "" {
		return fmt.Errorf("%w: row-level security applies to the role %s on %s, and may hide rows of the queue from it: disable it on these tables, or give the role BYPASSRLS",
			errPrivilege, role, tables)
	}
	return nil
}

// Migrate implements [engine.Store].
func (s *schema) Migrate(ctx context.Context) (done engine.Migrated, err error) {
	done.Adopted, err = s.migrate(ctx, upward, func(p *goose.Provider) error {
		results, err := p.Up(ctx)
		for _, r := range results {
			done.Names = append(done.Names, filepath.Base(r.Source.Path))
		}
		return err
	})
	if err == nil {
		// A role that may not read the tables may not move their sequences either.
		if err = (sequences{s.conns}).moveSequences(ctx); errors.Is(err, errPrivilege) {
			err = nil
		}
	}
	return done, err
}

// MigrateDown implements [engine.Store].
func (s *schema) MigrateDown(ctx context.Context) (string, error) {
	var name string
	_, err := s.migrate(ctx, downward, func(p *goose.Provider) error {
		result, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		if errors.Is(err, goose.ErrVersionNotFound) { // the database has a migration of its owner that this program lacks
			result, err = s.undoProject(ctx, p)
		}
		if result != nil {
			name = filepath.Base(result.Source.Path)
		}
		return err
	})
	return name, err
}

// undoProject undoes the last migration of the project.
func (s *schema) undoProject(ctx context.Context, p *goose.Provider) (*goose.MigrationResult, error) {
	found, err := s.Schema(ctx)
	if err != nil || found.Applied == 0 {
		return nil, err
	}
	return p.ApplyVersion(ctx, found.Applied, false)
}

// migrate holds a lock while goose runs: of several goose.Up at once all but one would fail. Both use connections of
// their own; the search_path of goose's is the queue's schema.
func (s *schema) migrate(ctx context.Context, to direction, run func(*goose.Provider) error) (adopted *engine.Adoption, err error) {
	if err := s.conns.look(ctx); err != nil {
		return nil, err
	}
	conn, err := sessions{s.conns}.connect(ctx)
	if err != nil {
		return nil, translate(err)
	}
	defer closeSoon(ctx, conn) // which releases the lock
	if err := stay(ctx, conn, conn.PgConn().PID()); err != nil {
		return nil, translate(err) // the connection is idle while goose works, with the lock
	}
	if err := s.waitForMigrations(ctx, conn); err != nil {
		return nil, fmt.Errorf("wait for other migrations: %w", translate(err))
	}
	found, err := s.Schema(ctx)
	if err != nil {
		return nil, migrationFault(err)
	}
	if err := found.CheckMigrate(to == downward); err != nil {
		return nil, err
	}
	return s.migrateLocked(ctx, found, to, run)
}

// migrateLocked runs goose on a schema, after it has adopted tables without versions. The caller holds the lock of migrations.
func (s *schema) migrateLocked(ctx context.Context, found engine.Schema, to direction, run func(*goose.Provider) error) (adopted *engine.Adoption, err error) {
	var synchronous bool
	var life string
	if err := s.conns.queryRow(ctx, "durability", once(), &synchronous, &life); err != nil {
		return nil, migrationFault(err)
	}
	if p := s.conns.names.at(); s.conns.pooled.Load() && p.schema != p.current {
		return nil, errors.New("a pooler gives connections no search_path: migrate by a URL of the server itself")
	}
	if found.Unversioned {
		if adopted, err = s.adopt(ctx); err != nil {
			return nil, err
		}
		if found, err = s.Schema(ctx); err != nil {
			return adopted, migrationFault(err)
		}
	} else if found.Have == 0 {
		if err := s.prepareSchema(ctx); err != nil {
			return nil, err
		}
	}
	if to == upward {
		migration.Announce(s.conns.options.logger, found)
	}
	if err := s.runGoose(run); err != nil || !synchronous {
		return adopted, err
	}
	return adopted, outcomes{s.conns}.confirm(ctx, life) // also where nothing was left to do: what was found may be what a cancelled wait left
}

// scratchSchema is where adopt makes the tables to compare with. No transaction that makes it is committed.
const scratchSchema = "sqluice_scratch"

// adopt compares the queue's tables, which have no versions, with what the migrations make in a scratch schema, and records the versions of
// the schema that they equal. The caller holds the lock of migrations.
func (s *schema) adopt(ctx context.Context) (adopted *engine.Adoption, err error) {
	known, err := migrations()
	if err != nil {
		return nil, err
	}
	l, err := s.conns.locate(ctx)
	if err != nil {
		return nil, err
	}
	pool := s.migrationPool()
	defer func() { err = errors.Join(err, pool.Close()) }()
	match, err := s.match(ctx, pool, known)
	if err != nil {
		return nil, err
	}
	rows := adoption.Rows{
		Dialect: database.DialectPostgres, Table: versionTable, TableExists: slices.Contains(l.versions, s.conns.names.at().schema), RunsFrom: control("record_version"),
	}
	if adopted, err = rows.Record(ctx, pool, known, match); err != nil {
		return nil, migrationFault(err)
	}
	s.usable.Store(false)
	migration.AnnounceAdoption(s.conns.options.logger, adopted)
	return adopted, nil
}

// match finds the version of the schema that the queue's schema equals. Whatever it makes is rolled back.
func (s *schema) match(ctx context.Context, pool *stdsql.DB, known migration.Set) (match adoption.Match, err error) {
	err = adoption.InTransaction(ctx, pool, func(tx *stdsql.Tx) error {
		have, err := partsOf(ctx, tx, s.conns.names.at().schema)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, controlOn("create_schema", scratchSchema))
		if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == codePrivilege {
			return fmt.Errorf("%w (%v)", errScratch, err)
		} else if err != nil {
			return err
		}
		if _, err := partsOf(ctx, tx, scratchSchema); err != nil { // none yet: the first migration searches there
			return err
		}
		match, err = adoption.Find(known, have, "another schema", func(up string) ([]adoption.Part, error) {
			if _, err := tx.ExecContext(ctx, up); err != nil {
				return nil, err
			}
			return partsOf(ctx, tx, scratchSchema)
		})
		return err
	}, (*stdsql.Tx).Rollback)
	return match, migrationFault(err)
}

// partsOf reads the parts of the queue in a schema, which it makes the only one of the search_path until the transaction ends.
func partsOf(ctx context.Context, tx *stdsql.Tx, schema string) ([]adoption.Part, error) {
	if _, err := tx.ExecContext(ctx, control("search_here"), pgx.Identifier{schema}.Sanitize()); err != nil {
		return nil, err
	}
	return adoption.Read(ctx, tx, adoption.OfPostgres, control("parts"), schema)
}

// runGoose has run work on connections that are closed after it.
func (s *schema) runGoose(run func(*goose.Provider) error) error {
	files, err := migrationFiles()
	if err != nil {
		return err
	}
	pool := s.migrationPool()
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, files,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true)) // the owner's versions are above all later ones of the project
	if err == nil {
		err = migrationFault(run(provider))
	}
	s.usable.Store(false)
	return errors.Join(err, pool.Close())
}

// waitForMigrations waits for the lock that keeps other migrations out. It asks for it again and again, with no statement
// open in between: a snapshot, of the one that waits as well as of the one that holds it, would keep an index from being
// built CONCURRENTLY for ever.
func (s *schema) waitForMigrations(ctx context.Context, conn *pgx.Conn) error {
	try := tryMigrationLock
	if s.conns.pooled.Load() {
		try = tryBehindPooler
	}
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		taken, err := try(ctx, conn)
		if err != nil || taken {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return core.EndOf(ctx)
		}
	}
}

func tryMigrationLock(ctx context.Context, conn *pgx.Conn) (taken bool, err error) {
	err = conn.QueryRow(ctx, control("try_migration_lock"), pgx.QueryExecModeExec, int64(migrateLock)).Scan(&taken)
	return taken, err
}

// tryBehindPooler takes the lock for the length of a transaction, which stays open then, since that of a session would
// stay with the pooler.
func tryBehindPooler(ctx context.Context, conn *pgx.Conn) (taken bool, err error) {
	if _, err := conn.Exec(ctx, control("begin"), pgx.QueryExecModeExec); err != nil {
		return false, err
	}
	err = conn.QueryRow(ctx, control("try_lock"), pgx.QueryExecModeExec, int64(migrateLock)).Scan(&taken)
	if err != nil {
		return false, err
	}
	// Either ends the portal of the statement before, and so the snapshot that the transaction would keep with it.
	next := "rollback"
	if taken {
		next = "no_timeouts" // it may be silent however long the role may be as a rule
	}
	_, err = conn.Exec(ctx, control(next), pgx.QueryExecModeSimpleProtocol)
	return taken, err
}

// migrationPool is what goose works with.
func (s *schema) migrationPool() *stdsql.DB {
	config := s.conns.session.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // it may lead through a pooler
	var opts []stdlib.OptionOpenDB
	if !s.conns.pooled.Load() { // else the settings would be another client's the next time
		// The tables may be large. A busy machine may take its time between two statements; a migrator that was stopped is not to keep
		// its locks for ever.
		path := pgx.Identifier{s.conns.names.at().schema}.Sanitize()
		idle := cmp.Or(config.RuntimeParams["idle_in_transaction_session_timeout"], "1min")
		opts = append(opts, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, control("migration"), once(path, idle)...)
			return err
		}))
	}
	if before := (sessions{s.conns}).beforeConnect(); before != nil {
		opts = append(opts, stdlib.OptionBeforeConnect(before))
	}
	return stdlib.OpenDB(*config, opts...)
}

// prepareSchema makes the queue's schema when it is not there, and refuses one in which names of the queue are taken. The
// first migration refuses it as well, but goose has made its own table by then.
func (s *schema) prepareSchema(ctx context.Context) error {
	var taken string
	if err := s.conns.query(ctx, &taken, "taken_names", s.conns.names.at().schema); err != nil {
		return err
	}
	if taken != "" {
		return fmt.Errorf("the database has these names already, of an application or of another build of sqluice: %s: use another schema, or rename them", taken)
	}
	if s.conns.options.schema == "" {
		return nil
	}
	var there bool
	if err := s.conns.query(ctx, &there, "has_schema", s.conns.options.schema); err != nil {
		return err
	}
	if there { // a role that may not make schemas can use one that was made for it
		return nil
	}
	_, err := s.conns.pool.Exec(ctx, controlOn("create_schema", s.conns.options.schema), pgx.QueryExecModeExec)
	return migrationFault(err)
}

// errScratch is returned to a role that may not make the schema in which adopt makes the tables to compare with.
var errScratch = errors.New("the role may not create the schema sqluice_scratch, in which the queue's tables are made to compare them, and which is rolled back: " +
	"GRANT CREATE ON DATABASE to this role, or migrate once as a role that has it")

// errMigrator is errPrivilege for migrations: a worker's role is the wrong one.
var errMigrator = errors.New("the role lacks a privilege: migrate as the role that owns the queue's tables, or is to own them (docs/postgres.md: Roles)")

func migrationFault(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == codePrivilege {
		return fmt.Errorf("%w (%w)", errMigrator, e)
	}
	return translate(err)
}

func migrationFiles() (fs.FS, error) { return fs.Sub(sql.Migrations, "migrations/postgres") }

func migrations() (migration.Set, error) {
	files, err := migrationFiles()
	if err != nil {
		return migration.Set{}, err
	}
	return migration.Read(files)
}

// NewestSchema is the version of the schema that this library was built for: that of its last migration.
func NewestSchema() (int64, error) {
	known, err := migrations()
	return known.Newest(), err
}
