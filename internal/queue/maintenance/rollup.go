package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

const (
	// Notes are added up every few seconds. Readers add up the rest, so this bounds the notes that they read; adding up takes
	// at most a hundredth of the time.
	rollupEvery = 5 * time.Second
	rollupShare = 100
	rollupMost  = 10_000 // notes in one transaction
	rollupLook  = time.Minute
	rollupLast  = 5 * time.Second // the time limit of Finish
	rollupSkips = 100             // the number of refused rows after which one call ends
)

// Rollup adds the rows of sqluice_job_changes, and the waiting and running times of this process's jobs, to the counts
// and to the history. Make one with NewRollup. All methods except Run and Finish may be called concurrently.
type Rollup struct {
	scope *engine.Scope
	log   *slog.Logger
	notes *refusal.Notes
	names *stats.Names // bounds the names in the history

	mu        sync.Mutex
	durations stats.Durations // not yet in the history
	noted     bool            // the database may hold notes to add up
}

// NewRollup returns a Rollup that first looks for notes of other processes. names is the number of names with their own rows in a
// step of the history.
func NewRollup(scope *engine.Scope, log *slog.Logger, notes *refusal.Notes, names int) *Rollup {
	return &Rollup{scope: scope, log: log, notes: notes, names: &stats.Names{Most: names}, durations: stats.Durations{}, noted: true}
}

// Name implements Service.
func (*Rollup) Name() string { return "rollup" }

// Run implements Service.
func (r *Rollup) Run(ctx context.Context) {
	pause, looked := rollupEvery, time.Now()
	trouble := outage.New(r.log)
	for outage.Sleep(ctx, pause) {
		began := time.Now()
		if began.Sub(looked) >= rollupLook {
			looked = began
			r.Note() // other processes may have noted changes and ended before they added them up
		}
		err := r.addUp(ctx)
		refused := err != nil && r.scope.Store.RefusesRow(err)
		switch {
		case refused:
			r.notes.Report("add up counts", "a note", err)
			pause = min(2*pause, rollupLook)
			continue
		case err != nil && ctx.Err() == nil:
			trouble.Failed(slog.LevelError, "adding up counts failed; trying again later", "error", err)
		case err == nil:
			trouble.Over("counts are added up again")
		}
		if pause = rollupEvery; err == nil {
			pause = min(max(rollupEvery, rollupShare*time.Since(began)), rollupLook)
		}
	}
}

// Finish adds up the rest, after Run has returned. It takes at most five seconds.
func (r *Rollup) Finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rollupLast)
	defer cancel()
	if err := r.addUp(ctx); err != nil {
		r.log.Warn("adding up counts failed at the end: how long the last jobs took is not in the history", "error", err)
	}
}

// Note records that the database holds changes to add up.
func (r *Rollup) Note() { r.Add(nil) }

// Add records durations, and that the database holds notes to add up. It keeps no reference to its argument.
func (r *Rollup) Add(durations stats.Durations) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.durations.Merge(durations)
	r.noted = true
}

func (r *Rollup) addUp(ctx context.Context) error {
	durations, noted := r.take()
	if !noted {
		return nil
	}
	left, err := addUp(ctx, r.scope, durations, r.names)
	if err == nil {
		return nil
	}
	if errors.Is(err, jobtype.ErrUnknownOutcome) {
		left = nil // the durations may have been added: they are rather lost than counted twice
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

// addUp adds the notes in the database and durations to the sums. It returns the durations that were not added. A refusal
// of the database stops nothing else; the error is then the last refusal.
func addUp(ctx context.Context, scope *engine.Scope, durations stats.Durations, names *stats.Names) (left stats.Durations, err error) {
	a := adder{scope: scope, names: names, durations: durations, after: math.MinInt64, most: rollupMost}
	for more := true; more && err == nil; {
		more, err = a.next(ctx)
	}
	if err == nil && a.left != nil { // the durations are added without notes
		if err = a.add(ctx, 0, a.left); err == nil {
			a.left, a.refused = nil, nil
		}
	}
	if err == nil {
		err = a.refused
	}
	if err != nil {
		err = fmt.Errorf("add up counts: %w", err)
	}
	return a.left, err
}

// adder holds the state of one addUp.
type adder struct {
	scope     *engine.Scope
	names     *stats.Names
	durations stats.Durations // to be added with the next notes
	left      stats.Durations // not yet added, and not to be added with notes
	after     int64           // the id of the last skipped note: only later ones are added
	most      int64           // the largest number of notes in one transaction
	more      bool
	skipped   int
	refused   error // the last refusal
}

func (a *adder) add(ctx context.Context, most int64, durations stats.Durations) error {
	return a.scope.Write(ctx, 0, func(ctx context.Context, q db.Querier) (err error) {
		a.more, err = stats.AddUp(ctx, q, a.after, most, durations, a.names)
		return err
	})
}

// next adds the next notes. When the database refuses them, it takes fewer the next time, and skips a note that is refused by
// itself.
func (a *adder) next(ctx context.Context) (more bool, err error) {
	err = a.add(ctx, a.most, a.durations)
	if err == nil {
		a.durations, a.most = nil, min(2*a.most, rollupMost)
		return a.more, nil
	}
	if a.durations != nil {
		a.left, a.durations = a.durations, nil
	}
	if !a.scope.Store.RefusesRow(err) {
		return false, err
	}
	a.refused = err
	if a.most > 1 {
		a.most = max(1, a.most/4)
		return true, nil
	}
	a.skipped++
	err = a.scope.ReadAsRunner(ctx, func(ctx context.Context, q db.Querier) (err error) {
		a.after, err = q.GetNextJobChange(ctx, a.after)
		return err
	})
	return err == nil && a.after != 0 && a.skipped < rollupSkips, err
}
