package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sqluice/sqluice/internal/test/gates"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var namesTests = []engineTest{
	{"SchemaNames", testSchemaNames},
	{"TwoSchemas", testTwoSchemas},
	{"SearchPathOfNothing", testSearchPathOfNothing},
	{"StatementsNeedNoSearchPath", testStatementsNeedNoSearchPath},
}

// oddNames returns unusual valid names of schemas.
func oddNames() []string {
	return []string{
		"queue", "MixedCase", "with space", `"quoted" 'twice'`, "dollar$1", "$1", "${1}", "jobs", "select", "a.b", "@name",
		"schl\u00fcssel \u9375 \U0001f511", `back\slash`, "%", "tab\tand\nline", "-- comment", strings.Repeat("x", 63),
		strings.Repeat("\u9375", 21), "sqluice_migrations",
	}
}

// A job's whole life works in a schema of any name while no other can be found.
func testSchemaNames(t *testing.T, site *site) {
	server := site.server
	for i, name := range oddNames() {
		if testing.Short() && i%4 > 1 {
			continue // each costs two rounds of migrations
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := with(server.Database(t), "search_path=pg_catalog")
			opts := []Option{WithSchema(name)}
			if i%2 == 1 {
				address, opts = with(address, "schema="+url.QueryEscape(name)), nil
			}
			store, client := open(t, address, opts...)
			names, err := client.Migrate(t.Context())
			must(t, err)
			again, err := client.Migrate(t.Context())
			must(t, err)
			if len(names) == 0 || len(again) != 0 {
				t.Errorf("the first time %v ran, the second %v", names, again)
			}
			lifeOfJobs(t, store, client)
			must(t, store.Upkeep().Settle(t.Context()))
			for range names {
				_, err := store.Migrations().MigrateDown(t.Context())
				must(t, err)
			}
			var schema *jobs.SchemaError
			if err := client.CheckSchema(t.Context()); !errors.As(err, &schema) || schema.Have != 0 {
				t.Errorf("after all migrations were undone: %v", err)
			}
		})
	}
}

// lifeOfJobs does with a queue what applications, workers and people do.
func lifeOfJobs(t *testing.T, store *backend, client *jobs.Client) {
	t.Helper()
	ctx := t.Context()
	tx, err := store.conns.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	must(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx))
	_, err = client.With(Tx(tx)).EnqueueMany(ctx, "good", []json.RawMessage{[]byte("1"), []byte("2")}, jobs.In(time.Millisecond))
	must(t, err)
	must(t, tx.Commit(ctx))

	good := enqueue(t, client, "good", jobs.Unique("u"), jobs.RequestID("r"), jobs.Tags("t"))
	bad := enqueue(t, client, "bad", jobs.MaxAttempts(2))
	transactional := enqueue(t, client, "transactional")
	snoozed := enqueue(t, client, "snoozed")
	cancelled := enqueue(t, client, "good", jobs.In(time.Hour))
	_, err = client.Cancel(ctx, cancelled)
	must(t, err)
	_, err = client.PauseQueue(ctx, "other")
	must(t, err)

	before := enqueue(t, client, "held")
	ghost(t, store, "killed", []string{"held"}).die()

	drain(t, client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 3, "other": 1}}, handlers{
		"good": func(ctx context.Context, job jobs.Job) error {
			return errors.Join(job.SetProgress(ctx, 1), job.SetResult("r"))
		},
		"bad":  func(context.Context, jobs.Job) error { return errors.New("bad") },
		"held": nothing,
		"transactional": func(ctx context.Context, job jobs.Job) error {
			tx, err := store.conns.pool.Begin(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback(ctx) }() // after the commit it does nothing
			return errors.Join(jobs.CompleteTx(ctx, Tx(tx), job, nil), tx.Commit(ctx))
		},
		"snoozed": func(_ context.Context, job jobs.Job) error {
			if job.Attempt == 1 {
				return jobs.Snooze(0)
			}
			return nil
		},
	})
	wantDone(t, client, good, 1)
	wantDone(t, client, transactional, 1)
	wantDone(t, client, snoozed, 2)
	wantDone(t, client, before, 2)
	want(t, "status of the bad job", get(t, client, bad).Status, jobs.StatusFailed)
	want(t, "status of the cancelled job", get(t, client, cancelled).Status, jobs.StatusCancelled)

	_, err = client.ResumeQueue(ctx, "other")
	must(t, err)
	list, err := inspect.New(client).ListFailed(ctx, inspect.FailedFilter{}, jobs.Job{})
	must(t, err)
	want(t, "failed jobs", len(list), 1)
	must(t, client.Retry(ctx, bad))
	_, err = inspect.New(client).Stats(ctx)
	must(t, err)
	_, err = inspect.New(client).Workers(ctx)
	must(t, err)
	n, err := inspect.New(client).Prune(ctx, jobs.StatusDone, 0)
	must(t, err)
	want(t, "pruned jobs", n, 6)
	must(t, client.Delete(ctx, bad))
}

func TestBadSchemaNames(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("x", 64), strings.Repeat("\u9375", 21) + "x", "a\x00b", "a\xffb",
		"pg_toast", "pg_", "information_schema", "$user"} {
		if store, err := openBackend(t.Context(), "postgres:///x", WithSchema(name)); err == nil {
			t.Errorf("the option takes %q", name)
			must(t, store.Close())
		} else if !strings.Contains(err.Error(), "schema") {
			t.Errorf("the error for %q does not say that it is the schema's: %v", name, err)
		}
		if store, err := openBackend(t.Context(), "postgres:///x?schema="+url.QueryEscape(name)); err == nil {
			t.Errorf("the URL takes %q", name)
			must(t, store.Close())
		} else if !strings.Contains(err.Error(), "schema") {
			t.Errorf("the error for %q in a URL does not say that it is the schema's: %v", name, err)
		}
	}
}

