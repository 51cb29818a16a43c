package sql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"

	dbpostgres "github.com/sqluice/sqluice/db/postgres"
	"github.com/sqluice/sqluice/internal/test/testdb"
)

// unknownRows is the number of jobs that a state inserts after the last ANALYZE, which found only done jobs.
const unknownRows = 10_000

const (
	history = `INSERT INTO sqluice_jobs (kind, status, run_after, created_at, finished_at)
		SELECT 'report', 'done', 100000000000000 + i, 100000000000000 + i, 100000000000000 + i FROM generate_series(1, 20000) AS n (i)`
	unknown = `INSERT INTO sqluice_jobs (kind, queue, status, run_after, created_at, finished_at, worker_id, lease_until, start_by)
		SELECT %s, %s, %s, %s, 100000000000000 + i, %s, %s, %s, %s FROM generate_series(1, %d) AS n (i)`
	future = "253402300700000000 + i"
	past   = "100000000000000 + i"
)

// unknownStates holds the statements that fill the table with rows that the statistics do not know, by the name of the state.
var unknownStates = map[string]string{
	"scheduled":             unknownJobs("'report'", "'default'", "scheduled", future, "NULL", "NULL"),
	"scheduled, more pages": strings.Replace(unknownJobs("'report'", "'default'", "scheduled", future, "NULL", "NULL"), fmt.Sprint(unknownRows), fmt.Sprint(3*unknownRows), 1),
	"failed, more pages":    strings.Replace(unknownJobs("'report'", "'default'", "failed", past, past, "NULL"), fmt.Sprint(unknownRows), fmt.Sprint(3*unknownRows), 1),
	"scheduled and due":     unknownJobs("'report'", "'default'", "scheduled", past, "NULL", "NULL"),
	"scheduled to start by": unknownJobs("'report'", "'default'", "scheduled", future, "NULL", future),
	"pending":               unknownJobs("'report'", "'default'", "pending", past, "NULL", "NULL"),
	"pending, of others":    unknownJobs("'other'", "'elsewhere'", "pending", past, "NULL", "NULL"),
	"pending and overdue":   unknownJobs("'report'", "'default'", "pending", past, "NULL", past),
	"running":               unknownJobs("'report'", "'default'", "running", past, "NULL", "NULL"),
	"done":                  unknownJobs("'report'", "'default'", "done", past, past, "NULL"),
	"failed":                unknownJobs("'report'", "'default'", "failed", past, past, "NULL"),
	"failed, of others":     unknownJobs("'other'", "'elsewhere'", "failed", past, past, "NULL"),
	"cancelled":             unknownJobs("'report'", "'default'", "cancelled", past, past, "NULL"),
	"waiting": fmt.Sprintf(`INSERT INTO sqluice_lanes (kind, limit_key, queue, priority, ready_at) SELECT 'report', 'k', q, 0, 0 FROM (VALUES ('a'), ('b'), ('default')) AS n (q);
		INSERT INTO sqluice_jobs (kind, limit_key, queue, status, run_after, created_at)
		SELECT 'report', CASE i %% 10 WHEN 0 THEN 'l' ELSE 'k' END, CASE WHEN i <= 3 THEN 'b' ELSE 'default' END, 'waiting', %s, 100000000000000 + i
		FROM generate_series(1, %d) AS n (i)`, past, 3*unknownRows),
	"changed by people": `INSERT INTO sqluice_job_audit (at, actor, action, job_id, jobs)
		SELECT 100000000000000 + i, 'a', 'retry', i, 1 FROM generate_series(1, 10000) AS n (i)`,
}

func unknownJobs(kind, queue, status, runAfter, finishedAt, startBy string) string {
	worker, lease := "NULL", "NULL"
	if status == "running" {
		worker, lease = "2", future
	}
	return fmt.Sprintf(unknown, kind, queue, "'"+status+"'", runAfter, finishedAt, worker, lease, startBy, unknownRows)
}

// look is a statement that needs few jobs.
type look struct {
	name string
	run  func(ctx context.Context, q *dbpostgres.Queries) error
	// everyRunning marks the statements that read each running job: few, whatever else the table holds.
	everyRunning bool
}

