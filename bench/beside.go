package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/jobs"
)

// beside makes the surroundings of a measurement on PostgreSQL; what it returns ends them.
type beside func(ctx context.Context, s settings, d database, client *jobs.Client) (end func() error, err error)

// openBeside opens a queue and makes its surroundings; end ends both.
func openBeside(ctx context.Context, s settings, d database, surround beside) (store jobs.Store, client *jobs.Client, end func() error, err error) {
	store, client, err = open(ctx, d)
	if err != nil {
		return nil, nil, nil, err
	}
	undo, err := surround(ctx, s, d, client)
	if err != nil {
		return nil, nil, nil, errors.Join(err, store.Close())
	}
	return store, client, func() error { return errors.Join(undo(), store.Close()) }, nil
}

func besideNothing(context.Context, settings, database, *jobs.Client) (func() error, error) {
	return func() error { return nil }, nil
}

// besideDone adds finished rows, and does what autovacuum does after that many.
func besideDone(ctx context.Context, s settings, d database, _ *jobs.Client) (func() error, error) {
	conn, err := pgx.Connect(ctx, d.path)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
INSERT INTO jobs (kind, payload, status, attempt, worker_id, run_after, created_at, updated_at, started_at, finished_at)
SELECT 'noop', json_build_object('n', g, 'pad', repeat('x', 80))::text, 'done', 1, 0, t, t, t, t, t
FROM generate_series(1, CAST($2 AS BIGINT)) AS g, (SELECT CAST($1 AS BIGINT)) AS n (t)`, time.Now().UnixMicro(), s.backlog)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "VACUUM (ANALYZE) jobs"); err != nil {
		return nil, err
	}
	return func() error { return nil }, nil
}

// churn is how many jobs are enqueued and finished beside an old snapshot before anything is measured.
const churn = 50_000

// besideSnapshot opens a transaction that keeps the server from removing any version of a row since it began.
func besideSnapshot(ctx context.Context, s settings, d database, client *jobs.Client) (func() error, error) {
	conn, err := pgx.Connect(ctx, d.path)
	if err != nil {
		return nil, err
	}
	end := func() error { return conn.Close(context.WithoutCancel(ctx)) }
	_, err = conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM jobs")
	if err == nil {
		_, err = noop.EnqueueMany(ctx, client, payloads(0, churn, 80))
	}
	if err == nil {
		_, err = drainWith(ctx, client, s.concurrency)
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}
