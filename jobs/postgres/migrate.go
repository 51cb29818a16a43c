package postgres

import (
	"cmp"
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
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
	"github.com/sqluice/sqluice/internal/queue/outage"
)

// migrateLock is the advisory lock of migrations: "sqluice" in ASCII.
const migrateLock = 0x73716c75696365

// migrator migrates a database.
type migrator struct {
	conns *connections

	usable atomic.Bool  // the schema was found to be right
	asked  atomic.Int64 // number of reads of its version
}

// lookAgain is the number of version reads after which a schema that was right is checked in full: a worker reads it each second.
const lookAgain = 30

// briefly reports whether reading the version is enough.
func (s *migrator) briefly() bool { return s.asked.Add(1)%lookAgain != 0 && s.usable.Load() }

// Schema implements [engine.Store]. It reads goose's table without creating it, and the server's clock with it.
func (s *migrator) Schema(ctx context.Context) (found engine.Schema, err error) {
	known, err := migration.Of("postgres")
	if err != nil {
		return found, err
	}
	if s.briefly() {
		// If the table is gone or may not be read, the longer way reports why.
		if found, err = s.read(ctx, known, "schema_versions", !s.conns.unprepared.Load()); err == nil && found.Have != 0 || ctx.Err() != nil {
			return found, err
		}
	}
	return s.wholeSchema(ctx, known)
}

// wholeSchema returns the same as Schema, and reads everything: it uses no knowledge from earlier calls.
func (s *migrator) wholeSchema(ctx context.Context, known migration.Set) (found engine.Schema, err error) {
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
		s.usable.Store(false) // until it is repaired
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
	// Another process may have committed the first migration in between.
	if l, err = s.conns.locate(ctx); err == nil && !slices.Contains(l.jobs, s.conns.names.at().schema) {
		err = fmt.Errorf("the database has a queue of an earlier build of sqluice (%s is at version %d and there is no table %s), which cannot be migrated: use another database or schema, or drop its tables",
			migration.VersionTable, found.Applied, jobsTable)
	}
	return found, err
}

// versions reads the versions of a schema that may be older than the table in which migrations list the programs that run on them.
func (s *migrator) versions(ctx context.Context, known migration.Set) (engine.Schema, error) {
	found, err := s.read(ctx, known, "schema_versions", false)
	if !isNoTable(err) {
		return found, err
	}
	if found, err = s.read(ctx, known, "schema_version", false); err != nil {
		// The migration that creates the table may have been committed between the two reads.
		if again, err := s.read(ctx, known, "schema_versions", false); !isNoTable(err) {
			return again, err
		}
	}
	return found, err
}

// checkEarlier returns an error when the queue in the schema is one of an earlier build.
func (s *migrator) checkEarlier(l location) error {
	if !slices.Contains(l.earlier, s.conns.names.at().schema) {
		return nil
	}
	return fmt.Errorf("the database has a queue of an earlier build of sqluice (its versions are in the table %s), which cannot be migrated: use another database or schema, or drop its tables",
		migration.EarlierVersionTable)
}

// read reads the versions and the server's time by a statement. Unprepared, half of its cost on the server is parsing and planning.
func (s *migrator) read(ctx context.Context, known migration.Set, statement string, prepare bool) (found engine.Schema, err error) {
	var args []any
	if !prepare {
		args = once()
	}
	var applied, recorded string
	var server int64
	sent := s.conns.clock.instant()
	err = s.conns.queryRow(ctx, statement, args, &applied, &recorded, &server)
	switch {
	case err == nil:
		s.conns.clock.sample(server, sent, s.conns.clock.instant())
		return known.Compare(applied, recorded)
	case hasCode(err, codeNoColumn):
		err = fmt.Errorf("%w: the table %s is not goose's table of the queue's version: rename it, or use another schema", err, migration.VersionTable)
	}
	return engine.Schema{Want: known.Newest()}, err
}

