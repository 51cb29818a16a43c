package sql_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// Programs that start together all migrate, on a file that does not exist yet or is old: each migration runs once, and
// no program sees an error.
func TestManyProcessesMigrateAtOnce(t *testing.T) {
	for _, test := range []struct {
		processes int
		from      int64
	}{{2, 0}, {10, 0}, {10, 1}} {
		t.Run(fmt.Sprintf("%d processes from version %d", test.processes, test.from), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			if test.from > 0 {
				pool := testdb.PlainSQLite(t, path)
				migrateTo(t, testdb.Goose(t, goose.DialectSQLite3, pool), test.from)
				fill(t, sqliteEngine(), pool, fillV1)
			}
			ran := migrateAtOnce(t, path, test.processes)

			pool := testdb.PlainSQLite(t, path)
			provider := testdb.Goose(t, goose.DialectSQLite3, pool)
			var want []string
			for _, source := range provider.ListSources()[test.from:] {
				want = append(want, filepath.Base(source.Path))
			}
			slices.Sort(ran)
			if !slices.Equal(ran, want) {
				t.Errorf("together they ran %v, want %v", ran, want)
			}
			version, err := provider.GetDBVersion(t.Context())
			if err != nil || version != newest(provider) {
				t.Errorf("the schema is version %d, want %d: %v", version, newest(provider), err)
			}
			if n := scan[int64](t, pool, `SELECT COUNT(*) FROM sqluice_jobs`); test.from > 0 && n != 5 {
				t.Errorf("%d of 5 rows are left", n)
			}
		})
	}
}

// migrateAtOnce starts processes, lets them migrate when all are ready, and returns the migrations that they ran.
func migrateAtOnce(t *testing.T, path string, processes int) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	type process struct {
		command *exec.Cmd
		start   io.Closer
		output  *bufio.Reader
		errors  bytes.Buffer
	}
	var all []*process
	for range processes {
		p := &process{command: exec.CommandContext(ctx, self)}
		p.command.Env = append(os.Environ(), migrator+"="+path)
		p.command.Stderr = &p.errors
		output, err := p.command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if p.start, err = p.command.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := p.command.Start(); err != nil {
			t.Fatal(err)
		}
		p.output = bufio.NewReader(output)
		all = append(all, p)
	}
	for _, p := range all {
		if line, err := p.output.ReadString('\n'); err != nil || line != "ready\n" {
			t.Errorf("a process said %q: %v", line, err)
		}
	}
	for _, p := range all {
		if err := p.start.Close(); err != nil {
			t.Error(err)
		}
	}
	var ran []string
	for i, p := range all {
		output, err := io.ReadAll(p.output)
		if err != nil {
			t.Error(err)
		}
		if err := p.command.Wait(); err != nil {
			t.Errorf("process %d: %v: %s", i, err, p.errors.String())
		}
		ran = append(ran, strings.Fields(string(output))...)
	}
	return ran
}
