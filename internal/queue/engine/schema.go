package engine

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Schema describes the queue's migrations in a database, compared with the migrations that this program knows.
type Schema struct {
	Have     int64   // the newest version of the project that the database has, with all before it; 0 for none
	Applied  int64   // the newest version of the project that the database has, even if it lacks one before it
	Want     int64   // the newest version of the project that this program knows
	RunsFrom int64   // programs of this version and newer run on the database; 0 while none of its migrations says so
	Pending  []int64 // the versions that this program knows and the database lacks, in their order
	Own      []int64 // the versions in the owner's range that the database has, in their order

	// Unversioned is true when the database has the queue's table of jobs and none of the project's versions, as after a dump of the
	// schema alone was loaded.
	Unversioned bool

	// Refuses is the oldest version whose programs run on the database once the pending migrations have run. It is 0 when programs of
	// version Have still run on it then, and on a database without a schema.
	Refuses int64
}

// Check returns a SchemaError unless this program runs on the database: the database must have every migration that the program
// knows, and any unknown migration must say that the program runs on it.
func (s Schema) Check() error {
	if len(s.Pending) == 0 && (s.Have == s.Want || s.Have > s.Want && s.RunsFrom != 0 && s.RunsFrom <= s.Want) {
		return nil
	}
	return s.Fault()
}

// CheckMigrate returns a SchemaError when this program must not run migrations. It must not undo any on a database with unknown migrations,
// or on a database with the queue's tables but without their versions. It must not apply any if the unknown migrations do not permit that
// this program runs on the database.
func (s Schema) CheckMigrate(down bool) error {
	if down && s.Unversioned {
		return s.Fault()
	}
	if s.Newer() && (down || s.RunsFrom == 0 || s.RunsFrom > s.Want) {
		return s.Fault()
	}
	return nil
}

// Newer reports whether the database has migrations that this program does not know, so that it cannot migrate the database.
func (s Schema) Newer() bool { return s.Have > s.Want }

// Fault returns the SchemaError that says how the database's schema differs from the program's.
func (s Schema) Fault() error {
	return &jobtype.SchemaError{Have: s.Have, Want: s.Want, RunsFrom: s.RunsFrom, Pending: s.Pending, Unversioned: s.Unversioned}
}

// Migrated is the result of a call of Migrate.
type Migrated struct {
	Adopted *Adoption // nil unless the database had the queue's tables without their versions
	Names   []string  // the names of the migrations that ran
}

// Adoption describes the tables that Migrate found in a database without the versions of the queue.
type Adoption struct {
	Version int64    // the version that the tables equal
	Own     []string // the parts of the queue's tables that the database's owner has added, each in words
}

// CheckSchema returns a SchemaError unless this program runs on the database's schema.
func CheckSchema(ctx context.Context, store Store) error {
	schema, err := store.Migrations().Schema(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	return schema.Check()
}
