package sql_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
)

// early is the first time after the time 0 that a column holds.
const early int64 = 100_000_000_000_000

// soundRows returns rows that another program may add to each table. A test finds a row again by its key column, whose value is
// unique. A column that a row leaves out has its default: so a new column of the schema is tried without a change here.
func soundRows() map[string]struct {
	key  string
	rows []map[string]any
} {
	type row = map[string]any
	return map[string]struct {
		key  string
		rows []row
	}{
		"sqluice_jobs": {"request_id", []row{
			{"kind": "k", "queue": "q"},
			{"kind": "k", "queue": "q", "status": "scheduled", "run_after": early},
			{"kind": "k", "queue": "q", "status": "running", "attempt": 1, "started_at": early},
			{"kind": "k", "queue": "q", "status": "done", "attempt": 1, "started_at": early, "finished_at": early + 1},
			{"kind": "k", "queue": "q", "status": "failed", "attempt": 1, "finished_at": early + 1, "last_error": "no"},
			{"kind": "k", "queue": "q", "status": "cancelled", "finished_at": early + 1},
			{"kind": "k", "queue": "q", "status": "scheduled", "run_after": 253_402_300_799_999_999, "unique_key": "u", "successor_at": early},
		}},
		"sqluice_workers": {"name", []row{
			{"lock_key": "1", "host": "h", "pid": 1, "version": "v", "queues": `{"q":1}`, "kinds": `["k"]`, "started_at": early, "heartbeat_at": early, "lease_until": early},
			{"lock_key": "1", "host": "h", "pid": 1, "version": "v", "queues": `{"q":1}`, "kinds": `["k"]`, "started_at": early, "heartbeat_at": early, "lease_until": early,
				"ended_at": early + 1, "end_reason": "crash"},
		}},
		"sqluice_schedules": {"name", []row{
			{"kind": "k", "spec": "@daily", "next_at": early, "start_at": early, "created_at": early, "updated_at": early},
			{"kind": "k", "spec": "@daily", "next_at": early, "start_at": early, "created_at": early, "updated_at": early, "origin": "code", "catch_up": "all:3",
				"overlap": "after", "owed_at": early, "last_at": early, "last_job_id": 1, "paused_at": early, "fault": "f"},
		}},
		"sqluice_schedule_ticks": {"schedule", []row{{"tick": early, "outcome": "enqueued", "since": early, "job_id": 1, "replaced_id": 1, "at": early}, {"tick": early, "outcome": "missed", "at": early}}},
		"sqluice_unique_keys":    {"unique_key", []row{{"kind": "k", "taken_at": early, "until": early, "job_id": 1}}},
		"sqluice_pauses":         {"kind", []row{{"queue": "q", "paused_at": early, "updated_at": early}, {"paused_at": early, "paused_until": early, "paused_by": "p", "reason": "r", "updated_at": early}}},
		"sqluice_limits": {"name", []row{
			{"scope": "kind", "limit_key": "a", "running": 2, "weight": 3, "set_at": early},
			{"scope": "queue", "limit_key": "", "starts": 10, "period": 1_000_000, "burst": 20, "set_at": early},
		}},
		"sqluice_limit_keys": {"name", []row{
			{"scope": "kind", "limit_key": "a"}, {"scope": "total", "limit_key": "", "paid_until": early, "closed_until": early},
		}},
		"sqluice_lanes": {"kind", []row{{"limit_key": "a", "queue": "q", "priority": 0}, {"limit_key": "", "queue": "q", "priority": 1, "ready_at": early}}},
		"sqluice_declarations": {"name", []row{
			{"id": strings.Repeat("0", 32), "subject": "kind", "ordinal": 1, "declared_at": early, "seen_at": early},
			{"id": strings.Repeat("f", 32), "subject": "schedule", "body": `{"spec": "@daily"}`, "ordinal": 7, "in_force": 1, "declared_at": 0, "seen_at": early},
		}},
		"sqluice_retentions":       {"kind", []row{{"queue": "q", "status": "failed", "keep": 1_000_000, "updated_at": early}, {"origin": "code", "updated_by": "p", "updated_at": early}}},
		"sqluice_job_errors":       {"message", []row{{"job_id": 1, "attempt": 1, "ended_at": early, "cause": "error"}}},
		"sqluice_moves":            {"token", []row{{"direction": "out", "peer": "elsewhere", "started_at": early}}},
		"sqluice_refusals":         {"message", []row{{"job_id": 1, "action": "claim", "times": 1, "first_at": early, "last_at": early, "again_at": early}}},
		"sqluice_job_counts":       {"queue", []row{{"kind": "k", "status": "done", "jobs": 1}}},
		"sqluice_job_changes":      {"queue", []row{{"at": early, "kind": "k", "event": "done", "times": 1, "jobs": 1}}},
		"sqluice_job_history":      {"queue", []row{{"step": 60_000_000, "start_at": 1_700_000_040_000_000, "kind": "k", "event": "done", "bucket": 0, "times": 1}}},
		"sqluice_job_audit":        {"actor", []row{{"at": early, "action": "retry", "jobs": 1}}},
		"sqluice_sensitive_fields": {"path", []row{{"kind": "k2", "marked_at": early}}},
	}
}