// checkRowSecurity returns an error when policies hide rows of the queue from this role. The queue would take hidden rows for missing
// ones: no jobs, no paused queue, no schema.
func (s *migrator) checkRowSecurity(ctx context.Context) error {
	var tables, role string
	if err := s.conns.queryRow(ctx, "row_security", once(s.conns.names.table(migration.VersionTable)), &tables, &role); err != nil {
		return err
	}
	if tables != "" {
		return fmt.Errorf("%w: row-level security applies to the role %s on %s, and may hide rows of the queue from it: disable it on these tables, or give the role BYPASSRLS",
			errPrivilege, role, tables)
	}
	return nil
}

// Migrate implements [engine.Store].
func (s *migrator) Migrate(ctx context.Context) (done engine.Migrated, err error) {
	done.Adopted, err = s.migrate(ctx, false, func(p *goose.Provider) (err error) {
		done.Names, err = migration.RunUp(ctx, p)
		return err
	})
	if err == nil {
		// A role that may not read the tables cannot move their sequences either.
		if err = (sequences{s.conns}).moveSequences(ctx); errors.Is(err, errPrivilege) {
			err = nil
		}
	}
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

// migrate holds a lock while goose runs: of several concurrent goose.Up all but one would fail. Lock and goose use
// their own connections; goose's search_path is the queue's schema.
func (s *migrator) migrate(ctx context.Context, down bool, run func(*goose.Provider) error) (adopted *engine.Adoption, err error) {
	if err := s.conns.look(ctx); err != nil {
		return nil, err
	}
	conn, err := sessions{s.conns}.connect(ctx)
	if err != nil {
		return nil, translate(err)
	}
	defer closeSoon(ctx, conn) // closing it releases the lock
	if err := stay(ctx, conn, conn.PgConn().PID()); err != nil {
		return nil, translate(err) // the connection is idle, with the lock, while goose works
	}
	if err := s.waitForMigrations(ctx, conn); err != nil {
		return nil, fmt.Errorf("wait for other migrations: %w", translate(err))
	}
	found, err := s.Schema(ctx)
	if err != nil {
		return nil, migrationFault(err)
	}
	if err := found.CheckMigrate(down); err != nil {
		return nil, err
	}
	return s.migrateLocked(ctx, found, down, run)
}

// migrateLocked adopts tables without versions, and then runs goose on a schema. The caller holds the lock of migrations.
func (s *migrator) migrateLocked(ctx context.Context, found engine.Schema, down bool, run func(*goose.Provider) error) (adopted *engine.Adoption, err error) {
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
	if !down {
		migration.Announce(s.conns.options.logger, found)
	}
	if err := s.runGoose(run); err != nil || !synchronous {
		return adopted, err
	}
	return adopted, outcomes{s.conns}.confirm(ctx, life) // also if nothing was left to do: an earlier wait may have been cancelled
}

// scratchSchema is the schema in which adopt creates tables to compare with. It is never committed.
const scratchSchema = "sqluice_scratch"

// adopt compares the queue's tables, which have no versions, with the tables that the migrations create in a scratch schema, and records
// the versions of the schema that they equal. The caller holds the lock of migrations.
func (s *migrator) adopt(ctx context.Context) (adopted *engine.Adoption, err error) {
	known, err := migration.Of("postgres")
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
		Dialect: database.DialectPostgres, Table: migration.VersionTable, TableExists: slices.Contains(l.versions, s.conns.names.at().schema), RunsFrom: control("record_version"),
	}
	if adopted, err = rows.Record(ctx, pool, known, match); err != nil {
		return nil, migrationFault(err)
	}
	s.usable.Store(false)
	migration.AnnounceAdoption(s.conns.options.logger, adopted)
	return adopted, nil
}