// looks returns the statements that look for the first jobs of a kind, with arguments that ask for few of them.
func looks(now int64) []look {
	const (
		n     = 10
		kinds = `["report","idle"]`
		keys  = `[["report","k"],["idle","k"]]`
		days  = 86_400_000_000
	)
	cursors := fmt.Sprintf(`{"between":[["report",0,null]],"from":[["report",0,%d,0],["idle",0,0,0]],"before":[["report",0,0,0]]}`, now-10*days)
	report, key, user := "report", "k", "u"
	list := []look{
		{name: "PromoteDueJobs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.PromoteDueJobs(ctx, dbpostgres.PromoteDueJobsParams{Now: now, N: n})
			return err
		}},
		{name: "GetNextRunAfter", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.GetNextRunAfter(ctx)
			return err
		}},
		{name: "ListPendingQueues", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListPendingQueues(ctx, dbpostgres.ListPendingQueuesParams{Kinds: kinds, N: n})
			return err
		}},
		{name: "ListDueJobIDs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListDueJobIDs(ctx, dbpostgres.ListDueJobIDsParams{Now: now, N: n})
			return err
		}},
		{name: "PeekJobs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.PeekJobs(ctx, dbpostgres.PeekJobsParams{Kinds: kinds, Queue: "default", Now: now, N: n})
			return err
		}},
		{name: "ListOverdueJobIDs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListOverdueJobIDs(ctx, dbpostgres.ListOverdueJobIDsParams{Now: now, N: n})
			return err
		}},
		{name: "GetScheduleWork", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.GetScheduleWork(ctx, "[]")
			return err
		}},
		{name: "ListFreeSuccessors", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListFreeSuccessors(ctx, dbpostgres.ListFreeSuccessorsParams{N: n})
			return err
		}},
		{name: "ReleaseSuccessors", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ReleaseSuccessors(ctx, dbpostgres.ReleaseSuccessorsParams{Now: now, SetBack: now, Keys: keys})
			return err
		}},
		{name: "ListLiveJobsByUniqueKey", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListLiveJobsByUniqueKey(ctx, dbpostgres.ListLiveJobsByUniqueKeyParams{Kind: report, UniqueKey: key})
			return err
		}},
		{name: "GetJobIDByRequestID", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.GetJobIDByRequestID(ctx, dbpostgres.GetJobIDByRequestIDParams{Kind: report, RequestID: key})
			return err
		}},
		{name: "EnqueueJob", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.EnqueueJob(ctx, dbpostgres.EnqueueJobParams{Kind: report, Queue: "default", Payload: "{}", Status: "pending", MaxAttempts: 1, UniqueKey: &key, Now: now})
			return err
		}},
		{name: "GetPruneStep", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.GetPruneStep(ctx, dbpostgres.GetPruneStepParams{Now: now, Done: days, Failed: days, Cancelled: days, After: 20_000, LastID: 1 << 40, N: n})
			return err
		}},
		{name: "DeleteExpiredJobs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.DeleteExpiredJobs(ctx, dbpostgres.DeleteExpiredJobsParams{After: 20_000, LastID: 20_000 + n, Now: now, Done: days, Failed: days, Cancelled: days})
			return err
		}},
		{name: "RequeueJob", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.RequeueJob(ctx, dbpostgres.RequeueJobParams{Now: now, ID: 20_001})
			return err
		}},
		{name: "CountJobsAhead", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.CountJobsAhead(ctx, dbpostgres.CountJobsAheadParams{Queue: "default", Kind: report, N: n, RunAfter: now, ID: 1 << 40})
			return err
		}},
		{name: "ListAuditOfJob", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListAuditOfJob(ctx, dbpostgres.ListAuditOfJobParams{BeforeID: 1 << 40, JobID: 7, N: n})
			return err
		}},
		{name: "GetLastIDs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.GetLastIDs(ctx)
			return err
		}},
		{name: "ListJobIDs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListJobIDs(ctx, dbpostgres.ListJobIDsParams{BeforeID: 1 << 40, N: n})
			return err
		}},
		{name: "ListJobsOfUser", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListJobsOfUser(ctx, dbpostgres.ListJobsOfUserParams{UserID: user, N: n})
			return err
		}},
		{name: "ListHeldJobs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListHeldJobs(ctx, 1)
			return err
		}},
		{name: "RecordHeldJobs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			return q.RecordHeldJobs(ctx, dbpostgres.RecordHeldJobsParams{Now: now, WorkerID: 1})
		}},
		{name: "ReleaseHeldJobs", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ReleaseHeldJobs(ctx, dbpostgres.ReleaseHeldJobsParams{Now: now, WorkerID: 1})
			return err
		}},
		{name: "TrimHeldAttempts", run: func(ctx context.Context, q *dbpostgres.Queries) error {
			return q.TrimHeldAttempts(ctx, dbpostgres.TrimHeldAttemptsParams{WorkerID: 1, Kept: n})
		}},
		{name: "CountHousework", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.CountHousework(ctx, dbpostgres.CountHouseworkParams{WorkerID: 1, LeaseBefore: now})
			return err
		}},
		{name: "ListStuckJobIDs", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListStuckJobIDs(ctx, dbpostgres.ListStuckJobIDsParams{LeaseBefore: now, Now: now})
			return err
		}},
		{name: "RecordStuckJobs", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.RecordStuckJobs(ctx, dbpostgres.RecordStuckJobsParams{Now: now, LeaseBefore: now})
			return err
		}},
		{name: "CountCrashes", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.CountCrashes(ctx)
			return err
		}},
		{name: "EndStuckJobs", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.EndStuckJobs(ctx, dbpostgres.EndStuckJobsParams{Now: now, MaxCrashes: 3})
			return err
		}},
		{name: "ResetStuckJobs", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ResetStuckJobs(ctx, now)
			return err
		}},
		{name: "HasUnfinishedJobs", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.HasUnfinishedJobs(ctx, dbpostgres.HasUnfinishedJobsParams{Queues: `["default","idle"]`, Kinds: kinds, Now: now})
			return err
		}},
		{name: "CountRunningJobsPerWorker", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.CountRunningJobsPerWorker(ctx)
			return err
		}},
		{name: "CountRunningJobsInQueue", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.CountRunningJobsInQueue(ctx, "default")
			return err
		}},
		{name: "GetChangeMark", everyRunning: true, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.GetChangeMark(ctx)
			return err
		}},
	}
	list = append(list, laneLooks(now, kinds, n)...)
	for _, from := range []string{"", cursors} {
		form := ""
		if from != "" {
			form = " from cursors"
		}
		list = append(list,
			look{name: "HasClaimableJobs" + form, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.HasClaimableJobs(ctx, dbpostgres.HasClaimableJobsParams{Kinds: kinds, Cursors: from, Queue: "default"})
				return err
			}},
			look{name: "ListClaimableQueues" + form, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				queues, err := json.Marshal([][2]string{{"default", from}, {"idle", from}})
				if err != nil {
					return err
				}
				_, err = q.ListClaimableQueues(ctx, dbpostgres.ListClaimableQueuesParams{Queues: string(queues), Kinds: kinds})
				return err
			}},
			look{name: "ClaimJobs" + form, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.ClaimJobs(ctx, dbpostgres.ClaimJobsParams{
					WorkerID: 1, LeaseUntil: now, Now: now, Kinds: kinds, Cursors: from, Queue: "default", N: n, NoneDueBefore: 1,
				})
				return err
			}},
			look{name: "EnqueueClaimedJob" + form, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.EnqueueClaimedJob(ctx, dbpostgres.EnqueueClaimedJobParams{
					WorkerID: 1, Kind: report, Queue: "default", StartedAt: now, Payload: "{}", MaxAttempts: 1, Now: now, LeaseUntil: now, Kinds: kinds, Cursors: from,
				})
				return err
			}},
		)
	}
	for _, status := range []string{"failed", "cancelled"} {
		list = append(list,
			look{name: "DeleteFailedJobs " + status, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.DeleteFailedJobs(ctx, dbpostgres.DeleteFailedJobsParams{Status: status, Before: now, Now: now, N: n})
				return err
			}},
			look{name: "ListExpiredJobIDs " + status, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.ListExpiredJobIDs(ctx, dbpostgres.ListExpiredJobIDsParams{Status: status, Before: now, Now: now, N: n})
				return err
			}},
			look{name: "ListEndedJobIDs " + status, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.ListEndedJobIDs(ctx, dbpostgres.ListEndedJobIDsParams{Status: status, BeforeID: 1 << 40, N: n})
				return err
			}},
		)
	}
	for _, kind := range []*string{nil, &report} {
		form := ""
		if kind != nil {
			form = " of a kind"
		}
		list = append(list,
			look{name: "ListFailedJobs" + form, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.ListFailedJobs(ctx, dbpostgres.ListFailedJobsParams{Since: now - days, BeforeTime: now, BeforeID: 1 << 40, Kind: kind, N: n})
				return err
			}},
			look{name: "ReportFailedJobs" + form, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.ReportFailedJobs(ctx, dbpostgres.ReportFailedJobsParams{Since: now - days, Kind: kind, Most: n, N: n})
				return err
			}},
		)
	}
	for _, status := range []string{"pending", "scheduled", "running"} {
		list = append(list, look{name: "ListJobIDsByStatus " + status, run: func(ctx context.Context, q *dbpostgres.Queries) error {
			_, err := q.ListJobIDsByStatus(ctx, dbpostgres.ListJobIDsByStatusParams{Status: status, N: n})
			return err
		}})
	}
	return list
}

