package examples_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/markdown"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

// question is a section of docs/queries.md.
type question struct {
	title   string
	indexes []string            // on jobs and their errors, that the section says its statements read
	asks    map[string][]string // the statements by the name of the engine
}

// row is a row of an answer, by the names of the columns.
type row map[string]string

var (
	engineNames = map[string]string{"On SQLite:": "SQLite", "On PostgreSQL:": "PostgreSQL"}
	readIndex   = regexp.MustCompile("`(sqluice_job(?:s|_errors)_[a-z_]+)`")
)

// questions returns the sections of docs/queries.md that have statements.
func questions(t *testing.T) []question {
	t.Helper()
	text, err := os.ReadFile("../docs/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []question
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		q := question{title: title, asks: map[string][]string{}}
		for _, match := range readIndex.FindAllStringSubmatch(section, -1) {
			q.indexes = append(q.indexes, match[1])
		}
		lines := strings.Split(section, "\n")
		for _, fence := range markdown.Fences(section) {
			label := lines[fence.Line-4] // before the empty line and the fence
			of := []string{"SQLite", "PostgreSQL"}
			for end, name := range engineNames {
				if strings.HasSuffix(label, end) {
					of = []string{name}
				}
			}
			for _, name := range of {
				q.asks[name] = append(q.asks[name], fence.Text)
			}
		}
		list = append(list, q)
	}
	return list
}

// answers holds the rows that the statements of each section return for the queue that seed makes: the columns that do not depend on
// the time. Statements are numbered in their order, without those of another engine. "5|9" is one of the two.
var answers = map[string][]row{
	"Backlog and age by queue 0": {{"queue": "reports", "waiting": "3", "scheduled": "1"}, {"queue": "default", "waiting": "0", "scheduled": "1"}},
	"Backlog and age by queue 1": {
		{"queue": "reports", "kind": "report", "waiting": "3", "scheduled": "1"},
		{"queue": "default", "kind": "mail", "waiting": "0", "scheduled": "1", "oldest_at_text": "<nil>", "oldest_seconds": "<nil>"},
	},
	"What runs, on which worker, for how long 0": {{"queue": "imports", "kind": "import", "worker": "importer", "attempt": "1"}},
	"Throughput an hour 0":                       {{"done": "20", "failed": "2", "retried": "0"}},
	"Waiting time, p50 and p95 0":                {{"queue": "default", "jobs": "22"}},
	"Waiting time, p50 and p95 1":                {{"queue": "default", "jobs": "22"}, {"queue": "imports", "jobs": "1"}},
	"Failed today, against yesterday 0":          {{"kind": "crop", "today": "2", "yesterday_by_now": "5|9", "yesterday": "9"}},
	"Failed today, against yesterday 1":          {{"kind": "crop", "cause": "error", "error": "no such picture", "jobs": "2", "example": "30022"}},
	"Failed today, against yesterday 2": {
		{"id": "30021|30022", "queue": "default", "kind": "crop", "cause": "error", "error": "no such picture", "worker": "drainer"},
		{"id": "30021|30022", "queue": "default", "kind": "crop", "cause": "error", "error": "no such picture", "worker": "drainer"},
	},
	"The slowest kinds 0":                      {{"kind": "crop", "jobs": "2"}, {"kind": "mail", "jobs": "20"}},
	"The jobs of a user 0":                     {{"queue": "imports", "kind": "import", "status": "running", "attempt": "1"}},
	"When is the backlog done? 0":              {{"queue": "reports", "waiting": "3", "ended_a_minute": "<nil>", "done_at": "<nil>"}},
	"Which workers live, and what they take 0": {{"name": "importer", "running": "1"}},
}

// unordered holds the names of the answers whose order depends on durations.
var unordered = []string{"Waiting time, p50 and p95 0", "Waiting time, p50 and p95 1", "The slowest kinds 0"}