// columnsOf returns the tables of the migrated schema, each with its columns and whether they hold numbers. It leaves out tables that
// only migrations write.
func columnsOf(t *testing.T, e engine, pool *sql.DB) map[string]map[string]bool {
	t.Helper()
	query := `SELECT t.name, c.name, c.type = 'INTEGER' FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!' AND t.name NOT IN (?, 'sqluice_schema_versions')`
	if e.name == "postgres" {
		query = `SELECT c.table_name, c.column_name, c.data_type = 'bigint' FROM information_schema.columns AS c
			JOIN pg_tables AS t ON t.schemaname = c.table_schema AND t.tablename = c.table_name
			WHERE c.table_schema = 'public' AND c.table_name NOT IN ($1, 'sqluice_schema_versions')`
	}
	tables := map[string]map[string]bool{}
	for _, row := range rows(t, pool, query, testdb.VersionTable) {
		table := row[0].(string)
		if tables[table] == nil {
			tables[table] = map[string]bool{}
		}
		tables[table][row[1].(string)] = row[2] == int64(1) || row[2] == true
	}
	return tables
}

// plant is one extreme value that the schema accepts by plain SQL.
type plant struct {
	table, key string
	row        map[string]any
	column     string
	value      any
	update     bool // an update of a sound row
}

// with returns the plant with another column of its row set.
func (p plant) with(column string, value any) plant {
	p.row = maps.Clone(p.row)
	p.row[column] = value
	return p
}

func (p plant) String() string {
	how := "INSERT"
	if p.update {
		how = "UPDATE"
	}
	return fmt.Sprintf("%s %s.%s = %.60q of %v", how, p.table, p.column, fmt.Sprint(p.value), p.row)
}

// do runs the plain SQL of a plant.
func (p plant) do(e engine, name string, exec func(string, ...any) error) error {
	row := maps.Clone(p.row)
	if row[p.key] == nil {
		row[p.key] = name
	}
	if !p.update {
		row[p.column] = p.value
	}
	columns := slices.Sorted(maps.Keys(row))
	args := make([]any, len(columns))
	for i, c := range columns {
		args[i] = row[c]
	}
	statement := "INSERT INTO " + p.table + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ") + ")"
	if err := exec(numbered(statement, e), args...); err != nil || !p.update {
		return err
	}
	return exec(numbered("UPDATE "+p.table+" SET "+p.column+" = ? WHERE "+p.key+" = ?", e), p.value, name)
}

// gardener finds the values that a migrated database accepts.
type gardener struct {
	*testing.T
	e    engine
	pool *sql.DB
	n    int
}

// takes tries a plant and rolls it back.
func (g *gardener) takes(p plant) bool {
	g.Helper()
	tx, err := g.pool.BeginTx(g.Context(), nil)
	if err != nil {
		g.Fatal(err)
	}
	g.n++
	err = p.do(g.e, fmt.Sprint("try ", g.n), func(s string, args ...any) error {
		_, err := tx.ExecContext(g.Context(), s, args...)
		return err
	})
	if rollback := tx.Rollback(); rollback != nil {
		g.Fatal(rollback)
	}
	return err == nil
}

// plants returns every extreme value of every column that is not refused.
func (g *gardener) plants() []plant {
	g.Helper()
	var list []plant
	tables := columnsOf(g.T, g.e, g.pool)
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		sound, known := soundRows()[table]
		if !known {
			g.Fatalf("table %s is new: add a row of it to soundRows", table)
		}
		for i, row := range sound.rows {
			if !g.takes(plant{table: table, key: sound.key, row: row, column: sound.key, value: "sound"}) {
				g.Fatalf("row %v of table %s is refused", row, table)
			}
			for _, column := range slices.Sorted(maps.Keys(tables[table])) {
				for _, update := range []bool{false, true} {
					p := plant{table: table, key: sound.key, row: row, column: column, update: update}
					switch {
					case tables[table][column]:
						list = append(list, g.numbers(p)...)
					case i == 0: // the accepted texts do not depend on the rest of the row
						list = append(list, g.texts(p)...)
					}
				}
			}
			list = append(list, g.timePairs(plant{table: table, key: sound.key, row: row})...)
		}
	}
	return list
}

