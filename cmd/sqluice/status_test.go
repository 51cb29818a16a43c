package main

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

func TestWALSize(t *testing.T) {
	if text := walSize(3 << 19); text != "1.5 MiB" {
		t.Errorf("a WAL is shown as %q", text)
	}
	if text := walSize(200 << 20); !strings.HasPrefix(text, "200.0 MiB: a long read transaction") {
		t.Errorf("a large WAL is shown as %q", text)
	}
}

// A file into which a dump of the schema alone was loaded is adopted: status and enqueue say so before, and up after. Where the tables are
// others, up names the differences and exits with 1.
func TestUpAdoptsTables(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	newest := get[versions](c, "version").Schema
	pool, err := sql.Open("sqlite", c.db)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	change := func(statement string) {
		t.Helper()
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	change(`ALTER TABLE sqluice_jobs ADD COLUMN region TEXT`)
	change(`DROP TABLE sqluice_migrations`)
	if s := get[schemaStatus](c, "status"); s.State != "unversioned" || s.Schema != 0 || len(s.Pending) != int(newest) {
		t.Errorf("status is %+v", s)
	}
	if out := c.ok("status"); !strings.Contains(out, "`sqluice up` adopts them") {
		t.Errorf("status prints %q", out)
	}
	c.fails(exitFailure, []string{"without their versions", "run `sqluice up`"}, "enqueue", "k")
	c.fails(exitFailure, []string{"without their versions"}, "down")

	change(`CREATE TABLE sqluice_news (id INTEGER)`)
	c.fails(exitFailure, []string{"the table sqluice_news is not of this version", "Nothing was changed"}, "up")
	change(`DROP TABLE sqluice_news`)

	want := fmt.Sprintf("adopted the tables, which had no versions: they are those of schema version %d\nkept the column sqluice_jobs.region, which is yours\n", newest)
	if out := c.ok("up"); out != want {
		t.Errorf("up prints %q, not %q", out, want)
	}
	if out := c.ok("up"); !strings.Contains(out, "nothing to do") {
		t.Errorf("a second up prints %q", out)
	}
	c.ok("enqueue", "k")
}
