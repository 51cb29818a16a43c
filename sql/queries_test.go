package sql_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/gates"
)

func statements(t *testing.T, engine string) []gates.Statement {
	t.Helper()
	root, err := gates.Root()
	if err != nil {
		t.Fatal(err)
	}
	list, err := gates.Statements(filepath.Join(root, "db", engine))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// sqliteOnly returns the statements that only the SQLite engine has, with the folder before their names.
func sqliteOnly(t *testing.T) []gates.Statement {
	t.Helper()
	list := statements(t, "sqliteonly")
	for i := range list {
		list[i].Name = "sqliteonly." + list[i].Name
	}
	return list
}

// The real engine accepts on the real schema the statements that sqlc made of the queries.
func TestEveryQueryCanBePrepared(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		pool, _ := e.at(t, 0)
		list := statements(t, e.name)
		if e.name == "sqlite" {
			list = append(list, sqliteOnly(t)...)
		}
		for _, s := range list {
			prepared, err := pool.PrepareContext(t.Context(), s.SQL)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				continue
			}
			if err := prepared.Close(); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	})
}

// sqlc and the server each find the type of a parameter outside a CAST: they must find the same one.
func TestServerAndSqlcAgreeOnTypesOfParameters(t *testing.T) {
	pool, _ := postgresEngine(t).at(t, 0)
	pool.SetMaxOpenConns(1) // a prepared statement belongs to a connection
	of := map[string]string{"string": "text", "*string": "text", "int64": "bigint", "*int64": "bigint"}
	for _, s := range statements(t, "postgres") {
		if utility.MatchString(s.SQL) {
			continue
		}
		mustExec(t, pool, "PREPARE typed AS "+s.SQL)
		have := scan[string](t, pool, `SELECT COALESCE(string_agg(format_type(COALESCE(NULLIF(y.typbasetype, 0), y.oid), NULL), ' ' ORDER BY p.n), '')
			FROM pg_prepared_statements AS s CROSS JOIN unnest(s.parameter_types) WITH ORDINALITY AS p (type, n) JOIN pg_type AS y ON y.oid = p.type
			WHERE s.name = 'typed'`)
		mustExec(t, pool, "DEALLOCATE typed")
		var want []string
		for _, goType := range s.Types {
			want = append(want, of[goType])
		}
		if strings.Join(want, " ") != have {
			t.Errorf("%s: its parameters are %v in Go, %s for the server", s.Name, s.Types, have)
		}
	}
}

// hot holds the queries that a worker or an enqueue runs again and again while the table grows. The value is the only
// index that the query may read without a key, for which there must be a reason.
var hot = map[string]string{
	"AddJobError": "", "CancelWaitingJob": "", "CompleteJob": "",
	"CompleteJobs": "", "CompleteJobsWithResults": "", "DeleteExpiredJobs": "", "DeleteFailedJobs": "", "DeleteJob": "", "EnqueueJob": "", "ReleaseSuccessors": "", "ReplaceWaitingJob": "",
	"EnqueueJobs": "", "EnqueueKeylessJob": "", "EndJob": "", "ExtendLeases": "", "GetJob": "", "GetJobFence": "", "GetJobIDByRequestID": "",
	"ListLiveJobsByUniqueKey": "", "HasClaimableJobs": "", "ListClaimableQueues": "", "HeartbeatWorker": "", "ListClaimableJobs": "",
	"ListEndedJobIDs": "", "ListJobIDsByName": "", "ListJobIDsOfUser": "",
	"ListFailedJobs": "", "ListHeldJobs": "", "ListJobErrors": "", "PromoteDueJobs": "", "ReturnJob": "", "StartJobs": "", "StartJobRange": "", "CompleteJobRange": "",
	"RequestJobCancel": "", "RequeueJob": "", "SetJobProgress": "",

	// It reads a step of the table from an id on.
	"GetPruneStep": "",

	// They read its first entry.
	"GetNextRunAfter": "sqluice_jobs_due sqluice_jobs_limited_due", "ClaimJobs": "sqluice_jobs_due", "EnqueueClaimedJob": "sqluice_jobs_due", "ListPendingQueues": "sqluice_jobs_claim",

	// They look at every running job: few, whatever else the table holds.
	"CountCrashes":      "sqluice_jobs_running",
	"HasUnfinishedJobs": "sqluice_jobs_running", "CountHousework": "sqluice_jobs_running", "EndStuckJobs": "sqluice_jobs_running", "RecordStuckJobs": "sqluice_jobs_running",
	"ResetStuckJobs": "sqluice_jobs_running",
}