// timePairs returns the accepted inserts in which two columns hold the first or the last time. It reports columns of times that accept
// seconds or milliseconds.
func (g *gardener) timePairs(p plant) (list []plant) {
	g.Helper()
	var columns []string
	for column, numeric := range columnsOf(g.T, g.e, g.pool)[p.table] {
		p.column, p.value = column, latest
		past := p
		past.value = latest + 1
		if numeric && column != "id" && g.takes(p) && !g.takes(past) {
			columns = append(columns, column)
		}
	}
	slices.Sort(columns)
	for _, column := range columns {
		for _, value := range []int64{1, 1_700_000_000, 1_700_000_000_000, early - 1} {
			if p.column, p.value = column, value; g.takes(p) {
				g.Errorf("%s.%s takes %d, which is no time in microseconds", p.table, column, value)
			}
		}
	}
	edges := []int64{0, latest}
	for i, first := range columns {
		for _, second := range columns[i+1:] {
			for _, a := range edges {
				for _, b := range edges {
					pair := p.with(first, a)
					pair.column, pair.value = second, b
					if g.takes(pair) {
						list = append(list, pair)
					}
				}
			}
		}
	}
	return list
}

// numbers returns NULL and the accepted ones of some numbers, with the smallest and the largest.
func (g *gardener) numbers(p plant) (list []plant) {
	add := func(v any) bool {
		p.value = v
		taken := g.takes(p)
		if taken {
			list = append(list, p)
		}
		return taken
	}
	add(nil)
	var taken []int64
	for _, v := range []int64{math.MinInt64, -1, 0, 1, 2, 30, 1 << 31, 1 << 52, 1<<52 + 1, 1<<53 - 1, 1 << 53, math.MaxInt64} {
		if add(v) {
			taken = append(taken, v)
		}
	}
	if len(taken) == 0 {
		return list
	}
	for _, edge := range []struct{ inside, outside int64 }{
		{slices.Max(taken), math.MaxInt64}, {slices.Min(taken), math.MinInt64},
	} {
		inside, outside := edge.inside, edge.outside
		if inside == outside {
			continue
		}
		for {
			middle := inside/2 + outside/2 + (inside%2+outside%2)/2
			if middle == inside || middle == outside {
				break
			}
			p.value = middle
			if g.takes(p) {
				inside = middle
			} else {
				outside = middle
			}
		}
		if inside != edge.inside {
			add(inside)
		}
	}
	return list
}

// texts returns NULL and the accepted ones of some texts.
func (g *gardener) texts(p plant) (list []plant) {
	values := []any{nil}
	for _, text := range oddTexts() {
		values = append(values, text)
	}
	if !p.update {
		for _, n := range []int{1 << 20, 1<<20 + 1, 2 << 20} {
			values = append(values, strings.Repeat("x", n), `"`+strings.Repeat("x", n-2)+`"`)
		}
	}
	for _, v := range values {
		if p.value = v; g.takes(p) {
			list = append(list, p)
		}
	}
	return list
}

func oddTexts() []string {
	return []string{
		"", " ", "a", "a\nb", "a\rb", "a\tb", "a\x00b", "\x7f", "\u0080", "\u009f", "\u00a0", "\u2028", "\u202e", "\ufeff", "\ufffd", "\U0010ffff", "\U0001f600",
		"../../x", "/", "%", "a&b=c#d?e", "<script>", "'; DROP TABLE sqluice_jobs; --", "default", "_other",
		strings.Repeat("\u00e9", 200), strings.Repeat("\u00e9", 201), strings.Repeat("\u00e9", 1000), strings.Repeat("\u00e9", 1001),
		"-9223372036854775808", "9223372036854775807", "9223372036854775808", "pending", "running", "waiting", "done", "failed", "crash", "out", "in", "\xff", "a\xc3", "\xed\xa0\x80",
		`{}`, `{}` + "\x00", `{`, `{} {}`, `[]`, `[1]`, `[0]`, `[-1]`, `[01]`, `[1.5]`, `[9223372036854775808]`, `[1e999999]`, `[[1]]`, `["a"]`, `["a",1]`,
		`["\u0000"]`, `["\ud800"]`, `{"q":"x"}`, `{"q":9223372036854775807}`, `{"q":1e99}`, `{"q":null}`, `null`, `1`, `1e999999`, `"x"`, `"\u0000"`, `"` + "\xff" + `"`,
		deepLists(200), deepLists(999), deepLists(1000), deepLists(1001), deepLists(3000), deepLists(20000), deepObjects(1000), deepObjects(1001), deepObjects(3000),
	}
}

// deepLists returns JSON of n arrays in one another.
func deepLists(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// deepObjects returns JSON of n objects in one another.
func deepObjects(n int) string { return strings.Repeat(`{"q":`, n) + "1" + strings.Repeat("}", n) }