// Every statement of docs/queries.md answers its question on both engines, by the indexes that its section names.
func TestQueriesForOperators(t *testing.T) {
	hour := time.Now().Truncate(time.Hour)
	t.Run("SQLite", func(t *testing.T) {
		store := testdb.SQLite(t)
		pool := testdb.PlainSQLite(t, store.Path())
		seed(t, store, pool, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i FROM n")
		ask(t, "SQLite", hour, pool, planOnSQLite)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		url := shared.Postgres(t).Database(t)
		migrate(t, url)
		store, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		pool, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pool.Close() })
		seed(t, store, pool, "SELECT i FROM generate_series(1, 30000) AS n (i)")
		ask(t, "PostgreSQL", hour, pool, planOnPostgres)
	})
}

// seed fills a queue: 20 jobs done and two failed, five that wait, and one that runs until the test ends. Beside them are 30,000 jobs that
// were done long ago.
func seed(t *testing.T, store jobs.Store, pool *sql.DB, numbers string) {
	t.Helper()
	ctx, client := t.Context(), jobs.New(store)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	enqueue := func(kind string, times int, opts ...jobs.EnqueueOption) {
		t.Helper()
		for range times {
			_, err := client.Enqueue(ctx, kind, []byte("{}"), opts...)
			must(err)
		}
	}
	config := func(name, queue string) jobs.Config {
		return jobs.Config{Name: name, Queues: map[string]int{queue: 2}, Logger: slog.New(slog.DiscardHandler)}
	}
	for _, statement := range []string{
		`INSERT INTO sqluice_jobs (kind, queue, status, created_at, run_after, started_at, finished_at)
		 SELECT 'mail', 'default', 'done', 1600000000000000, 1600000000000000, 0, 1600000000000000 FROM (` + numbers + `) AS n`,
		`INSERT INTO sqluice_job_errors (job_id, attempt, ended_at, cause, message)
		 SELECT n.i, 1, 1600000000000000, 'error', 'an old error' FROM (` + numbers + `) AS n WHERE n.i % 10 = 0`,
		fmt.Sprintf(`INSERT INTO sqluice_job_history (step, start_at, queue, kind, event, bucket, times) VALUES
			(900000000, %d, '', 'crop', 'failed', 0, 5), (900000000, %d, '', 'crop', 'failed', 0, 4)`,
			yesterday().UnixMicro(), yesterday().Add(24*time.Hour-15*time.Minute).UnixMicro()),
	} {
		_, err := pool.ExecContext(ctx, statement)
		must(err)
	}
	enqueue("mail", 20)
	enqueue("crop", 2)
	enqueue("mail", 1, jobs.In(time.Hour))
	drainer, err := jobs.NewRunner(client, config("drainer", "default"))
	must(err)
	handle(drainer, "mail", func(context.Context) error { return nil })
	handle(drainer, "crop", func(context.Context) error { return jobs.Discard(errors.New("no such picture")) })
	must(drainer.Drain(ctx))

	enqueue("report", 3, jobs.Queue("reports"))
	enqueue("report", 1, jobs.Queue("reports"), jobs.In(time.Hour))
	enqueue("import", 1, jobs.Queue("imports"), jobs.UserID("42"))
	importer, err := jobs.NewRunner(client, config("importer", "imports"))
	must(err)
	runs, end := make(chan struct{}), make(chan struct{})
	handle(importer, "import", func(context.Context) error {
		close(runs)
		<-end
		return nil
	})
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- importer.Run(running) }()
	t.Cleanup(func() {
		close(end)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-runs

	_, err = pool.ExecContext(ctx, `ANALYZE`)
	must(err)
}

// handle handles jobs of a kind with an empty payload.
func handle(r *jobs.Runner, kind string, f func(context.Context) error) {
	jobs.Kind[struct{}]{Name: kind}.Handle(r, func(ctx context.Context, _ jobs.Job, _ struct{}) error { return f(ctx) })
}

func yesterday() time.Time { return time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1) }

