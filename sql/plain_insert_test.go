package sql_test

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// A plain INSERT from any language is a good job.
func TestPlainInsertIsAGoodJob(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		before := time.Now().Add(-time.Second)
		mustExec(t, pool, `INSERT INTO sqluice_jobs (kind, payload) VALUES ('report', '{"n": 1}')`)
		mustExec(t, pool, `INSERT INTO sqluice_jobs (kind) VALUES ('report')`)
		after := time.Now().Add(time.Second)
		got := rows(t, pool, `SELECT payload, status, queue, priority, attempt, uncounted, max_attempts, crashes, timeout,
			ABS(run_after - created_at) <= 1000000, updated_at - created_at BETWEEN 0 AND 1000000,
			COALESCE(worker_id, lease_until, cancel_requested_at, started_at, finished_at),
			COALESCE(unique_key, request_id, user_id, tags, metadata, progress, result, last_error)
			FROM sqluice_jobs ORDER BY id`)
		yes := any(true)
		if e.name == "sqlite" {
			yes = int64(1)
		}
		for i, payload := range []string{`{"n": 1}`, `{}`} {
			want := []any{payload, "scheduled", jobs.DefaultQueue, int64(0), int64(0), int64(0), int64(0),
				int64(0), int64(0), yes, yes, nil, nil}
			if !reflect.DeepEqual(got[i], want) {
				t.Errorf("row %d is\n%v, want\n%v", i, got[i], want)
			}
		}
		made := time.UnixMicro(scan[int64](t, pool, `SELECT created_at FROM sqluice_jobs WHERE id = 1`))
		if made.Before(before) || made.After(after) {
			t.Errorf("created_at is %s, not between %s and %s", made, before, after)
		}
	})
}

// A worker makes it pending when it is due.
func TestPlainInsertIsScheduled(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		hour := time.Hour.Microseconds()
		now := time.Now().UnixMicro()
		for name, runAfter := range map[string]int64{
			"in an hour": now + hour, "at the end of time": latest, "an hour ago": now - hour, "at the birth of Unix": 0,
		} {
			mustExec(t, pool, insert("kind, run_after", 2, e), name, runAfter)
			if status := scan[string](t, pool, numbered("SELECT status FROM sqluice_jobs WHERE kind = ?", e), name); status != "scheduled" {
				t.Errorf("a job for %s is %s", name, status)
			}
		}
	})
}

// earliest is the least time in microseconds, except for 0: no present time in seconds or milliseconds is as large.
const earliest = 100_000_000_000_000

// latest is the last microsecond of the year 9999.
var latest = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() - 1

// The schema has the bounds of package jobs, counted in characters and exact to one.
func TestBoundsAreThoseOfPackageJobs(t *testing.T) {
	name, key := strings.Repeat("\u00e9", jobs.MaxNameLength), strings.Repeat("\u00e9", jobs.MaxKeyLength)
	bounds := []struct {
		column  string
		good    []any
		refused []any
	}{
		{"kind", []any{"a", name}, []any{"", name + "x", nil}},
		{"queue", []any{"a", name}, []any{"", name + "x", nil}},
		{"priority", []any{jobs.MinPriority, jobs.MaxPriority}, []any{jobs.MinPriority - 1, jobs.MaxPriority + 1, nil}},
		{"run_after", []any{0, earliest, latest}, []any{-1, 1, earliest - 1, latest + 1, nil}},
		{"max_attempts", []any{0, 1, jobs.MaxAttemptsLimit}, []any{-1, jobs.MaxAttemptsLimit + 1, nil}},
		{"timeout", []any{0, 1000}, []any{-1, 1, 999, nil}},
		{"attempt", []any{0, 1}, []any{-1, nil}},
		{"uncounted", []any{0, 1}, []any{-1, nil}},
		{"crashes", []any{0, 1}, []any{-1, nil}},
		{"unique_key", []any{nil, "a", key}, []any{"", key + "x"}},
		{"request_id", []any{nil, "a", key}, []any{"", key + "x"}},
		{"user_id", []any{nil, "a", key}, []any{"", key + "x"}},
		{"status", statuses(), []any{"", "Pending", "paused", "pending ", nil}},
		{"payload", []any{`{}`, `null`, ` [1, "x"] `}, []any{"", "{", "hello", "{'a': 1}", "1 2", nil}},
		{"tags", []any{nil, `["a"]`}, []any{"", "a"}},
		{"metadata", []any{nil, `{"a":1}`}, []any{"", "a"}},
		{"progress", []any{nil, `1`}, []any{"", "a"}},
		{"result", []any{nil, `"x"`}, []any{"", "a"}},
	}
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		try := func(column string, value any) error {
			columns, args := "kind, "+column, []any{"report", value}
			if column == "kind" {
				columns, args = "kind", []any{value}
			}
			// Each attempt stands alone: a taken unique key is not the subject here.
			tx, err := pool.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tx.ExecContext(t.Context(), insert(columns, len(args), e), args...)
			if rollback := tx.Rollback(); rollback != nil {
				t.Fatal(rollback)
			}
			return err
		}
		for _, b := range bounds {
			for _, value := range b.good {
				if err := try(b.column, value); err != nil {
					t.Errorf("%s %.20q is refused: %v", b.column, fmt.Sprint(value), err)
				}
			}
			for _, value := range b.refused {
				if err := try(b.column, value); err == nil {
					t.Errorf("%s %.20q is taken", b.column, fmt.Sprint(value))
				}
			}
		}
	})
}

func statuses() []any {
	var list []any
	for _, s := range jobs.Statuses() {
		list = append(list, string(s))
	}
	return list
}

func TestJobsReadableShowsTimesAsText(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		fill(t, e, pool, fillV2)
		got := rows(t, pool, `SELECT id, kind, payload, status, priority, substr(run_after, 1, 23), substr(created_at, 1, 23),
			substr(started_at, 1, 23), substr(finished_at, 1, 23) FROM sqluice_jobs_readable WHERE id IN (6, 13) ORDER BY id`)
		const made = "2023-11-14T22:13:20.000"
		want := [][]any{
			{int64(6), "report", "0", "failed", int64(0), made, made, made, made},
			{int64(13), "report", "13", "scheduled", int64(0), "9999-12-31T23:59:59.999", made, nil, nil},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the view shows\n%v, want\n%v", got, want)
		}
		view, table := columns(t, pool, "sqluice_jobs_readable"), columns(t, pool, "sqluice_jobs")
		delete(table, "prefetched") // a mark of the queue's own
		if !reflect.DeepEqual(view, table) {
			t.Errorf("the view has the columns\n%v, the table\n%v", view, table)
		}
	})
}

// columns returns the names of a relation's columns, as a set.
func columns(t *testing.T, pool *sql.DB, relation string) map[string]bool {
	t.Helper()
	result, err := pool.QueryContext(t.Context(), "SELECT * FROM "+relation)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	names, err := result.Columns()
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// insert returns the statement that adds a job with these columns.
func insert(columns string, n int, e engine) string {
	return numbered("INSERT INTO sqluice_jobs ("+columns+") VALUES ("+strings.TrimSuffix(strings.Repeat("?, ", n), ", ")+")", e)
}

// numbered returns a statement with the placeholders of the engine.
func numbered(statement string, e engine) string {
	if e.name == "sqlite" {
		return statement
	}
	var text strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			fmt.Fprintf(&text, "$%d", i)
		}
		text.WriteString(part)
	}
	return text.String()
}
