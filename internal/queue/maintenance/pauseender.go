package maintenance

import (
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

// pauseEnder ends the pauses of queues and kinds that are over.
type pauseEnder struct {
	store   engine.Store
	refused *outage.Outage // pauses that the database refuses to end
	again   time.Time      // the next try after a refusal
}

func (*pauseEnder) name() string { return "ending pauses" }

func (p *pauseEnder) due(work db.GetScheduleWorkRow, now int64) bool {
	return work.PauseEnd != 0 && work.PauseEnd <= now && !core.Time(now).Before(p.again)
}

func (*pauseEnder) next(work db.GetScheduleWorkRow) []int64 { return []int64{work.PauseEnd} }

// run ends the pauses. If the database refuses to end one, the others end all the same, and the error is the database's last refusal.
func (p *pauseEnder) run(ctx context.Context, _ schedule.Watch) error {
	now := core.Micros(p.store.Now())
	ended, err := p.endTogether(ctx, db.EndPausesParams{Now: now})
	if err != nil && p.store.RefusesRow(err) {
		ended, err = p.endApart(ctx, now)
	}
	if ended > 0 {
		p.store.Announce(core.WorkReady)
	}
	if err != nil {
		return fmt.Errorf("end pauses: %w", err)
	}
	return nil
}

// settle implements tolerant: schedules, and jobs with a time, do not wait for pauses that the database refuses to end.
func (p *pauseEnder) settle(err error, now time.Time) error {
	if err != nil && !p.store.RefusesRow(err) {
		return err
	}
	note(p.refused, err, "pauses end again", "the database refuses to end pauses; trying again")
	if p.again = now; err != nil {
		p.again = now.Add(outage.Backoff(p.refused.Failures())) // no longer: other pauses end meanwhile
	}
	return nil
}

// endTogether ends pauses in one transaction and returns their number.
func (p *pauseEnder) endTogether(ctx context.Context, which db.EndPausesParams) (ended int64, err error) {
	err = p.store.Write(ctx, func(ctx context.Context, q db.Querier) (err error) {
		ended, err = q.EndPauses(ctx, which)
		return err
	})
	if err != nil {
		return 0, err
	}
	return ended, nil
}

// endApart ends each pause that is over in a separate transaction and returns the number of ended ones.
func (p *pauseEnder) endApart(ctx context.Context, now int64) (ended int64, err error) {
	var pauses []db.Pause
	err = p.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
		pauses, err = q.ListPauses(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	var last error
	for _, pause := range pauses {
		if pause.PausedUntil == nil || *pause.PausedUntil > now {
			continue
		}
		n, err := p.endTogether(ctx, db.EndPausesParams{Now: now, Queue: &pause.Queue, Kind: &pause.Kind})
		ended += n
		switch {
		case err != nil && p.store.RefusesRow(err):
			last = err
		case err != nil:
			return ended, err
		}
	}
	return ended, last
}
