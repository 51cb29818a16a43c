package runner

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// runOf returns a run that has not begun.
func runOf(t *testing.T, store engine.Store, config Config, queues map[string]int, handlers map[string]*Handler) *run {
	t.Helper()
	if handlers == nil {
		handlers = map[string]*Handler{"": {}}
	}
	e := &env{store: store, config: config, served: NewQueues(queues), log: slog.New(slog.DiscardHandler), handlers: handlers, values: context.WithoutCancel(t.Context()), finished: make(chan struct{}), settings: &jobrow.Declared{}}
	return newRun(e, Options{Scope: &engine.Scope{Store: store}, Registry: &Registry{}, Handlers: handlers})
}

// attemptOf returns an attempt of the run.
func (r *run) attemptOf(row db.ClaimJobsRow) *Attempt {
	return newAttempt(r.env, jobrow.Claimed(row, jobtype.DefaultQueue, 1, time.Now(), time.Now()))
}

// A fence that SQL invalidated and reused belongs to another attempt.
func TestRemoveLeavesAnotherAttempt(t *testing.T) {
	s := runOf(t, &endless{}, Config{}, nil, nil)
	old, other := s.attemptOf(db.ClaimJobsRow{ID: 1, Attempt: 1}), s.attemptOf(db.ClaimJobsRow{ID: 1, Attempt: 1})
	s.ledger.running[other.fence()] = other
	s.ledger.dropRunning(old)
	if s.ledger.running[other.fence()] != other {
		t.Error("the other attempt is not running")
	}
	s.ledger.dropRunning(other)
	if len(s.ledger.running) > 0 {
		t.Errorf("%d attempts are running", len(s.ledger.running))
	}
}

// When the contexts of handlers end, the contexts of later claimed attempts end too.
func TestCancelHandlers(t *testing.T) {
	s := runOf(t, &endless{}, Config{}, nil, nil)
	claim := func(id int64) *Attempt {
		a := s.attemptOf(db.ClaimJobsRow{ID: id, Attempt: 1})
		a.openContext(time.Now(), s.ledger.cancelled())
		s.ledger.running[a.fence()] = a
		return a
	}
	before := claim(1)
	if err := before.ctx.Err(); err != nil {
		t.Errorf("the context has ended: %v", err)
	}
	s.ledger.cancelHandlers(jobtype.ErrStopping)
	s.ledger.cancelHandlers(context.Canceled) // the first cause counts
	for _, a := range []*Attempt{before, claim(2)} {
		if cause := context.Cause(a.ctx); !errors.Is(cause, jobtype.ErrStopping) {
			t.Errorf("the context of job %d has ended by %v", a.job.ID, cause)
		}
	}
}
