package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

// claimLaps is how many jobs are claimed one by one.
const claimLaps = 2000

// claims measures the transactions of a runner with one slot: each records the end of a job and claims the next. The
// part is the claiming statement in it, without the commit and its wait for the disk.
func claims(surround beside) func(context.Context, settings, database) (figures, error) {
	return func(ctx context.Context, s settings, d database) (_ figures, err error) {
		store, client, end, err := openBeside(ctx, s, d, surround)
		if err != nil {
			return figures{}, err
		}
		defer func() { err = errors.Join(err, end()) }()
		if _, err := noop.EnqueueMany(ctx, client, payloads(0, claimLaps, 80)); err != nil {
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
