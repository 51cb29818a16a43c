package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/jobs"
)

// backlogRole adds finished rows, and as many that are scheduled.
func backlogRole(ctx context.Context, t task, p *parent) (report, error) {
	return withClient(ctx, t, p, func(client *jobs.Client) (report, error) {
		err := addMany(t, func(list []args) error {
			_, err := noop.EnqueueMany(ctx, client, list, jobs.In(24*time.Hour), jobs.Priority(jobs.MaxPriority))
			return err
		})
		if err != nil {
			return report{}, err
		}
		return report{}, addFinished(ctx, t)
	})
}

// finishedRole adds only finished rows.
func finishedRole(ctx context.Context, t task, p *parent) (report, error) {
	return withClient(ctx, t, p, func(*jobs.Client) (report, error) { return report{}, addFinished(ctx, t) })
}

func addFinished(ctx context.Context, t task) error {
	add := addFinishedSQLite
	if isPostgres(t.Path) {
		add = addFinishedPostgres
	}
	if err := add(ctx, t); err != nil {
		return err
	}
	return settle(ctx, t.Path)
}

func addFinishedPostgres(ctx context.Context, t task) error {
	conn, err := pgx.Connect(ctx, t.Path)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
INSERT INTO sqluice_jobs (kind, payload, status, attempt, worker_id, run_after, created_at, updated_at, started_at, finished_at)
SELECT 'noop', json_build_object('n', g, 'pad', repeat('x', CAST($3 AS INTEGER)))::text, 'done', 1, 1, t, t, t, t, t
FROM generate_series(1, CAST($2 AS BIGINT)) AS g, (SELECT CAST($1 AS BIGINT)) AS n (t)`, time.Now().UnixMicro(), t.Jobs, t.Size)
	return err
}

// settle does the later work of a database, so that no measurement meets it by chance.
func settle(ctx context.Context, path string) error {
	if !isPostgres(path) {
		pool, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
		if err != nil {
			return err
		}
		defer pool.Close()
		_, err = pool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)") // the rest of a WAL is not part of a steady state
		return err
	}
	conn, err := pgx.Connect(ctx, path)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return settlePostgres(ctx, conn)
}

// settlePostgres does the later work of autovacuum and the checkpointer after that many rows. A drain of a second that
// meets them by chance does not show a steady state.
func settlePostgres(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "VACUUM (ANALYZE)"); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "CHECKPOINT")
	return err
}

func addFinishedSQLite(ctx context.Context, t task) error {
	pool, err := sql.Open("sqlite", t.Path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(1)")
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.ExecContext(ctx, `
INSERT INTO sqluice_jobs (kind, payload, status, attempt, worker_id, run_after, created_at, updated_at, started_at, finished_at)
WITH RECURSIVE numbers (g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM numbers WHERE g < ?2)
SELECT 'noop', json_object('n', g, 'pad', printf('%.*c', ?3, 'x')), 'done', 1, 1, ?1, ?1, ?1, ?1, ?1 FROM numbers`,
		time.Now().UnixMicro(), t.Jobs, t.Size)
	return err
}
