package main

import (
	"os"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// TestARefusedJobDoesNotStopTheOthers checks that a command changes the other jobs if the database refuses one.
func TestARefusedJobDoesNotStopTheOthers(t *testing.T) {
	c := newCLI(t)
	stuck, free := c.enqueue("stuck"), c.enqueue("free")
	trigger, err := os.ReadFile("../../admin/testdata/refuse_stuck_sqlite.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testdb.PlainSQLite(t, c.db).ExecContext(t.Context(), string(trigger)); err != nil {
		t.Fatal(err)
	}
	a := c.run("cancel", stuck, free)
	if a.code != exitFailure || !strings.Contains(a.out, "job "+free+": cancelled") || !strings.Contains(a.err, "not that one") {
		t.Errorf("cancel of a refused job and of another: exit code %d\n%s\n%s", a.code, a.out, a.err)
	}
}
