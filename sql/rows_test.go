package sql_test

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The columns of the first two versions, in an order of the tests' own.
const (
	columnsV1 = "id, kind, payload, status, attempt, created_at, updated_at, started_at, finished_at"
	columnsV2 = columnsV1 + ", priority, run_after"
)

// A job of every status that version 1 knows, with odd text, times at both ends and ids with gaps.
const fillV1 = `
INSERT INTO sqluice_jobs (` + columnsV1 + `) VALUES
    (1, 'report', '{}', 'pending', 0, 1700000000000001, 1700000000000001, NULL, NULL),
    (2, 'report', '{"a": [1, 2.50, "x''y"],  "a": null}', 'running', 1, 1700000000000002, 1700000000000003, 1700000000000004, NULL),
    (5, 'report', '"\u2028\/ \ud83d\ude00"', 'done', 3, 100000000000001, 100000000000002, 100000000000003, 100000000000004),
    (6, 'report', '0', 'failed', 25, 1700000000000005, 1700000000000006, 1700000000000007, 1700000000000008),
    (9, 'report', '[]', 'cancelled', 0, 1700000000000009, 1700000000000010, NULL, 1700000000000011)`

// The same with the columns of version 2, and jobs that wait for their time: past, near and in the year 9999.
const fillV2 = `
INSERT INTO sqluice_jobs (` + columnsV2 + `) VALUES
    (1, 'report', '{}', 'pending', 0, 1700000000000001, 1700000000000001, NULL, NULL, 5, 1700000000000001),
    (2, 'report', '{"a": [1, 2.50, "x''y"],  "a": null}', 'running', 1, 1700000000000002, 1700000000000003, 1700000000000004, NULL, -32768, 0),
    (5, 'report', '"\u2028\/ \ud83d\ude00"', 'done', 3, 100000000000001, 100000000000002, 100000000000003, 100000000000004, 32767, 100000000000000),
    (6, 'report', '0', 'failed', 25, 1700000000000005, 1700000000000006, 1700000000000007, 1700000000000008, 0, 1700000000000005),
    (9, 'report', '[]', 'cancelled', 0, 1700000000000009, 1700000000000010, NULL, 1700000000000011, 1, 1700000000000009),
    (12, 'report', '12', 'scheduled', 2, 1700000000000012, 1700000000000012, NULL, NULL, -1, 1700000000000013),
    (13, 'report', '13', 'scheduled', 0, 1700000000000012, 1700000000000012, NULL, NULL, 0, 253402300799999999)`

// The content of the newer tables when a database goes down again.
const fillNewest = `
INSERT INTO sqluice_workers (name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at, lease_until, ended_at, end_reason) VALUES
    ('live', 'k1', 'h', 1, 'v', '{}', '[]', 0, 0, 0, NULL, NULL), ('gone', 'k2', 'h', 2, 'v', '{}', '[]', 0, 0, 0, 100000000000000, 'crash');
UPDATE sqluice_jobs SET worker_id = 1, lease_until = 1700000000000099, cancel_requested_at = 1700000000000097 WHERE status = 'running';
UPDATE sqluice_jobs SET queue = 'reports', max_attempts = 3, timeout = 1000000, last_error = 'no luck', unique_key = 'u' || id,
                request_id = 'r' || id, user_id = 'me', tags = '["t"]', metadata = '{}', progress = '1', result = '"r"';
INSERT INTO sqluice_pauses (queue, kind, paused_at) VALUES ('reports', 'mail', 0);
INSERT INTO sqluice_job_errors (job_id, attempt, worker_id, ended_at, cause, message) VALUES (6, 25, 2, 0, 'crash', 'gone'), (2, 1, 1, 0, 'error', 'no')`

// fill runs statements, of which the first may give ids. PostgreSQL accepts ids only with OVERRIDING SYSTEM VALUE.
func fill(t *testing.T, e engine, pool *sql.DB, statements string) {
	t.Helper()
	for statement := range strings.SplitSeq(statements, ";\n") {
		if e.name == "postgres" && strings.Contains(statement, "(id, ") {
			statement = strings.Replace(statement, ") VALUES", ") OVERRIDING SYSTEM VALUE VALUES", 1)
		}
		mustExec(t, pool, statement)
	}
}

