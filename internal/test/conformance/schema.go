package conformance

import (
	"context"
	"errors"
	"strings"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var schemaTests = []test{
	{"Older", testOlderSchema},
	{"None", testNoSchema},
	{"MigrateTwice", testMigrateTwice},
	{"Adopted", testAdopted},
	{"JobsSurvive", testJobsSurviveMigration},
	{"ChangedWhileRunning", testSchemaChangedWhileRunning},
	{"CompatibleWhileRunning", testCompatibleWhileRunning},
	{"Compatible", testCompatible},
	{"Incompatible", testIncompatible},
	{"ForeignVersion", testForeignVersion},
}

// testSchemaChangedWhileRunning: a runner that finds another schema releases its jobs, at no cost.
func testSchemaChangedWhileRunning(f *fixture) {
	id := f.enqueue("k")
	started := make(chan struct{})
	runner := f.runner(f.client, jobs.Config{Grace: -1}, on("k", func(ctx context.Context, _ jobs.Job) error {
		close(started) // a second start would panic
		<-ctx.Done()
		return ctx.Err()
	}))
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(f.ctx) }()
	receive(f, "the start", started)
	other := f.elsewhere()
	_, err := engine.StoreOf(other.Store()).Migrations().MigrateDown(f.ctx)
	f.must(err)
	err = receive(f, "the end of the run", ended)
	var schema *jobs.SchemaError
	if !errors.As(err, &schema) {
		f.Errorf("Run gives %v", err)
	}
	_, err = other.Migrate(f.ctx)
	f.must(err)
	job, err := other.Get(f.ctx, id)
	f.must(err)
	want(f, "status", job.Status, jobs.StatusPending)
	want(f, "attempts that do not count", job.Uncounted, 1)
	list, err := inspect.New(other).Errors(f.ctx, id)
	f.must(err)
	want(f, "errors", len(list), 0)
}

func testMigrateTwice(f *fixture) {
	names, err := f.client.Migrate(f.ctx)
	f.must(err)
	want(f, "migrations that ran on a migrated database", len(names), 0)
	f.must(f.client.CheckSchema(f.ctx))
}

// testAdopted: tables without versions are refused until Migrate adopts them. Jobs stay as they are.
func testAdopted(f *fixture) {
	id := f.enqueue("k", jobs.Priority(3))
	found, err := f.store.Migrations().Schema(f.ctx)
	f.must(err)
	f.sql("forget_versions")
	f.client = f.elsewhere()
	f.wantRefused("adopts the tables", 0)
	_, err = engine.StoreOf(f.client.Store()).Migrations().MigrateDown(f.ctx)
	var schema *jobs.SchemaError
	want(f, "MigrateDown is refused", errors.As(err, &schema) && schema.Unversioned, true)
	done, err := engine.StoreOf(f.client.Store()).Migrations().Migrate(f.ctx)
	f.must(err)
	want(f, "the adopted version", done.Adopted.Version, found.Want)
	want(f, "the owner's parts", len(done.Adopted.Own), 0)
	want(f, "migrations that ran", len(done.Names), 0)
	want(f, "priority", f.get(id).Priority, 3)
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
}

func testOlderSchema(f *fixture) {
	found, err := f.store.Migrations().Schema(f.ctx)
	f.must(err)
	want(f, "version", found.Have, found.Want)
	_, err = f.store.Migrations().MigrateDown(f.ctx)
	f.must(err)
	f.wantRefused("older", found.Want-1)
	names, err := f.client.Migrate(f.ctx)
	f.must(err)
	want(f, "migrations that ran", len(names), 1)
	f.enqueue("k")
}

func testNoSchema(f *fixture) {
	for {
		name, err := f.store.Migrations().MigrateDown(f.ctx)
		f.must(err)
		if name == "" {
			break
		}
	}
	f.wantRefused("no sqluice schema", 0)
	_, err := f.client.Migrate(f.ctx)
	f.must(err)
	f.enqueue("k")
}

// wantRefused tries reads, writes and a runner on a schema that is not the library's.
func (f *fixture) wantRefused(text string, have int64) {
	f.Helper()
	_, enqueueErr := f.client.Enqueue(f.ctx, "k", []byte("{}"))
	_, listErr := inspect.New(f.client).List(f.ctx, inspect.Filter{})
	for verb, err := range map[string]error{
		"enqueue": enqueueErr, "list": listErr, "check": f.client.CheckSchema(f.ctx),
		"run": f.runner(f.client, jobs.Config{}, on("k", nothing)).Run(f.ctx),
	} {
		var schema *jobs.SchemaError
		if !errors.As(err, &schema) || schema.Have != have || !strings.Contains(err.Error(), text) {
			f.Errorf("%s gives: %v", verb, err)
		}
	}
}

func testJobsSurviveMigration(f *fixture) {
	id := f.enqueue("k", jobs.Priority(3))
	_, err := f.store.Migrations().MigrateDown(f.ctx)
	f.must(err)
	_, err = f.client.Migrate(f.ctx)
	f.must(err)
	want(f, "priority", f.get(id).Priority, 3)
	f.drain(jobs.Config{}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
}
