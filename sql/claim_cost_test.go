package sql_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/sqluice/sqluice/db"
	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
	"github.com/sqluice/sqluice/db/sqliteonly"
)

// ballast are rows that no claim wants: each sort is in the way of another careless plan.
const (
	ballast = `
INSERT INTO sqluice_jobs (kind, status, priority, run_after, created_at, finished_at)
WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
SELECT CASE ?1 WHEN 'unsupported' THEN 'other' ELSE 'report' END, CASE ?1 WHEN 'unsupported' THEN 'pending' ELSE ?1 END,
       32767, CASE ?1 WHEN 'scheduled' THEN 253402300799999999 ELSE 100000000000000 + i END, 100000000000000 + i,
       CASE WHEN ?1 IN ('done', 'failed') THEN 100000000000000 + i END
FROM n`
	wanted = `INSERT INTO sqluice_jobs (kind, status, run_after, created_at)
WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT 'report', 'pending', 100000000000000 + i, 100000000000000 + i FROM n`
)

// The measure is the number of database pages that a statement asks for: the same at each run, on any machine. Reading
// an index by its key costs as many pages as the tree is deep; reading a hundred thousand rows costs thousands.
func TestCostOfAClaimDoesNotGrow(t *testing.T) {
	type step struct {
		name string
		run  func(ctx context.Context, q *dbsqlite.Queries) (int64, error)
		want int64
	}
	const n, firstIDs = 10, `[1,2,3,4,5,6,7,8,9,10]`
	now := time.Now().UnixMicro()
	var only *sqliteonly.Queries // uses the connection whose pages are counted
	steps := []step{
		{"PromoteDueJobs", func(ctx context.Context, q *dbsqlite.Queries) (int64, error) {
			return q.PromoteDueJobs(ctx, db.PromoteDueJobsParams{Now: now, N: n})
		}, 0},
		{"GetNextRunAfter", func(ctx context.Context, q *dbsqlite.Queries) (int64, error) {
			_, err := q.GetNextRunAfter(ctx)
			return 0, err
		}, 0},
		{"HasClaimableJobs", func(ctx context.Context, q *dbsqlite.Queries) (int64, error) {
			return q.HasClaimableJobs(ctx, db.HasClaimableJobsParams{Kinds: `["report","idle"]`, Queue: "default"})
		}, 1},
		{"ListClaimableJobs", func(ctx context.Context, _ *dbsqlite.Queries) (int64, error) {
			claimable, err := only.ListClaimableJobs(ctx, sqliteonly.ListClaimableJobsParams{
				Kinds: `["report","idle"]`, Queue: "default", Now: now, N: n, WorkerID: 1,
			})
			return int64(len(claimable)), err
		}, n},
		{"ClaimJobs", func(ctx context.Context, q *dbsqlite.Queries) (int64, error) {
			claimed, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
				WorkerID: 1, LeaseUntil: now, Now: now, Kinds: `["report","idle"]`, Queue: "default", N: n,
			})
			return int64(len(claimed)), err
		}, n},
		{"ListHeldJobs", func(ctx context.Context, q *dbsqlite.Queries) (int64, error) {
			held, err := q.ListHeldJobs(ctx, 1)
			return int64(len(held)), err
		}, n},
		{"CountHousework", func(ctx context.Context, q *dbsqlite.Queries) (int64, error) {
			work, err := q.CountHousework(ctx, dbsqlite.CountHouseworkParams{WorkerID: 1, LeaseBefore: now})
			return work.Stuck, err
		}, 0},
		{"CompleteJobs", func(ctx context.Context, q *dbsqlite.Queries) (int64, error) {
			// The wanted jobs are all alike, so the first ones by id were claimed.
			return q.CompleteJobs(ctx, db.CompleteJobsParams{Now: now, WorkerID: 1, Attempt: 1, Ids: firstIDs})
		}, n},
		{"StartJobRange", func(ctx context.Context, _ *dbsqlite.Queries) (int64, error) {
			return only.StartJobRange(ctx, sqliteonly.StartJobRangeParams{WorkerID: 1, LeaseUntil: now, Now: now, First: n + 1, Last: 2 * n})
		}, n},
		{"CompleteJobRange", func(ctx context.Context, _ *dbsqlite.Queries) (int64, error) {
			return only.CompleteJobRange(ctx, sqliteonly.CompleteJobRangeParams{Now: now, WorkerID: 1, Attempt: 1, First: n + 1, Last: 2 * n})
		}, n},
		{"DeleteFailedJobs", func(ctx context.Context, q *dbsqlite.Queries) (int64, error) {
			return q.DeleteFailedJobs(ctx, db.DeleteFailedJobsParams{Status: "cancelled", Before: now, N: n})
		}, 0},
	}

	costs := func(t *testing.T, sorts ...string) map[string]int {
		pool, _ := sqliteEngine().at(t, 0)
		mustExec(t, pool, wanted)
		for _, sort := range sorts {
			mustExec(t, pool, ballast, sort, ballastRows)
		}
		mustExec(t, pool, `INSERT INTO sqluice_workers (name, lock_key, host, pid, version, queues, kinds, started_at, heartbeat_at, lease_until)
			VALUES ('w', 'k', 'h', 1, 'v', '{}', '[]', 0, 0, 0)`)
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		q := dbsqlite.New(conn)
		only = sqliteonly.New(conn)
		// The first statement reads the schema, which is no part of a claim.
		if _, err := q.GetNextRunAfter(t.Context()); err != nil {
			t.Fatal(err)
		}
		pages := map[string]int{}
		for _, s := range steps {
			before := pagesRead(t, conn)
			got, err := s.run(t.Context(), q)
			if err != nil || got != s.want {
				t.Fatalf("%s gave %d rows, want %d: %v", s.name, got, s.want, err)
			}
			pages[s.name] = pagesRead(t, conn) - before
		}
		return pages
	}

	empty := costs(t)
	for _, sort := range []string{"done", "failed", "scheduled", "unsupported"} {
		t.Run(fmt.Sprintf("%d %s jobs", ballastRows, sort), func(t *testing.T) {
			for name, pages := range costs(t, sort) {
				// A tree of a hundred thousand entries is two or three pages deeper, for each row and index.
				if most := 4*empty[name] + 20; pages > most {
					t.Errorf("%s reads %d pages, more than %d; %d without those jobs", name, pages, most, empty[name])
				}
				t.Logf("%s: %d pages, %d without", name, pages, empty[name])
			}
		})
	}
}

// pagesRead returns the number of pages that a connection has asked for so far.
func pagesRead(t *testing.T, conn *sql.Conn) int {
	t.Helper()
	total := 0
	err := conn.Raw(func(driver any) error {
		for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
			n, _, err := driver.(sqlite.DBStatus).Status(op, false)
			if err != nil {
				return err
			}
			total += n
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}
