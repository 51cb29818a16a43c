package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/sqluice/sqluice/internal/queue/migration"
	"github.com/sqluice/sqluice/jobs"
)

// changesBetween is a pool that changes the schema between the read of the tables and that of the versions.
type changesBetween struct {
	statementPool
	change func()
}

func (c *changesBetween) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if change := c.change; change != nil && query != control("has_tables") {
		c.change = nil
		change()
	}
	return c.statementPool.QueryRowContext(ctx, query, args...)
}

// The versions are read correctly when another process commits or undoes a migration during the read.
func TestSchemaReadWhileItChanges(t *testing.T) {
	downTo := func(store *backend, version int64) {
		for {
			found, err := store.Migrations().Schema(t.Context())
			must(t, err)
			if found.Have <= version {
				return
			}
			_, err = store.Migrations().MigrateDown(t.Context())
			must(t, err)
		}
	}
	up := func(client *jobs.Client) {
		_, err := client.Migrate(t.Context())
		must(t, err)
	}
	known, err := migration.Of("sqlite")
	must(t, err)
	for have := range known.Newest() {
		store, client := queue(t)
		read := func(what string, change func(), want int64) {
			found, err := schemaOf(t.Context(), &changesBetween{store.pools.readDB, change})
			must(t, err)
			if found.Applied != want || slices.Contains(found.Pending, found.Have) {
				t.Errorf("%s, read while at %d: %+v, want version %d", what, have, found, want)
			}
		}
		downTo(store, have)
		read("a migration", func() { up(client) }, known.Newest())
		if have >= migration.Recorded { // before the first record, no statement needs its table
			continue
		}
		read("a migration undone", func() { downTo(store, have) }, have)
	}
}

// A store that is open while another one migrates obeys the new rules of the tables.
func TestRulesAfterAMigration(t *testing.T) {
	store, client := queue(t)
	_, err := store.Migrations().MigrateDown(t.Context())
	must(t, err)
	old, err := Open(t.Context(), store.path)
	must(t, err)
	t.Cleanup(func() { must(t, old.Close()) })
	err = jobs.New(old).SetQueueLimit(t.Context(), "q", jobs.LimitValues{Depth: 1}) // reads the schema
	if err == nil {
		t.Error("the schema before has room for the depth of a queue")
	}
	_, err = client.Migrate(t.Context())
	must(t, err)
	must(t, jobs.New(old).SetQueueLimit(t.Context(), "q", jobs.LimitValues{Depth: 1}))
}
