package main

import (
	"context"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// roleClaims drains t.Jobs jobs that it adds, and reports the duration of each transaction that claimed a job.
	roleClaims = "claims"
	// roleClaimStatements does the same, and reports the duration of the claiming statement, without the commit and its
	// wait for the disk.
	roleClaimStatements = "claim statements"
)

func claimsRole(statements bool) role {
	return func(ctx context.Context, t task, p *parent) (report, error) {
		store, client, err := open(ctx, t)
		if err != nil {
			return report{}, err
		}
		defer store.Close()
		if _, err := noop.EnqueueMany(ctx, client, payloads(0, t.Jobs, t.Size)); err != nil {
			return report{}, err
		}
		timed := &timedStore{Store: store, statements: statements}
		log := newJournal(t.Jobs)
		runner, complaints, err := newRunner(jobs.New(timed), t, jobs.Retention{}, log.start)
		if err != nil {
			return report{}, err
		}
		return p.measure(func() (report, error) {
			err := runner.Drain(ctx)
			return report{Begun: log.starts(), Laps: timed.laps, Errors: int(complaints.count.Load())}, err
		})
	}
}

// timedStore measures the writes that claim jobs, or the claims in them.
type timedStore struct {
	jobs.Store
	statements bool

	mu   sync.Mutex
	laps []int64
}

func (s *timedStore) Write(ctx context.Context, fn work) error { return s.time(ctx, s.Store.Write, fn) }

func (s *timedStore) WriteOne(ctx context.Context, fn work) error {
	return s.time(ctx, s.Store.WriteOne, fn)
}

type work = func(context.Context, db.Querier) error

func (s *timedStore) time(ctx context.Context, write func(context.Context, work) error, fn work) error {
	q := &timedQuerier{}
	begin := time.Now()
	err := write(ctx, func(ctx context.Context, inner db.Querier) error {
		*q = timedQuerier{Querier: inner} // the store may run it again
		return fn(ctx, q)
	})
	if err == nil && q.claimed {
		lap := time.Since(begin)
		if s.statements {
			lap = q.spent
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.laps = append(s.laps, lap.Nanoseconds())
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
