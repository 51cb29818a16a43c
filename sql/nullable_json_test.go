package sql_test

import (
	"os/exec"
	"strings"
	"testing"
)

// In older versions of SQLite, such as 3.40, json_valid(NULL) is 0 and not NULL. Programs that insert by plain SQL bring a
// SQLite of their own, so the CHECK of a column that may be NULL accepts NULL before it calls json_valid.
func TestChecksOfJSONAcceptNullInOldSQLite(t *testing.T) {
	pool, _ := sqliteEngine().at(t, 0)
	checked := 0
	for _, row := range rows(t, pool, `SELECT s.name, c.name, s.sql FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
		WHERE s.type = 'table' AND NOT c."notnull" AND instr(s.sql, 'json_valid(' || c.name || ')') > 0`) {
		table, column, text := row[0].(string), row[1].(string), row[2].(string)
		checked++
		if want := "CHECK (" + column + " IS NULL OR json_valid(" + column + ")"; !strings.Contains(text, want) {
			t.Errorf("%s.%s has no %s", table, column, want)
		}
	}
	if checked == 0 {
		t.Error("no column was found")
	}
}

// The sqlite3 command that is installed, whatever its version, can enqueue.
func TestPlainInsertByInstalledSQLite(t *testing.T) {
	command, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("sqlite3 is not installed")
	}
	pool, _ := sqliteEngine().at(t, 0)
	path := scan[string](t, pool, `SELECT file FROM pragma_database_list WHERE name = 'main'`)
	text, err := exec.CommandContext(t.Context(), command, path,
		`INSERT INTO sqluice_jobs (kind, payload) VALUES ('report', '{}'); UPDATE sqluice_jobs SET status = 'done'; PRAGMA integrity_check`).CombinedOutput()
	if err != nil || strings.TrimSpace(string(text)) != "ok" {
		t.Errorf("%v: %s", err, text)
	}
}
