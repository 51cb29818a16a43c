package sql_test

import (
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqluice/sqluice/internal/test/gates"
)

// tableStates holds contents of a table and, more important, the statistics that the server has of it: it plans by the
// figures of its last ANALYZE, which may be missing or from another time of day.
var tableStates = map[string][]string{
	"never analyzed": {},
	"analyzed empty": {`ANALYZE`},
	"a backlog":      {fillJobs, fillErrors, `ANALYZE`},
	"a history":      {strings.ReplaceAll(fillJobs, "'pending'", "'done'"), fillErrors, `ANALYZE`},
	"emptied since":  {fillJobs, fillErrors, `ANALYZE`, `DELETE FROM sqluice_jobs`},
	"filled since":   {`ANALYZE`, fillJobs, fillErrors},
}

const (
	fillJobs = `INSERT INTO sqluice_jobs (kind, status, worker_id, unique_key, request_id, run_after, finished_at)
		SELECT 'kind' || i % 10, CASE WHEN i % 100 = 0 THEN 'running' WHEN i % 10 = 1 THEN 'scheduled' WHEN i % 10 = 2 THEN 'failed'
		       ELSE 'pending' END, CASE WHEN i % 100 = 0 THEN 1 + i % 7 END, i, i, 100000000000000 + i, CASE WHEN i % 10 = 2 THEN 100000000000000 + i END
		FROM generate_series(1, 20000) AS n (i)`
	fillErrors = `INSERT INTO sqluice_job_errors (job_id, attempt, ended_at, cause, message)
		SELECT j.id, 1, 0, 'error', '' FROM sqluice_jobs AS j WHERE j.status = 'failed'`
)

// hotReads holds the indexes on jobs by which each hot query finds its rows, and no other: the same for any content of
// the table.
var hotReads = map[string]string{
	"AddJobError": "", "EnqueueJob": "sqluice_jobs_successor", "EnqueueJobs": "", "EnqueueKeylessJob": "", "HeartbeatWorker": "", "ListJobErrors": "",

	"CancelWaitingJob": "sqluice_jobs_pkey", "CompleteJob": "sqluice_jobs_pkey",
	"ReleaseSuccessors": "sqluice_jobs_pkey sqluice_jobs_successor sqluice_jobs_unique", "ReplaceWaitingJob": "sqluice_jobs_pkey",
	"CompleteJobs":            "sqluice_jobs_pkey",
	"CompleteJobsWithResults": "sqluice_jobs_pkey", "DeleteJob": "sqluice_jobs_pkey", "ExtendLeases": "sqluice_jobs_pkey",
	"EndJob": "sqluice_jobs_pkey", "GetJob": "sqluice_jobs_pkey", "GetJobFence": "sqluice_jobs_pkey", "ReturnJob": "sqluice_jobs_pkey",
	"RequestJobCancel": "sqluice_jobs_pkey", "SetJobProgress": "sqluice_jobs_pkey",

	"ClaimJobs": "sqluice_jobs_claim sqluice_jobs_due sqluice_jobs_pkey", "EnqueueClaimedJob": "sqluice_jobs_claim sqluice_jobs_due", "HasClaimableJobs": "sqluice_jobs_claim", "ListClaimableQueues": "sqluice_jobs_claim", "ListPendingQueues": "sqluice_jobs_claim", "HasUnfinishedJobs": "sqluice_jobs_claim sqluice_jobs_running sqluice_jobs_scheduled",
	"PromoteDueJobs": "sqluice_jobs_due sqluice_jobs_pkey", "GetNextRunAfter": "sqluice_jobs_due", "DeleteFailedJobs": "sqluice_jobs_failed sqluice_jobs_pkey",
	"DeleteExpiredJobs": "sqluice_jobs_pkey", "GetPruneStep": "sqluice_jobs_pkey", "ListFailedJobs": "sqluice_jobs_failed sqluice_jobs_failed_kind sqluice_jobs_pkey", "ListEndedJobIDs": "sqluice_jobs_ended", "GetJobIDByRequestID": "sqluice_jobs_request", "ListLiveJobsByUniqueKey": "sqluice_jobs_successor sqluice_jobs_unique",
	"RequeueJob": "sqluice_jobs_pkey sqluice_jobs_successor sqluice_jobs_unique", "ListHeldJobs": "sqluice_jobs_running", "CountHousework": "sqluice_jobs_running",
	"RecordStuckJobs": "sqluice_jobs_pkey sqluice_jobs_running",

	"ListJobIDsByName": "sqluice_jobs_claim sqluice_jobs_failed_kind sqluice_jobs_scheduled",
	"ListJobIDsOfUser": "sqluice_jobs_user",

	// They read the running jobs, and then the errors of each.
	"CountCrashes": "sqluice_jobs_running", "EndStuckJobs": "sqluice_jobs_running", "ResetStuckJobs": "sqluice_jobs_running",
}