// match returns the version of the schema that the queue's schema equals. It rolls back everything that it creates.
func (s *migrator) match(ctx context.Context, pool *stdsql.DB, known migration.Set) (match adoption.Match, err error) {
	err = adoption.InTransaction(ctx, pool, func(tx *stdsql.Tx) error {
		have, err := partsOf(ctx, tx, s.conns.names.at().schema)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, controlOn("create_schema", scratchSchema))
		if hasCode(err, codePrivilege) {
			return fmt.Errorf("%w (%v)", errScratch, err)
		} else if err != nil {
			return err
		}
		if _, err := partsOf(ctx, tx, scratchSchema); err != nil { // the queue's tables do not exist yet: the first migration searches there
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

// partsOf reads the parts of the queue in a schema, which becomes the only one of the search_path until the transaction ends.
func partsOf(ctx context.Context, tx *stdsql.Tx, schema string) ([]adoption.Part, error) {
	if _, err := tx.ExecContext(ctx, control("search_here"), pgx.Identifier{schema}.Sanitize()); err != nil {
		return nil, err
	}
	return adoption.Read(ctx, tx, adoption.OfPostgres, control("parts"), schema)
}

// runGoose calls run with a provider on connections that it closes afterwards.
func (s *migrator) runGoose(run func(*goose.Provider) error) error {
	known, err := migration.Of("postgres")
	if err != nil {
		return err
	}
	pool := s.migrationPool()
	provider, err := known.Provider(goose.DialectPostgres, pool)
	if err == nil {
		err = migrationFault(run(provider))
	}
	s.usable.Store(false)
	return errors.Join(err, pool.Close())
}

// waitForMigrations waits for the lock that excludes other migrations. It polls for it, with no statement open in
// between: a snapshot, of the waiting session or of the holder, would block an index build by CREATE INDEX CONCURRENTLY
// for ever.
func (s *migrator) waitForMigrations(ctx context.Context, conn *pgx.Conn) error {
	try := tryMigrationLock
	if s.conns.pooled.Load() {
		try = tryBehindPooler
	}
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		taken, err := try(ctx, conn)
		if err != nil || taken {
			return err
		}
		if !outage.Sleep(ctx, pause) {
			return core.EndOf(ctx)
		}
	}
}

func tryMigrationLock(ctx context.Context, conn *pgx.Conn) (taken bool, err error) {
	err = conn.QueryRow(ctx, control("try_migration_lock"), pgx.QueryExecModeExec, int64(migrateLock)).Scan(&taken)
	return taken, err
}

// tryBehindPooler takes the lock for the length of a transaction, which stays open: a session lock would stay with the
// pooler.
func tryBehindPooler(ctx context.Context, conn *pgx.Conn) (taken bool, err error) {
	if _, err := conn.Exec(ctx, control("begin"), pgx.QueryExecModeExec); err != nil {
		return false, err
	}
	err = conn.QueryRow(ctx, control("try_lock"), pgx.QueryExecModeExec, int64(migrateLock)).Scan(&taken)
	if err != nil {
		return false, err
	}
	// Both end the portal of the previous statement, and with it the snapshot that the transaction would keep.
	next := "rollback"
	if taken {
		next = "no_timeouts" // it may be idle regardless of the role's timeouts
	}
	_, err = conn.Exec(ctx, control(next), pgx.QueryExecModeSimpleProtocol)
	return taken, err
}

// migrationPool returns the connections for goose.
func (s *migrator) migrationPool() *stdsql.DB {
	config := s.conns.session.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // it may lead through a pooler
	var opts []stdlib.OptionOpenDB
	if !s.conns.pooled.Load() { // otherwise another client would get the settings
		// The tables may be large, and a busy machine may pause between two statements; yet a migrator that was stopped must not keep
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

// prepareSchema creates the queue's schema if it is missing, and refuses one in which names of the queue are taken. The
// first migration refuses it as well, but by then goose has created its own table.
func (s *migrator) prepareSchema(ctx context.Context) error {
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
	if there { // a role without the right to create schemas can use an existing one
		return nil
	}
	_, err := s.conns.pool.Exec(ctx, controlOn("create_schema", s.conns.options.schema), pgx.QueryExecModeExec)
	return migrationFault(err)
}

// errScratch is returned to a role that may not create the schema in which adopt creates tables to compare with.
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

// NewestSchema returns the version of the schema that this library was built for: that of its last migration.
func NewestSchema() (int64, error) {
	known, err := migration.Of("postgres")
	return known.Newest(), err
}
