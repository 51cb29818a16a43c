package inspect

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// readLimit reads the limit for whose room the job waits.
func (w *why) readLimit(ctx context.Context, q db.Querier) error {
	if w.job.LimitKey == nil || w.job.Status != jobs.StatusWaiting {
		return nil
	}
	rows, err := q.ReadLimits(ctx, core.JSONList([][2]string{{w.job.Kind, *w.job.LimitKey}}))
	if err == nil && len(rows) > 0 {
		w.limit = &rows[0]
	}
	return err
}

// limitFinding returns what the limit of a waiting job lacks room for.
func (w *why) limitFinding(now time.Time) possible {
	if w.limit == nil {
		return possible{}
	}
	l, of := w.limit, fmt.Sprintf("the limit of the kind %s and the key %s", strconv.Quote(w.job.Kind), strconv.Quote(w.limit.LimitKey))
	switch closed := core.Time(l.ClosedUntil); {
	case closed.After(now):
		return possible{true, newFinding(ReasonLimit, "%s starts no job until %s: a handler throttled it", of, moment(closed))}
	case l.Running > 0 && l.Active >= l.Running:
		return possible{true, newFinding(ReasonLimit, "%s has %d jobs running, of %d", of, l.Active, l.Running)}
	case l.Starts > 0 && l.PaidUntil > core.Micros(now):
		return possible{true, newFinding(ReasonLimit, "%s starts %d jobs in %s, which earlier ones have used up until %s at the latest",
			of, l.Starts, core.Duration(l.Period), moment(core.Time(l.PaidUntil)))}
	}
	return possible{}
}
