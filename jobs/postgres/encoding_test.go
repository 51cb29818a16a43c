package postgres

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// A database that does not store texts in UTF-8 is refused by name, before anything is written to it.
func TestDatabaseEncodingIsRefused(t *testing.T) {
	t.Parallel()
	server := SharedServer.Postgres(t)
	for _, encoding := range []string{"LATIN1", "WIN1252", "EUC_JP", "SQL_ASCII"} {
		t.Run(encoding, func(t *testing.T) {
			url := server.Encoded(t, encoding)
			_, client := open(t, url)
			_, migrateErr := client.Migrate(t.Context())
			_, enqueueErr := client.Enqueue(t.Context(), "k", json.RawMessage(`{}`))
			for verb, err := range map[string]error{
				"migrate": migrateErr, "enqueue": enqueueErr, "check": client.CheckSchema(t.Context()),
			} {
				if err == nil || !strings.Contains(err.Error(), encoding) || !strings.Contains(err.Error(), "must be UTF8") {
					t.Errorf("%s gives %v", verb, err)
				}
			}
			var tables int
			must(t, dial(t, url).QueryRow(t.Context(), sqlFile(t, "count_tables")).Scan(&tables))
			want(t, "tables", tables, 0)
		})
	}
}

// foreignText has characters that LATIN1 encodes in other bytes, and characters that it lacks.
const foreignText = `{"name":"José ☃ 😀"}`

// The library's connections use UTF-8, whatever the role or the database sets.
func TestClientEncodingOfTheRoleDoesNotMatter(t *testing.T) {
	t.Parallel()
	server := SharedServer.Postgres(t)
	url := server.Database(t)
	exec(t, dial(t, url), "latin1_clients", databaseOf(t, url))
	_, client := migrated(t, url)
	r, err := client.Enqueue(t.Context(), "k", json.RawMessage(foreignText), jobs.Tags("☃"))
	must(t, err)
	job, err := client.Get(t.Context(), r.ID)
	must(t, err)
	want(t, "the payload", string(job.Payload), foreignText)
	list, err := inspect.New(client).List(t.Context(), inspect.Filter{Tag: "☃"})
	must(t, err)
	want(t, "jobs with the tag", len(list), 1)

	exec(t, dial(t, with(url, "client_encoding=UTF8")), "utf8_clients", databaseOf(t, url))
	_, other := open(t, url)
	if job, err = other.Get(t.Context(), r.ID); err != nil || string(job.Payload) != foreignText {
		t.Errorf("another connection reads %s, %v", job.Payload, err)
	}
}

// Connections and transactions of the application are refused by name when they do not use UTF-8: the library would
// store other texts than it is given.
func TestClientEncodingOfTheApplicationIsRefused(t *testing.T) {
	t.Parallel()
	server := SharedServer.Postgres(t)
	url := server.Database(t)
	_, client := migrated(t, url)
	latin := with(url, "client_encoding=LATIN1")
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "LATIN1") || !strings.Contains(err.Error(), "client_encoding=UTF8") {
			t.Errorf("%s gives %v", what, err)
		}
	}

	pool, err := pgxpool.New(t.Context(), latin)
	must(t, err)
	defer pool.Close()
	store, err := newBackend(pool)
	must(t, err)
	_, err = jobs.New(store).Enqueue(t.Context(), "k", json.RawMessage(foreignText))
	refused("a pool", err)

	tx, err := dial(t, latin).Begin(t.Context())
	must(t, err)
	_, err = client.With(Tx(tx)).Enqueue(t.Context(), "k", json.RawMessage(foreignText))
	refused("a transaction", err)

	plain, err := sql.Open("pgx", latin)
	must(t, err)
	defer func() { must(t, plain.Close()) }()
	sqlTx, err := plain.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = client.With(SQLTx(sqlTx)).Enqueue(t.Context(), "k", json.RawMessage(foreignText))
	refused("a transaction of database/sql", err)
	must(t, sqlTx.Rollback())
}