// ask runs the statements of all sections, and compares their answers and their reads. The queue was filled in the given hour.
func ask(t *testing.T, engine string, hour time.Time, pool *sql.DB, plan func(*testing.T, *sql.DB, string) []string) {
	t.Helper()
	asked := map[string]bool{}
	for _, q := range questions(t) {
		var read []string
		for i, statement := range q.asks[engine] {
			name := fmt.Sprintf("%s %d", q.title, i)
			asked[name] = true
			have := table(t, pool, statement)
			if !time.Now().Truncate(time.Hour).Equal(hour) {
				t.Skip("NOT TESTED: an hour ended meanwhile, and the answers are by the hour and the day")
			}
			wantAnswer(t, name, have)
			read = append(read, plan(t, pool, statement)...)
		}
		slices.Sort(read)
		slices.Sort(q.indexes)
		if read, says := slices.Compact(read), slices.Compact(q.indexes); !slices.Equal(read, says) {
			t.Errorf("%s: the statements read %v, the page says %v", q.title, read, says)
		}
	}
	for name := range answers {
		if !asked[name] {
			t.Errorf("the page has no statement %s", name)
		}
	}
}

func wantAnswer(t *testing.T, name string, have []row) {
	t.Helper()
	want, known := answers[name]
	if !known {
		t.Errorf("no answer to %s is known; it gives %v", name, have)
		return
	}
	if slices.Contains(unordered, name) {
		first := func(r row) string { return r["queue"] + r["kind"] }
		slices.SortFunc(have, func(a, b row) int { return strings.Compare(first(a), first(b)) })
	}
	if len(have) != len(want) {
		t.Errorf("%s gives %d rows, not %d: %v", name, len(have), len(want), have)
		return
	}
	for i, columns := range want {
		for column, value := range columns {
			if got, exists := have[i][column]; !exists || !slices.Contains(strings.Split(value, "|"), got) {
				t.Errorf("%s, row %d: %s is %q, not %q: %v", name, i, column, got, value, have[i])
			}
		}
	}
}

// table returns the rows of a statement as text.
func table(t *testing.T, pool *sql.DB, statement string) []row {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatalf("%v in\n%s", err, statement)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var list []row
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		r := row{}
		for i, column := range columns {
			if text, isBytes := values[i].([]byte); isBytes {
				values[i] = string(text)
			}
			r[column] = fmt.Sprint(values[i])
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%v in\n%s", err, statement)
	}
	return list
}

var (
	sqliteStep   = regexp.MustCompile(`^(?:SCAN|SEARCH) \S+(?: EXISTS)?(?: USING (?:COVERING |AUTOMATIC |PARTIAL )*(?:INDEX (\S+)|(?:INTEGER )?PRIMARY KEY))?`)
	wholeJobs    = regexp.MustCompile(`^SCAN (?:j|m|p|s|sqluice_jobs)(?: USING PRIMARY KEY)?$`)
	postgresStep = regexp.MustCompile(`(?:Index Scan|Index Only Scan|Bitmap Index Scan)(?: Backward)?(?: using| on) (sqluice_job(?:s|_errors)_[a-z_]+)`)
)

// planOnSQLite returns the indexes on jobs and their errors by which a statement reads. It fails the test for one that reads all jobs, or
// the history without its key.
func planOnSQLite(t *testing.T, pool *sql.DB, statement string) (indexes []string) {
	t.Helper()
	for _, r := range table(t, pool, "EXPLAIN QUERY PLAN "+statement) {
		step := r["detail"]
		if wholeJobs.MatchString(step) || strings.HasPrefix(step, "SCAN h") {
			t.Errorf("%q reads all rows in\n%s", step, statement)
		}
		if match := sqliteStep.FindStringSubmatch(step); match != nil && strings.HasPrefix(match[1], "sqluice_job") {
			indexes = append(indexes, match[1])
		}
	}
	return indexes
}

// planOnPostgres is planOnSQLite for PostgreSQL.
func planOnPostgres(t *testing.T, pool *sql.DB, statement string) (indexes []string) {
	t.Helper()
	for _, r := range table(t, pool, "EXPLAIN "+statement) {
		step := r["QUERY PLAN"]
		if strings.Contains(step, "Seq Scan on sqluice_jobs") {
			t.Errorf("%q reads all rows in\n%s", step, statement)
		}
		if match := postgresStep.FindStringSubmatch(step); match != nil && match[1] != "sqluice_jobs_pkey" {
			indexes = append(indexes, match[1])
		}
	}
	return indexes
}
