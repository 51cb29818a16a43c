package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// roleFinished adds t.Jobs finished rows, and then vacuums as autovacuum does after so much change.
const roleFinished = "finished"

// besides returns the states of the table, on PostgreSQL, in which a claim must not cost much more than in an empty one.
func besides(measure func(context.Context, running) (figures, error)) []variant {
	return []variant{
		{"empty table", measure},
		{"finished rows", func(ctx context.Context, r running) (figures, error) {
			others := r.task(roleFinished)
			others.Jobs = r.backlog
			if err := r.prepare(ctx, others); err != nil {
				return figures{}, err
			}
			return measure(ctx, r)
		}},
		{"old snapshot", func(ctx context.Context, r running) (figures, error) {
			end, err := r.oldSnapshot(ctx)
			if err != nil {
				return figures{}, err
			}
			f, err := measure(ctx, r)
			return f, errors.Join(err, end())
		}},
	}
}

// churn is the number of jobs that are enqueued and finished beside an old snapshot before the measurement.
const churn = 50_000

// oldSnapshot opens a transaction that keeps the server from removing any row version from its start on.
func (r running) oldSnapshot(ctx context.Context) (end func() error, err error) {
	t := r.task(roleBulk)
	t.Jobs = 1 // makes the schema
	if err := r.prepare(ctx, t); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, r.database.path)
	if err != nil {
		return nil, err
	}
	end = func() error { return conn.Close(context.WithoutCancel(ctx)) }
	_, err = conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM pg_class")
	if err == nil {
		t.Jobs = churn
		err = r.prepare(ctx, t)
	}
	if err == nil {
		t.Role = roleDrain
		err = r.prepare(ctx, t)
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// claimLaps is the number of jobs that are claimed one by one.
const claimLaps = 2000

// claims measures the transactions of a worker with one slot: each records the end of a job and claims the next.
func claims(role string) func(context.Context, running) (figures, error) {
	return func(ctx context.Context, r running) (figures, error) {
		t := r.profiled(r.task(role))
		t.Jobs, t.Concurrency = claimLaps, 1
		f, reports, err := r.together(ctx, []task{t})
		if err != nil {
			return figures{}, err
		}
		for _, lap := range reports[0].Laps {
			f.laps = append(f.laps, time.Duration(lap))
		}
		lost, again := countStarts(t.Jobs, reports[0].Begun)
		f.isRate = true
		f.errors += lost
		f.duplicates = again
		return f, nil
	}
}
