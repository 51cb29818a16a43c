package maintenance

import (
	"cmp"
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/internal/queue/schedule"
)

// freeMost is the largest number of successors that one transaction releases.
const freeMost = 1000

// releasedAgain is the log's text at the end of a time in which releases failed.
const releasedAgain = "successors of jobs with unique keys are released again"

// successorReleaser releases the successors whose unique keys are free: successors of jobs that a caller has deleted or plain SQL has
// ended, and successors that were locked when the jobs before them ended.
type successorReleaser struct {
	store  engine.Store
	failed *outage.Outage
}

func (*successorReleaser) name() string { return "releasing successors of jobs with unique keys" }

// due reports whether a unique key with a successor is free. If none is, it also ends the record of failures: another worker has released
// the successors, or the keys are taken again.
func (r *successorReleaser) due(work db.GetScheduleWorkRow, _ int64) bool {
	if work.Free == 0 {
		r.failed.Over(releasedAgain)
	}
	return work.Free > 0
}

func (*successorReleaser) next(db.GetScheduleWorkRow) []int64 { return nil }

// settle implements tolerant. The next look tries again: a key was taken again, or the database refuses it.
func (r *successorReleaser) settle(err error, _ time.Time) error {
	note(r.failed, err, releasedAgain, r.name()+" failed; trying again")
	return nil
}

// run releases the successors, and wakes runners when it released any. A successor that the database refuses stops no other; the error is
// the last refusal.
func (r *successorReleaser) run(ctx context.Context, w schedule.Watch) (last error) {
	released := false
	defer func() {
		if released {
			r.store.Announce(core.WorkReady)
		}
	}()
	page := db.ListFreeSuccessorsParams{N: freeMost}
	for {
		var list []db.ListFreeSuccessorsRow
		err := r.store.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
			list, err = q.ListFreeSuccessors(ctx, page)
			return err
		})
		if err != nil {
			return err
		}
		keys := make([][2]string, len(list))
		for i, s := range list {
			keys[i] = [2]string{s.Kind, s.UniqueKey}
			page.AfterKind, page.AfterKey = s.Kind, s.UniqueKey
		}
		err = refusal.Split(keys, r.store.RefusesRow, func(part [][2]string) error {
			return r.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
				n, err := lifecycle.Release(ctx, q, core.Micros(w.Now), part)
				released = released || n > 0
				return err
			})
		}, func(_ [2]string, err error) error {
			last = err
			return nil
		})
		if err != nil || len(list) < freeMost {
			return cmp.Or(err, last)
		}
	}
}
