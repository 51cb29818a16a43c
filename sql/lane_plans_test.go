package sql_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	dbpostgres "github.com/sqluice/sqluice/db/postgres"
)

// The jobs of a lane are found in their order, and not sorted: there may be a million of them. Two indexes have their key, and where the
// server knows nothing of the table, it takes the one of fewer levels, unless the plans cost about the same: then it takes the one that need not
// sort. A condition that is always true, and seems to cost much, makes them so. (A comparison of rows would find the jobs as well, but ends the
// scan of an index only where its first column is beyond the bound.)
func TestJobsOfLanesAreReadInOrder(t *testing.T) {
	pool, _ := postgresEngine(t).at(t, 0)
	pool.SetMaxOpenConns(1) // the settings belong to a connection
	mustExec(t, pool, `ALTER TABLE sqluice_jobs SET (autovacuum_enabled = off)`)
	for _, setting := range []string{"enable_seqscan = off", "enable_bitmapscan = off", "jit = off", "plan_cache_mode = force_generic_plan"} {
		mustExec(t, pool, `SET `+setting)
	}
	names := []string{"DeleteEmptyLanes", "HasWaitingJobs", "ListLaneJobs", "LockLaneJobs", "SetLanes", "StartLaneJobs"}
	from := 1
	for _, n := range []int{1, 100, 3_000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 80_000, 150_000, 300_000} {
		mustExec(t, pool, fmt.Sprintf(`INSERT INTO sqluice_jobs (kind, limit_key, status, run_after) SELECT 'mail', '', 'waiting', 100000000000000 + i FROM generate_series(%d, %d) AS n (i)`, from, n))
		from = n + 1
		found := 0
		for _, s := range statements(t, "postgres") {
			if !slices.Contains(names, s.Name) {
				continue
			}
			found++
			plan := strings.Join(postgresPlan(t, pool, s), "\n")
			if !strings.Contains(plan, "using sqluice_jobs_lane ") || strings.Contains(plan, "sqluice_jobs_sequence") {
				t.Errorf("with %d jobs, %s does not read the jobs of a lane in their order:\n%s", n, s.Name, plan)
			}
		}
		if found != len(names) {
			t.Fatalf("%d of %d statements exist: keep the list true", found, len(names))
		}
	}
}

// laneLooks returns the statements that look for the jobs of a lane: in queues with no or few jobs of the key, and in one with many.
func laneLooks(now int64, kinds string, n int64) (list []look) {
	for _, queue := range []string{"a", "b", "default"} {
		lane := " of queue " + queue
		list = append(list,
			look{name: "SetLanes" + lane, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.SetLanes(ctx, dbpostgres.SetLanesParams{Queue: queue, Items: `[["report", "k", 0, 0]]`})
				return err
			}},
			look{name: "DeleteEmptyLanes" + lane, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.DeleteEmptyLanes(ctx, dbpostgres.DeleteEmptyLanesParams{Queue: queue, Keys: `{"report": ["k"]}`})
				return err
			}},
			look{name: "HasWaitingJobs" + lane, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.HasWaitingJobs(ctx, dbpostgres.HasWaitingJobsParams{Queues: `["` + queue + `"]`, Kinds: kinds, Now: now, Until: now})
				return err
			}},
			look{name: "ListLaneJobs" + lane, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.ListLaneJobs(ctx, dbpostgres.ListLaneJobsParams{Keys: `{"report": ["k"]}`, Queue: queue, Now: now, N: n})
				return err
			}},
			look{name: "StartLaneJobs" + lane, run: func(ctx context.Context, q *dbpostgres.Queries) error {
				_, err := q.StartLaneJobs(ctx, dbpostgres.StartLaneJobsParams{
					Now: now, WorkerID: 1, LeaseUntil: now, Keys: `{"report": ["k"]}`, Least: -1, Queue: queue, N: n,
				})
				return err
			}},
		)
	}
	return list
}