// Whole plans differ between versions of PostgreSQL, and with the content of the tables; the index by which jobs are found must not.
func TestHotQueriesReadTheseIndexesOnPostgreSQL(t *testing.T) {
	server := postgresEngine(t)
	for state, fill := range tableStates {
		t.Run(state, func(t *testing.T) {
			pool, _ := server.at(t, 0)
			pool.SetMaxOpenConns(1) // the settings belong to a connection
			for _, statement := range fill {
				mustExec(t, pool, statement)
			}
			// As in the engine's transactions, for statements that the server plans once for all parameters.
			for _, setting := range []string{"enable_seqscan = off", "enable_bitmapscan = off", "jit = off", "plan_cache_mode = force_generic_plan"} {
				mustExec(t, pool, `SET `+setting)
			}
			found := 0
			for _, s := range statements(t, "postgres") {
				want, isHot := hotReads[s.Name]
				if _, listed := hot[s.Name]; listed != isHot {
					t.Errorf("%s is in one of the lists hot and hotReads", s.Name)
				}
				if !isHot {
					continue
				}
				found++
				have, plan := jobsReads(t, pool, s)
				if have != want {
					t.Errorf("%s reads jobs by %q, not %q:\n%s", s.Name, have, want, plan)
				}
			}
			if found != len(hotReads) {
				t.Errorf("%d of the %d hot queries exist: keep the list true", found, len(hotReads))
			}
		})
	}
}

var jobsRead = regexp.MustCompile(`Scan (?:Backward )?(?:using|on) (sqluice_jobs(?:_claim|_due|_ended|_failed|_failed_kind|_pkey|_request|_running|_scheduled|_successor|_unique|_user)?)\b`)

// jobsReads returns the indexes on jobs in a plan, or jobs for the table as a whole, and the plan.
func jobsReads(t *testing.T, pool *sql.DB, s gates.Statement) (reads, plan string) {
	t.Helper()
	lines := postgresPlan(t, pool, s)
	var list []string
	for _, line := range lines {
		// A bitmap of an index's entries leads to the table: that is no read of the whole.
		if step := jobsRead.FindStringSubmatch(line); step != nil && !strings.Contains(line, "Bitmap Heap Scan") {
			list = append(list, step[1])
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " "), strings.Join(lines, "\n")
}

// utility matches a statement that the server does not plan.
var utility = regexp.MustCompile(`(?m)^LOCK TABLE `)

// postgresPlan returns the output of EXPLAIN for a prepared statement, a step a line, indented by depth.
func postgresPlan(t *testing.T, pool *sql.DB, s gates.Statement) []string {
	t.Helper()
	if utility.MatchString(s.SQL) {
		return []string{"(no plan)"}
	}
	mustExec(t, pool, "PREPARE hot AS "+s.SQL)
	defer mustExec(t, pool, "DEALLOCATE hot")
	execute := "EXPLAIN (COSTS OFF) EXECUTE hot"
	if s.Args > 0 {
		execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", s.Args), ", ") + ")"
	}
	var plan []string
	for _, row := range rows(t, pool, execute) {
		plan = append(plan, row[0].(string))
	}
	return plan
}

