package maintenance

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
)

const (
	// aheadLook is the interval of the looks for times that a clock wrote while it was ahead.
	aheadLook = time.Minute

	// ticksAhead is the time ahead of now up to which recorded ticks of a corrected schedule are kept: they were fired, and are not due again.
	ticksAhead = 24 * time.Hour
)

// clockMender mends the times that a clock wrote while it was ahead. Without it, unique keys that are taken for a time, pauses that end by
// themselves, and next ticks of schedules would last until the clock has caught up. One goroutine uses it.
type clockMender struct {
	store   engine.Store
	log     *slog.Logger
	looked  time.Time      // the last look, by the process's clock
	clock   time.Time      // the store's clock at the last call
	refused *outage.Outage // mendings that the database refuses
}

// look mends once a minute, and at once when the clock was set back.
func (m *clockMender) look(ctx context.Context) error {
	at, now := time.Now(), m.store.Now()
	back := now.Before(m.clock.Add(-core.ClockAhead))
	m.clock = now
	if !m.looked.IsZero() && !back && at.Sub(m.looked) < aheadLook {
		return nil
	}
	err := m.mend(ctx, now)
	if err != nil && !m.isRefusal(err) {
		return err
	}
	m.looked = at
	note(m.refused, err, "times that a clock wrote that was ahead are mended again", "mending times that a clock wrote that was ahead failed; trying again")
	return nil
}

// mend looks once. It writes only when there is something to mend. A refusal of the database stops no other mending; the error is
// the last refusal.
func (m *clockMender) mend(ctx context.Context, now time.Time) (last error) {
	at, late := core.Micros(now), core.Micros(now.Add(core.ClockAhead))
	var found db.CountAheadRow
	err := m.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		found, err = q.CountAhead(ctx, late)
		return err
	})
	if err != nil {
		return fmt.Errorf("find times written by a clock that was ahead: %w", err)
	}
	for _, part := range []struct {
		found int64
		name  string
		mend  func(ctx context.Context, q db.Querier) (mended any, err error)
	}{
		{found.UniqueKeys, "unique_keys", func(ctx context.Context, q db.Querier) (any, error) {
			return q.MendUniqueKeys(ctx, db.MendUniqueKeysParams{Now: at, Late: late})
		}},
		{found.Pauses, "pauses", func(ctx context.Context, q db.Querier) (any, error) {
			return q.MendPauses(ctx, db.MendPausesParams{Now: at, Late: late})
		}},
		{found.Schedules, "schedules", func(ctx context.Context, q db.Querier) (any, error) { return mendSchedules(ctx, q, at, late) }},
	} {
		if part.found == 0 {
			continue
		}
		var mended any
		// The write does not wait for an application's transactions, which may last.
		err := m.store.Write(engine.Briefly(ctx), func(ctx context.Context, q db.Querier) (err error) {
			mended, err = part.mend(ctx, q)
			return err
		})
		switch {
		case err == nil:
			m.log.Warn("the clock was ahead and is right again: what it wrote goes on from now", "what", part.name, "mended", mended)
		case m.isRefusal(err):
			last = fmt.Errorf("%s: %w", part.name, err)
		default:
			return fmt.Errorf("correct times written by a clock that was ahead: %w", err)
		}
	}
	return last
}

// isRefusal reports whether an error concerns only the rows that it mends.
func (m *clockMender) isRefusal(err error) bool {
	return m.store.RefusesRow(err) || lifecycle.IsLocked(m.store, err)
}

// mendSchedules makes schedules go on now and returns their names. It removes fired ticks that lie far ahead: they come again at their
// time.
func mendSchedules(ctx context.Context, q db.Querier, now, late int64) ([]string, error) {
	names, err := q.MendSchedules(ctx, db.MendSchedulesParams{Now: now, Late: late})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := q.DeleteTicksAfter(ctx, db.DeleteTicksAfterParams{Schedule: name, After: now + ticksAhead.Microseconds()}); err != nil {
			return nil, err
		}
	}
	return names, nil
}
