package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// Notes are added up every few seconds. Readers add up the rest, so this bounds what they read; adding up takes at most a
	// hundredth of the time.
	rollupEvery = 5 * time.Second
	rollupShare = 100
	rollupMost  = 10_000 // notes in one transaction
	rollupLook  = time.Minute
	rollupLast  = 5 * time.Second // the limit of Finish
)

// Rollup adds up what transactions note of jobs, and how long jobs of this process waited and ran, to the counts and to the
// history. Make one with NewRollup. All methods may be called concurrently, but for Run and Finish.
type Rollup struct {
	scope *engine.Scope
	log   *slog.Logger

	mu        sync.Mutex
	durations stats.Durations // not yet in the history
	noted     bool            // the database may hold notes to add up
}

// NewRollup returns a Rollup that looks for notes of other processes first.
func NewRollup(scope *engine.Scope, log *slog.Logger) *Rollup {
	return &Rollup{scope: scope, log: log, durations: stats.Durations{}, noted: true}
}

// Name implements Service.
func (*Rollup) Name() string { return "rollup" }

// Run implements Service.
func (r *Rollup) Run(ctx context.Context) {
	pause, looked := rollupEvery, time.Now()
	for outage.Sleep(ctx, pause) {
		began := time.Now()
		if began.Sub(looked) >= rollupLook {
			looked = began
			r.Note() // other processes may have noted changes and ended before they added them up
		}
		err := r.addUp(ctx)
		if err != nil && ctx.Err() == nil {
			r.log.Error("adding up counts failed; trying again later", "error", err)
		}
		if pause = rollupEvery; err == nil {
			pause = min(max(rollupEvery, rollupShare*time.Since(began)), rollupLook)
		}
	}
}

// Finish adds up the rest, after Run has returned. It takes at most five seconds, and ignores the end of ctx.
func (r *Rollup) Finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollupLast)
	defer cancel()
	if err := r.addUp(ctx); err != nil {
		r.log.Warn("adding up counts failed at the end: how long the last jobs took is not in the history", "error", err)
	}
}

// Note says that the database holds notes to add up.
func (r *Rollup) Note() { r.Add(nil) }

// Add notes durations, and that the database holds notes to add up. It keeps nothing of its argument.
func (r *Rollup) Add(durations stats.Durations) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.durations.Merge(durations)
	r.noted = true
}

// AddJob notes how long one job waited and ran, from the time on at which it ended.
func (r *Rollup) AddJob(queue, kind string, at time.Time, waited, ran time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.durations.Add(queue, kind, at, waited, ran)
	r.noted = true
}

func (r *Rollup) addUp(ctx context.Context) error {
	durations, noted := r.take()
	if !noted {
		return nil
	}
	left, err := AddUp(ctx, r.scope, durations)
	if err == nil {
		return nil
	}
	if errors.Is(err, jobtype.ErrUnknownOutcome) {
		left = nil // they may have been added, and better too few than twice
	}
	r.Add(left)
	return err
}

// take returns the durations and clears them; noted reports whether there is anything to add up.
func (r *Rollup) take() (durations stats.Durations, noted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	durations, noted = r.durations, r.noted
	r.durations, r.noted = stats.Durations{}, false
	return durations, noted
}

// AddUp moves the notes that the database holds into the sums, together with durations. It returns those of the durations
// that were not added.
func AddUp(ctx context.Context, scope *engine.Scope, durations stats.Durations) (left stats.Durations, err error) {
	for more := true; more; durations = nil {
		err := scope.Write(ctx, 0, func(ctx context.Context, q db.Querier) (err error) {
			more, err = stats.AddUp(ctx, q, rollupMost, durations)
			return err
		})
		if err != nil {
			return durations, fmt.Errorf("add up counts: %w", err)
		}
	}
	return nil, nil
}