// goldenPostgres holds the major versions with golden plans, and the files of the plans: versions plan some queries differently, and
// print plans differently.
var goldenPostgres = map[int64]string{15: "plans.postgres.txt", 17: "plans.postgres17.txt", 18: "plans.postgres18.txt"}

// wholeQueue finds a look at the pauses of all kinds of a queue.
var wholeQueue = regexp.MustCompile(`on sqluice_pauses \w+\n\s*Index Cond: \(\(queue\)::text = [^\n()]+\)\n\s*Filter`)

// The golden plans are generic plans, for tables with a history and a backlog. The server's statistics of them are the
// same each time: an ANALYZE of so few rows reads them all.
func TestPostgresPlansAreGolden(t *testing.T) {
	pool, _ := postgresEngine(t).at(t, 0)
	pool.SetMaxOpenConns(1) // the settings belong to a connection
	version := scan[int64](t, pool, `SELECT CAST(current_setting('server_version_num') AS BIGINT) / 10000`)
	file := goldenPostgres[version]
	if file == "" {
		t.Skipf("NOT TESTED on PostgreSQL %d: the golden plans are those of %v", version, slices.Sorted(maps.Keys(goldenPostgres)))
	}
	for _, table := range []string{"sqluice_jobs", "sqluice_job_errors", "sqluice_workers", "sqluice_pauses", "sqluice_moves"} {
		mustExec(t, pool, `ALTER TABLE `+table+` SET (autovacuum_enabled = off)`) // autovacuum would come at an unknown time
	}
	for _, statement := range []string{
		fillJobs, strings.ReplaceAll(strings.ReplaceAll(fillJobs, "'pending'", "'done'"), "unique_key, request_id", "progress, result"), fillErrors,
		`INSERT INTO sqluice_workers (name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at, lease_until, ended_at, end_reason)
		 SELECT 'w' || i, i, 'h', i, 'v', '{}', '[]', 0, 0, 0, CASE WHEN i > 3 THEN 100000000000000 + i END, CASE WHEN i > 3 THEN 'stopped' END
		 FROM generate_series(1, 100) AS n (i)`,
		`INSERT INTO sqluice_pauses (queue) SELECT 'q' || i FROM generate_series(1, 5) AS n (i)`,
		`SET default_statistics_target = 200`, // every row is in the sample: the plans do not depend on chance
		`VACUUM (ANALYZE)`,
		// As in the engine's transactions, for statements that the server plans once for all parameters.
		`SET enable_seqscan = off`, `SET enable_bitmapscan = off`, `SET jit = off`, `SET plan_cache_mode = force_generic_plan`,
		// The number of pages that VACUUM finds visible to all depends on the server's other work.
		`SET enable_indexonlyscan = off`,
		// The defaults, whatever this server was set up with.
		`SET work_mem = '4MB'`, `SET effective_cache_size = '4GB'`, `SET seq_page_cost = 1`, `SET random_page_cost = 4`,
		`SET max_parallel_workers_per_gather = 2`,
	} {
		mustExec(t, pool, statement)
	}
	var golden strings.Builder
	fmt.Fprintf(&golden, "Written by `go test ./sql -update`: how PostgreSQL %d runs each query. DO NOT EDIT.\n", version)
	for _, s := range statements(t, "postgres") {
		fmt.Fprintf(&golden, "\n%s\n", s.Name)
		plan := postgresPlan(t, pool, s)
		if wholeQueue.MatchString(strings.Join(plan, "\n")) {
			t.Errorf("%s reads the pauses of all kinds of a queue, of which there may be thousands", s.Name)
		}
		for _, step := range plan {
			fmt.Fprintf(&golden, "    %s\n", step)
		}
	}
	compareGolden(t, "schema/"+file, golden.String())
}
