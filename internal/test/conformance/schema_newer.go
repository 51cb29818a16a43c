package conformance

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// newerSchema makes the database look as a migration of a later program leaves it, which adds a column and says from which version of
// the schema on programs run on it.
func (f *fixture) newerSchema(version, runsFrom int64) {
	f.Helper()
	f.sqls([]string{"record_newer_schema", "apply_newer_schema"},
		"NEWER", strconv.FormatInt(version, 10), "RUNS_FROM", strconv.FormatInt(runsFrom, 10))
}

// awaitSchemaLook waits until every worker has looked at the schema after the call. A heartbeat renews the lease first and looks then.
func (f *fixture) awaitSchemaLook() {
	f.Helper()
	var last time.Time
	for range 3 {
		f.eventually("the worker renews its lease", func() bool {
			workers, err := inspect.New(f.client).Workers(f.ctx)
			f.must(err)
			if len(workers) != 1 || !workers[0].Heartbeat.After(last) {
				return false
			}
			last = workers[0].Heartbeat
			return true
		})
	}
}

// testCompatibleWhileRunning: a runner goes on when the schema becomes a newer one whose migration is compatible, and stops when it
// becomes one whose migration is not.
func testCompatibleWhileRunning(f *fixture) {
	found, err := f.store.Migrations().Schema(f.ctx)
	f.must(err)
	started, release := make(chan struct{}, 2), make(chan struct{})
	running := f.run(f.runner(f.client, jobs.Config{Lease: time.Second}, on("k", func(ctx context.Context, _ jobs.Job) error {
		started <- struct{}{}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})))
	first := f.enqueue("k")
	receive(f, "the start", started)
	f.sql("add_flavour")
	f.newerSchema(found.Want+1, found.Want)
	f.awaitSchemaLook()
	close(release)
	second := f.enqueue("k")
	f.eventually("both jobs are done", func() bool {
		return f.get(first).Status == jobs.StatusDone && f.get(second).Status == jobs.StatusDone
	})
	want(f, "attempts of the first", f.get(first).Attempt, 1)

	f.newerSchema(found.Want+2, found.Want+2)
	var schema *jobs.SchemaError
	if err := receive(f, "the end of the run", running.done); !errors.As(err, &schema) {
		f.Fatalf("Run gives %v", err)
	}
	want(f, "have", schema.Have, found.Want+2)
	want(f, "runs from", schema.RunsFrom, found.Want+2)
}

// testCompatible: a program that starts on a newer schema uses it when its migrations are compatible, and has nothing to migrate. It
// undoes nothing: only the newer program knows how.
func testCompatible(f *fixture) {
	found, err := f.store.Migrations().Schema(f.ctx)
	f.must(err)
	f.sql("add_flavour")
	f.newerSchema(found.Want+1, found.Want)
	f.newerSchema(found.Want+2, found.Want)
	other := f.open(f.T)
	client := jobs.New(other)
	f.must(client.CheckSchema(f.ctx))
	names, err := client.Migrate(f.ctx)
	f.must(err)
	want(f, "migrations that ran", len(names), 0)
	_, err = client.Enqueue(f.ctx, "k", []byte("{}"))
	f.must(err)
	f.drain(jobs.Config{}, on("k", nothing))
	have, err := other.Migrations().Schema(f.ctx)
	f.must(err)
	want(f, "version", have.Have, found.Want+2)
	want(f, "runs from", have.RunsFrom, found.Want)
	if _, err := other.Migrations().MigrateDown(f.ctx); err == nil || !strings.Contains(err.Error(), "run `sqluice down` with the newer one") {
		f.Errorf("MigrateDown gives %v", err)
	}
}

// testIncompatible: a program is refused on a newer schema when one of the migrations that it does not know is not compatible with it,
// whatever the later ones say.
func testIncompatible(f *fixture) {
	found, err := f.store.Migrations().Schema(f.ctx)
	f.must(err)
	f.newerSchema(found.Want+1, found.Want+1)
	f.newerSchema(found.Want+2, found.Want)
	f.client = f.elsewhere()
	f.wantRefused("runs programs from version", found.Want+2)
	_, err = f.client.Migrate(f.ctx)
	var schema *jobs.SchemaError
	if !errors.As(err, &schema) || schema.RunsFrom != found.Want+1 {
		f.Errorf("Migrate gives %v", err)
	}
}

// testForeignVersion: a version in the range of the project that the project did not make is refused by name.
func testForeignVersion(f *fixture) {
	found, err := f.store.Migrations().Schema(f.ctx)
	f.must(err)
	f.sql("apply_newer_schema", "NEWER", strconv.FormatInt(found.Want+1, 10))
	client := f.elsewhere()
	_, migrate := client.Migrate(f.ctx)
	for what, err := range map[string]error{"CheckSchema": client.CheckSchema(f.ctx), "Migrate": migrate} {
		if err == nil || !strings.Contains(err.Error(), "needs a time stamp as its version") {
			f.Errorf("%s gives %v", what, err)
		}
	}
}