var (
	scanStep  = regexp.MustCompile(`^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?`)
	indexScan = regexp.MustCompile(`Scan (?:Backward )?using (\w+) on sqluice_jobs\b[^\n]*(\n\s*Index Cond)?`)
	alias     = regexp.MustCompile(`\bsqluice_jobs AS (\w+)`)
)

func TestPlansAreGolden(t *testing.T) {
	pool, _ := sqliteEngine().at(t, 0)
	var golden strings.Builder
	golden.WriteString("Written by `go test ./sql -update`: how SQLite runs each query. DO NOT EDIT.\n")
	for _, s := range append(statements(t, "sqlite"), sqliteOnly(t)...) {
		fmt.Fprintf(&golden, "\n%s\n", s.Name)
		for _, step := range sqlitePlan(t, pool, s) {
			fmt.Fprintf(&golden, "    %s\n", step)
		}
	}
	compareGolden(t, "schema/plans.sqlite.txt", golden.String())
}

// A golden plan can be updated without a thought; this cannot: no hot query scans the table.
func TestHotQueriesScanNoJobs(t *testing.T) {
	pool, _ := sqliteEngine().at(t, 0)
	found := map[string]bool{}
	for _, s := range append(statements(t, "sqlite"), sqliteOnly(t)...) {
		name := strings.TrimPrefix(s.Name, "sqliteonly.")
		allowed, isHot := hot[name]
		if !isHot {
			continue
		}
		found[name] = true
		names := []string{"sqluice_jobs"}
		for _, match := range alias.FindAllStringSubmatch(s.SQL, -1) {
			names = append(names, match[1])
		}
		plan := sqlitePlan(t, pool, s)
		for _, step := range plan {
			scan := scanStep.FindStringSubmatch(strings.TrimSpace(step))
			if scan != nil && slices.Contains(names, scan[1]) && !slices.Contains(strings.Fields(allowed), scan[2]) {
				t.Errorf("%s walks through jobs (%s):\n%s", s.Name, strings.TrimSpace(step), strings.Join(plan, "\n"))
			}
		}
	}
	if len(found) != len(hot) {
		t.Errorf("%d of the %d hot queries exist: keep the list true", len(found), len(hot))
	}
}

// PostgreSQL chooses its plans by the content of the tables. When it may not read tables as a whole it does so only
// where no index serves: such a step in a generic plan is a missing index.
func TestHotQueriesHaveIndexesOnPostgreSQL(t *testing.T) {
	pool, _ := postgresEngine(t).at(t, 0)
	pool.SetMaxOpenConns(1) // the settings belong to a connection
	mustExec(t, pool, `INSERT INTO sqluice_jobs (kind, status, worker_id, unique_key, request_id, run_after, finished_at)
		SELECT 'kind' || i % 10, CASE WHEN i % 100 = 0 THEN 'running' WHEN i % 4 = 0 THEN 'pending' WHEN i % 4 = 1 THEN 'scheduled'
		       WHEN i % 4 = 2 THEN 'done' ELSE 'failed' END, CASE WHEN i % 100 = 0 THEN 1 + i % 700 END, i, i, 100000000000000 + i, CASE WHEN i % 4 >= 2 THEN 100000000000000 + i END
		FROM generate_series(1, 20000) AS n (i)`)
	mustExec(t, pool, `ANALYZE`)
	mustExec(t, pool, `SET enable_seqscan = off`)
	mustExec(t, pool, `SET enable_bitmapscan = off`)
	mustExec(t, pool, `SET plan_cache_mode = force_generic_plan`)
	for _, s := range statements(t, "postgres") {
		allowed, isHot := hot[s.Name]
		if !isHot {
			continue
		}
		text := strings.Join(postgresPlan(t, pool, s), "\n")
		if regexp.MustCompile(`Seq Scan on sqluice_jobs\b`).MatchString(text) {
			t.Errorf("%s has no index on jobs:\n%s", s.Name, text)
		}
		for _, scan := range indexScan.FindAllStringSubmatch(text, -1) {
			if condition := scan[2]; condition == "" && !slices.Contains(strings.Fields(allowed), scan[1]) {
				t.Errorf("%s reads the whole index %s:\n%s", s.Name, scan[1], text)
			}
		}
	}
}

// sqlitePlan returns the output of EXPLAIN QUERY PLAN, a step a line, indented by depth.
func sqlitePlan(t *testing.T, pool *sql.DB, s gates.Statement) []string {
	t.Helper()
	depth := map[int64]int{}
	var plan []string
	for _, row := range rows(t, pool, "EXPLAIN QUERY PLAN "+s.SQL, make([]any, s.Args)...) {
		id, parent := row[0].(int64), row[1].(int64)
		depth[id] = depth[parent] + 1
		plan = append(plan, strings.Repeat("  ", depth[parent])+row[3].(string))
	}
	return plan
}