// Queues in two schemas of one database have nothing in common.
func testTwoSchemas(t *testing.T, site *site) {
	address := site.server.Database(t)
	_, first := migrated(t, address, WithSchema("first"))
	_, second := migrated(t, address, WithSchema("second"))
	_, elsewhere := open(t, address, WithSchema("second"))
	notifications := listen(t, address, "sqluice_first")

	id := enqueue(t, elsewhere, "k")
	drain(t, second, jobs.Config{}, handlers{"k": nothing})
	wantDone(t, second, id, 1)
	list, err := inspect.New(first).List(t.Context(), inspect.Filter{})
	must(t, err)
	want(t, "jobs in the other schema", len(list), 0)
	if got := notifications(); len(got) > 0 {
		t.Errorf("the other queue was told %q", got)
	}

	enqueue(t, first, "k", jobs.Queue("own"))
	if got := notifications(); !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, "/own") }) {
		t.Errorf("the own queue was told %q", got)
	}
}

// The list of the queue's tables equals that of the migrations, and each name has the queue's prefix.
func TestTablesAreThoseOfTheMigrations(t *testing.T) {
	t.Parallel()
	address := SharedServer.Postgres(t).Database(t)
	migrated(t, address)
	rows, err := dial(t, address).Query(t.Context(), sqlFile(t, "list_tables"))
	must(t, err)
	have, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	slices.Sort(have)
	if !slices.Equal(have, tables()) {
		t.Errorf("the migrations make the tables %v, the list is %v", have, tables())
	}
}

// Every statement names the queue's tables in a way that needs no search_path.
func testStatementsNeedNoSearchPath(t *testing.T, site *site) {
	const schema = `Odd "$1" name`
	address := site.server.Database(t)
	migrated(t, address, WithSchema(schema))
	names := &namespace{schema: schema}
	root, err := gates.Root()
	must(t, err)
	generated, err := gates.Statements(filepath.Join(root, "db", "postgres"))
	must(t, err)
	texts := map[string]string{}
	for _, s := range generated {
		texts[s.Name] = s.SQL
	}
	files, err := filepath.Glob(filepath.Join(root, "sql", "control", "postgres", "*.sql"))
	must(t, err)
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil {
			t.Error(err)
		} else if tableReference.Match(text) {
			texts[filepath.Base(file)] = string(text)
		}
	}
	if len(texts) < 50 || texts["schema_version.sql"] == "" {
		t.Fatalf("only %d statements were found", len(texts))
	}
	for _, path := range []string{"", "pg_catalog"} {
		conn := dial(t, with(address, "search_path="+path))
		tx, err := conn.Begin(t.Context())
		must(t, err)
		for name, text := range texts {
			if _, err = tx.Prepare(t.Context(), name, names.qualify(text)); err != nil {
				t.Fatalf("%s with the search_path %q: %v\n%s", name, path, err, names.qualify(text))
			}
			unqualified := tableReference.FindString(names.qualify(text))
			if unqualified != "" {
				t.Errorf("%s has %q without its schema", name, unqualified)
			}
		}
		must(t, tx.Rollback(t.Context()))
	}
}

// Queues whose schemas have long names may share a channel: that wakes too often, never too rarely.
func TestLongSchemaNamesHaveChannels(t *testing.T) {
	for _, name := range oddNames() {
		channel := (&namespace{schema: name}).channel()
		if len(channel) > longestName || !strings.HasPrefix(channel, "sqluice_") {
			t.Errorf("the channel of %q is %q", name, channel)
		}
		if len(name) <= longestName-len("sqluice_") && channel != "sqluice_"+name {
			t.Errorf("the channel of %q is %q", name, channel)
		}
	}
	want(t, "the channel without a schema", (&namespace{}).channel(), "sqluice")
	if pgx.Identifier.Sanitize([]string{"a"}) != `"a"` {
		t.Error("names are not quoted")
	}
}

// A search_path without an existing schema is named as the cause, and not a privilege. A named schema needs no search_path.
func testSearchPathOfNothing(t *testing.T, site *site) {
	address := site.server.Database(t)
	for path, parameter := range map[string]string{
		`""`: "options=" + "-c%20search_path%3D", "nowhere": "search_path=nowhere",
		"no where": "search_path=" + url.PathEscape(`"$user", "no where"`),
	} {
		_, client := open(t, with(address, parameter))
		_, migrated := client.Migrate(t.Context())
		_, enqueued := client.Enqueue(t.Context(), "k", nil)
		for what, err := range map[string]error{"migrate": migrated, "enqueue": enqueued} {
			for _, text := range []string{path, "names no schema that exists", "schema=NAME"} {
				if err == nil || !strings.Contains(err.Error(), text) || errors.Is(err, errPrivilege) {
					t.Errorf("%s with the search_path %s lacks %q: %v", what, path, text, err)
				}
			}
		}
	}
	_, named := open(t, with(address, "search_path=nowhere", "schema=queue"))
	_, err := named.Migrate(t.Context())
	must(t, err)
	_, err = named.Enqueue(t.Context(), "k", nil)
	must(t, err)
	there := location{path: "locked", exists: true, role: "r"} // but the role may not use it
	if _, err := there.schema(""); !errors.Is(err, errPrivilege) {
		t.Errorf("a schema without USAGE: %v", err)
	}
}