// A plan's index says little when the planner expects one row of a status that the table now has in thousands: the number of jobs that
// the statement reads counts.
func TestLooksReadFewJobsUnderOldStatistics(t *testing.T) {
	for _, known := range []struct{ name, fill string }{
		{"history", ""},
		{"history and a few of each", fillJobs + ` LIMIT 400; INSERT INTO sqluice_job_audit (at, actor, action, job_id, jobs)
			SELECT 100000000000000 + i, 'a', 'retry', i, 1 FROM generate_series(1, 100) AS n (i)`},
	} {
		t.Run(known.name, func(t *testing.T) { looksReadFewJobs(t, known.fill) })
	}
}

func looksReadFewJobs(t *testing.T, fill string) {
	server := shared.Postgres(t)
	template := server.Template(t, func(url string) {
		pool, err := sql.Open("pgx", url+"&default_query_exec_mode=exec") // prepares no statements, so that the schema can change
		if err != nil {
			t.Fatal(err)
		}
		provider := testdb.Goose(t, goose.DialectPostgres, pool)
		migrateTo(t, provider, newest(provider))
		for _, statement := range []string{
			`ALTER TABLE sqluice_jobs SET (autovacuum_enabled = off)`, `ALTER TABLE sqluice_job_audit SET (autovacuum_enabled = off)`,
			history, fill,
			`INSERT INTO sqluice_workers (name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at, lease_until)
			 SELECT 'w' || i, i, 'h', i, 'v', '{}', '[]', 0, 0, 0 FROM generate_series(1, 2) AS n (i)`,
			`ANALYZE`,
		} {
			mustExec(t, pool, statement)
		}
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
	})
	now := time.Now().UnixMicro()
	for _, state := range slices.Sorted(maps.Keys(unknownStates)) {
		t.Run(state, func(t *testing.T) {
			conn, err := pgx.Connect(t.Context(), server.Copy(t, template))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.WithoutCancel(t.Context()))
			if _, err := conn.Exec(t.Context(), unknownStates[state]); err != nil {
				t.Fatal(err)
			}
			for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
				for _, l := range looks(now) {
					cost := readsOf(t, conn, mode, l)
					most := reading{jobs: 60, pages: 100}
					if l.everyRunning && state == "running" {
						most = reading{jobs: 4 * unknownRows, pages: 4 * unknownRows} // a few places of a statement read each of them
					}
					t.Logf("%-40s %-20s %6d %6d", l.name, mode, cost.jobs, cost.pages)
					if cost.jobs > most.jobs || cost.pages > most.pages {
						t.Errorf("%s reads %d jobs and %d pages with %s, more than %d and %d:\n%s",
							l.name, cost.jobs, cost.pages, mode, most.jobs, most.pages, cost.plan)
					}
				}
			}
		})
	}
}

