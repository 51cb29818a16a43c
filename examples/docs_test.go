// Package examples_test checks that the documents quote the code of this folder.
package examples_test

import (
	"database/sql"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// blocks returns the fenced blocks of a language in a document.
func blocks(t *testing.T, document, language string) []string {
	t.Helper()
	var list []string
	for _, fence := range fences(t, document) {
		if fence.Language == language {
			list = append(list, fence.Text)
		}
	}
	if len(list) == 0 {
		t.Fatalf("%s holds no block of %s", document, language)
	}
	return list
}

// Every statement of the SQL contract runs, in its order, and does to a row what the contract says.
func TestContractRuns(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "jobs.db")
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client := jobs.New(store)
	if _, err := client.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	pool, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()

	values := map[string]any{
		// A minute ahead, so that what the first statements enqueue is due.
		"name": "foreign", "host": "here", "pid": 1, "now": engine.StoreOf(store).Now().Add(time.Minute).UnixMicro(), "worker_id": 1, "id": 1,
		"attempt": 1, "result": `{"width": 200}`,
	}
	parameter := regexp.MustCompile(`:([a-z_]+)`)
	for _, statement := range slices.Concat(blocks(t, "docs/sql.md", "sql"), blocks(t, "docs/unique.md", "sql"), blocks(t, "docs/unique.md", "sql")) {
		for part := range strings.SplitSeq(statement, ";\n") {
			if strings.TrimSpace(part) == "" {
				continue
			}
			args, seen := []any{}, map[string]bool{}
			for _, match := range parameter.FindAllStringSubmatch(part, -1) {
				if name := match[1]; !seen[name] {
					seen[name] = true
					args = append(args, sql.Named(name, values[name]))
				}
			}
			rows := run(t, pool, part, args)
			if strings.Contains(part, "RETURNING") && len(rows) != 1 {
				t.Fatalf("%d rows, not 1, from\n%s", len(rows), part)
			}
			if strings.Contains(part, "attempt = attempt + 1") {
				values["id"] = rows[0][0]
			}
		}
	}

	job, err := client.Get(ctx, values["id"].(int64))
	if err != nil || job.Kind != "thumbnail" || job.Status != jobs.StatusDone || string(job.Result) != values["result"] {
		t.Errorf("the contract's job is %+v, %v", job, err)
	}
	if later, err := inspect.New(client).List(ctx, inspect.Filter{Kind: "digest"}); err != nil || len(later) != 1 || later[0].Status != jobs.StatusScheduled {
		t.Errorf("the contract's later job is %+v, %v", later, err)
	}
	if workers, err := inspect.New(client).Workers(ctx); err != nil || len(workers) != 0 {
		t.Errorf("the contract leaves workers %+v, %v", workers, err)
	}
}

// run runs a statement and returns its rows.
func run(t *testing.T, pool *sql.DB, statement string, args []any) [][]any {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatalf("%v in\n%s", err, statement)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var list [][]any
	for rows.Next() {
		row := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%v in\n%s", err, statement)
	}
	return list
}

// The picture in docs/sql.md shows each table of the queue with its primary key.
func TestThePictureShowsAllTables(t *testing.T) {
	pool := testdb.PlainSQLite(t, testdb.SQLite(t).Path())
	want := map[string]string{}
	for _, row := range run(t, pool, `
		SELECT m.name, (SELECT group_concat(c.name, ', ') FROM (
		    SELECT p.name FROM pragma_table_info(m.name) AS p WHERE p.pk > 0 ORDER BY p.pk) AS c)
		FROM sqlite_schema AS m WHERE m.type = 'table' AND m.name GLOB 'sqluice_*' AND m.name <> ?`, []any{testdb.VersionTable}) {
		want[row[0].(string)] = row[1].(string)
	}
	have := map[string]string{}
	for _, match := range regexp.MustCompile(`(sqluice_\w+) \[([^\]]+)\]`).FindAllStringSubmatch(blocks(t, "docs/sql.md", "text")[0], -1) {
		have[match[1]] = match[2]
	}
	if !maps.Equal(have, want) {
		t.Errorf("the picture has the tables\n%v, not\n%v", have, want)
	}
}
