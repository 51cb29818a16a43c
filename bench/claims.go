package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// claimLaps is how many jobs are claimed one by one.
	claimLaps = 2000

	// churn is how many jobs are enqueued and finished beside an old snapshot before any claim is measured.
	churn = 50_000
)

// The transactions of a runner with one slot: the end of a job and the claim of the next. The part is the claiming
// statement in it, without the commit and its wait for the disk.

func claimsEmpty(ctx context.Context, s settings, d database) (figures, error) {
	return claims(ctx, d, func(*jobs.Client) (func() error, error) { return func() error { return nil }, nil })
}

// claimsBesideDone has a million finished rows.
func claimsBesideDone(ctx context.Context, s settings, d database) (figures, error) {
	return claims(ctx, d, func(client *jobs.Client) (func() error, error) {
		return func() error { return nil }, addDone(ctx, client, d, s.backlog)
	})
}

// claimsBesideSnapshot has a transaction that keeps the server from removing any version of a row since it began.
func claimsBesideSnapshot(ctx context.Context, s settings, d database) (figures, error) {
	return claims(ctx, d, func(client *jobs.Client) (func() error, error) {
		conn, err := pgx.Connect(ctx, d.path)
		if err != nil {
			return nil, err
		}
		end := func() error { return conn.Close(context.WithoutCancel(ctx)) }
		_, err = conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM jobs")
		if err != nil {
			return nil, errors.Join(err, end())
		}
		if _, err := noop.EnqueueMany(ctx, client, payloads(churn)); err != nil {
			return nil, errors.Join(err, end())
		}
		if _, err := drainWith(ctx, client, s.concurrency); err != nil {
			return nil, errors.Join(err, end())
		}
		return end, nil
	})
}

// claims measures claims one by one after prepare; what that returns ends what it began.
func claims(ctx context.Context, d database, prepare func(*jobs.Client) (func() error, error)) (_ figures, err error) {
	store, client, err := open(ctx, d)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	end, err := prepare(client)
	if err != nil {
		return figures{}, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if _, err := noop.EnqueueMany(ctx, client, payloads(claimLaps)); err != nil {
		return figures{}, err
	}
	timed := &timedStore{Store: store}
	clock := d.start()
	ran, err := drainWith(ctx, jobs.New(timed), 1)
	if err == nil && ran != claimLaps {
		err = fmt.Errorf("%d jobs ran, not %d", ran, claimLaps)
	}
	f := clock.stop(claimLaps)
	f.laps, f.part, f.partName = timed.writes, timed.statements, "ClaimJobs alone"
	return f, err
}

// timedStore measures the writes that claim something.
type timedStore struct {
	jobs.Store

	mu         sync.Mutex
	writes     []time.Duration
	statements []time.Duration
}

func (s *timedStore) Write(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	q := &timedQuerier{}
	begin := time.Now()
	err := s.Store.Write(ctx, func(ctx context.Context, inner db.Querier) error {
		*q = timedQuerier{Querier: inner} // the store may run it again
		return fn(ctx, q)
	})
	if err == nil && q.claimed {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.writes = append(s.writes, time.Since(begin))
		s.statements = append(s.statements, q.spent)
	}
	return err
}

// timedQuerier measures a claim.
type timedQuerier struct {
	db.Querier
	claimed bool
	spent   time.Duration
}

func (q *timedQuerier) ClaimJobs(ctx context.Context, arg db.ClaimJobsParams) ([]db.ClaimJobsRow, error) {
	begin := time.Now()
	rows, err := q.Querier.ClaimJobs(ctx, arg)
	q.spent = time.Since(begin)
	q.claimed = len(rows) > 0
	return rows, err
}

// addDone adds finished rows, and does what autovacuum does after that many.
func addDone(ctx context.Context, _ *jobs.Client, d database, n int) error {
	conn, err := pgx.Connect(ctx, d.path)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
INSERT INTO jobs (kind, payload, status, attempt, worker_id, run_after, created_at, updated_at, started_at, finished_at)
SELECT 'noop', json_build_object('n', g, 'pad', repeat('x', 80))::text, 'done', 1, 0, $1, $1, $1, $1, $1
FROM generate_series(1, $2) AS g`, time.Now().UnixMicro(), n)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE) jobs")
	return err
}

func drainDone(ctx context.Context, s settings, d database) (figures, error) {
	return drainBeside(ctx, s, d, addDone)
}