// reading counts the jobs and pages that the steps of a plan read.
type reading struct {
	jobs, pages int
	plan        string
}

// readsOf runs a statement as the engine's transactions do, in one that is rolled back.
func readsOf(t *testing.T, conn *pgx.Conn, mode string, l look) reading {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	for _, setting := range []string{"enable_seqscan = off", "enable_bitmapscan = off", "jit = off", "plan_cache_mode = " + mode} {
		if _, err := tx.Exec(t.Context(), "SET LOCAL "+setting); err != nil {
			t.Fatal(err)
		}
	}
	e := explainer{tx: tx}
	if err := l.run(t.Context(), dbpostgres.New(&e)); !errors.Is(err, errExplained) {
		t.Fatalf("%s: %v", l.name, err)
	}
	var plans []struct{ Plan planStep }
	if err := json.Unmarshal(e.plan, &plans); err != nil {
		t.Fatal(err)
	}
	r := reading{plan: string(e.plan)}
	for _, p := range plans {
		p.Plan.add(&r)
	}
	return r
}

// planStep is a step of EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON).
type planStep struct {
	Name           string  `json:"Node Type"`
	Relation       string  `json:"Relation Name"`
	Index          string  `json:"Index Name"`
	Rows           float64 `json:"Actual Rows"` // the average of a loop, like the removed rows
	Loops          float64 `json:"Actual Loops"`
	RemovedFilter  float64 `json:"Rows Removed by Filter"`
	RemovedRecheck float64 `json:"Rows Removed by Index Recheck"`
	Hit            int     `json:"Shared Hit Blocks"`
	Read           int     `json:"Shared Read Blocks"`
	Plans          []planStep
}

