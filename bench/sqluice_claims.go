package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	port "github.com/sqluice/sqluice/internal/queue/engine"
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
		timed := &timedStore{Store: port.StoreOf(store), statements: statements}
		log := newJournal(t.Jobs)
		runner, complaints, err := newRunner(jobs.New(port.SealStore(timed)), t, jobs.Retention{}, log.start)
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
	port.Store
	statements bool

	mu   sync.Mutex
	laps []int64
}

// Exchange measures a cycle that claims a job, or its claiming statements.
func (s *timedStore) Exchange(ctx context.Context, p port.Plan) (port.Outcome, error) {
	var spent time.Duration // all runs count: the store may run it again
	p.Ran = func(name string, took time.Duration, _ error) {
		if name == "ClaimJobs" {
			spent += took
		}
	}
	start := time.Now()
	out, err := s.Store.Exchange(ctx, p)
	if err == nil && slices.ContainsFunc(out.Claimed, func(rows []db.ClaimJobsRow) bool { return len(rows) > 0 }) {
		lap := time.Since(start)
		if s.statements {
			lap = spent
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.laps = append(s.laps, lap.Nanoseconds())
	}
	return out, err
}
