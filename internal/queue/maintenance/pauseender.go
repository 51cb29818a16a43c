package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
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

// run ends the pauses. If the database refuses to end one, run still ends the others, and returns the database's last refusal.
func (p *pauseEnder) run(ctx context.Context, _ schedule.Watch) (last error) {
	var ended int64
	over, err := p.over(ctx, core.Micros(p.store.Now()))
	if err == nil {
		err = refusal.Split(over, p.store.RefusesRow, func(part []db.EndPausesParams) error {
			n, err := p.end(ctx, part)
			ended += n
			return err
		}, func(_ db.EndPausesParams, err error) error {
			last = err
			return nil
		})
	}
	if ended > 0 {
		p.store.Announce(core.WorkReady)
	}
	if err = cmp.Or(err, last); err != nil {
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

// end ends pauses in one transaction and returns their number.
func (p *pauseEnder) end(ctx context.Context, which []db.EndPausesParams) (ended int64, err error) {
	err = p.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		ended = 0
		for _, pause := range which {
			n, err := q.EndPauses(ctx, pause)
			if err != nil {
				return err
			}
			ended += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return ended, nil
}

// over returns each pause that is over.
func (p *pauseEnder) over(ctx context.Context, now int64) (over []db.EndPausesParams, err error) {
	err = p.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		pauses, err := q.ListPauses(ctx)
		over = nil
		for _, pause := range pauses {
			if pause.PausedUntil != nil && *pause.PausedUntil <= now {
				over = append(over, db.EndPausesParams{Now: now, Queue: &pause.Queue, Kind: &pause.Kind})
			}
		}
		return err
	})
	return over, err
}