func TestRowsSurviveEveryMigrationUp(t *testing.T) {
	for from, rowsOf := range map[int64]struct{ fill, columns string }{1: {fillV1, columnsV1}, 2: {fillV2, columnsV2}} {
		t.Run(fmt.Sprintf("from version %d", from), func(t *testing.T) {
			onEachEngine(t, func(t *testing.T, e engine) {
				pool, provider := e.at(t, from)
				fill(t, e, pool, rowsOf.fill)
				query := "SELECT " + rowsOf.columns + " FROM sqluice_jobs ORDER BY id"
				before := rows(t, pool, query)
				for version := from + 1; version <= newest(provider); version++ {
					migrateTo(t, provider, version)
					if after := rows(t, pool, query); !reflect.DeepEqual(after, before) {
						t.Fatalf("version %d changed rows:\n%v\nwere\n%v", version, after, before)
					}
				}
				if n := scan[int64](t, pool, `SELECT COUNT(*) FROM sqluice_jobs WHERE queue = 'default' AND max_attempts = 0
					AND crashes = 0 AND uncounted = 0 AND timeout = 0 AND worker_id IS NULL AND unique_key IS NULL`); n != int64(len(before)) {
					t.Errorf("%d of %d rows have the new columns' defaults", n, len(before))
				}
			})
		})
	}
}

func TestJobsOfVersion1RunInTheOrderOfTheirCreation(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, provider := e.at(t, 1)
		fill(t, e, pool, fillV1)
		migrateTo(t, provider, 2)
		if n := scan[int64](t, pool, `SELECT COUNT(*) FROM sqluice_jobs WHERE run_after = created_at AND priority = 0`); n != 5 {
			t.Errorf("%d of 5 rows are due since they were made", n)
		}
	})
}

// Every version can be undone with rows in all tables. A status that the older version lacks is replaced by one that it
// has: a scheduled job becomes pending.
func TestRowsSurviveEveryMigrationDown(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, provider := e.at(t, 2)
		fill(t, e, pool, fillV2)
		migrateTo(t, provider, newest(provider))
		fill(t, e, pool, fillNewest)
		before := rows(t, pool, "SELECT "+columnsV2+" FROM sqluice_jobs ORDER BY id")
		for version := newest(provider) - 1; version >= 2; version-- {
			migrateTo(t, provider, version)
			if after := rows(t, pool, "SELECT "+columnsV2+" FROM sqluice_jobs ORDER BY id"); !reflect.DeepEqual(after, before) {
				t.Fatalf("going down to version %d changed rows:\n%v\nwere\n%v", version, after, before)
			}
		}
		migrateTo(t, provider, 1)
		after := rows(t, pool, "SELECT "+columnsV1+" FROM sqluice_jobs ORDER BY id")
		if len(after) != len(before) {
			t.Fatalf("version 1 has %d rows, version 2 had %d", len(after), len(before))
		}
		for i, row := range before {
			want := append([]any(nil), row[:9]...)
			if want[3] == "scheduled" {
				want[3] = "pending"
			}
			if !reflect.DeepEqual(after[i], want) {
				t.Errorf("going down to version 1 made %v\nof %v", after[i], row)
			}
		}
		migrateTo(t, provider, newest(provider))
		if n := scan[int64](t, pool, `SELECT COUNT(*) FROM sqluice_jobs`); n != int64(len(before)) {
			t.Errorf("%d rows are left of %d after down and up again", n, len(before))
		}
		migrateTo(t, provider, 0)
	})
}

// An id that was given once never comes again, whichever way the schema moves, and also when the newest rows, or all of
// them, are gone.
func TestIDsAreNeverGivenTwice(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, provider := e.at(t, 1)
		last := int64(0)
		next := func(version int64) {
			t.Helper()
			migrateTo(t, provider, version)
			id := scan[int64](t, pool, `INSERT INTO sqluice_jobs (kind, payload) VALUES ('report', '{}') RETURNING id`)
			if id <= last {
				t.Errorf("version %d gave id %d after %d", version, id, last)
			}
			last = id
			mustExec(t, pool, `DELETE FROM sqluice_jobs`)
		}
		for range 3 {
			next(1)
		}
		for version := int64(2); version <= newest(provider); version++ {
			next(version)
		}
		for version := newest(provider) - 1; version >= 1; version-- {
			next(version)
		}
	})
}