// readTable matches the tables that grow with the jobs, and their indexes.
var readTable = regexp.MustCompile(`^sqluice_(jobs|job_audit)(sqluice_|_|$)`)

// add adds the reads of the step and of the steps below it. A scan's pages include those of the steps below it.
func (s planStep) add(r *reading) {
	if strings.HasSuffix(s.Name, "Scan") && readTable.MatchString(s.Relation+s.Index) {
		r.jobs += int((s.Rows + s.RemovedFilter + s.RemovedRecheck) * s.Loops)
		r.pages += s.Hit + s.Read
	}
	for _, below := range s.Plans {
		below.add(r)
	}
}

var errExplained = errors.New("explained")

// explainer runs EXPLAIN of a prepared statement in place of the statement, and answers with errExplained.
type explainer struct {
	tx   pgx.Tx
	plan []byte
}

func (e *explainer) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, e.explain(ctx, sql, args)
}

func (e *explainer) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return nil, e.explain(ctx, sql, args)
}

func (e *explainer) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return errorRow{e.explain(ctx, sql, args)}
}

func (e *explainer) explain(ctx context.Context, sql string, args []any) error {
	if _, err := e.tx.Exec(ctx, "PREPARE looked AS "+sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	execute := "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked"
	if len(args) > 0 {
		values := make([]string, len(args))
		for i, arg := range args {
			values[i] = literal(arg)
		}
		execute += "(" + strings.Join(values, ", ") + ")"
	}
	if err := e.tx.QueryRow(ctx, execute, pgx.QueryExecModeSimpleProtocol).Scan(&e.plan); err != nil {
		return err
	}
	if _, err := e.tx.Exec(ctx, "DEALLOCATE looked"); err != nil {
		return err
	}
	return errExplained
}

// literal returns an argument, which may be a nil pointer, as SQL text.
func literal(arg any) string {
	v := reflect.ValueOf(arg)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "NULL"
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.String {
		return "'" + strings.ReplaceAll(v.String(), "'", "''") + "'"
	}
	return fmt.Sprint(v.Interface())
}

// errorRow is a row that could not be read.
type errorRow struct{ err error }

func (r errorRow) Scan(...any) error { return r.err }
