package inspect

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/limits"
	"github.com/sqluice/sqluice/jobs"
)

// readLimit reads the limits for whose room the job waits.
func (w *why) readLimit(ctx context.Context, q db.Querier) error {
	if w.job.LimitKey == nil || w.job.Status != jobs.StatusWaiting {
		return nil
	}
	rows, err := q.ReadLimits(ctx, core.JSONList([][2]string{{w.job.Kind, *w.job.LimitKey}}))
	if err != nil {
		return err
	}
	for _, r := range rows {
		w.limits = append(w.limits, heldBy{
			fmt.Sprintf("the limit of the kind %s and the key %s", strconv.Quote(r.Kind), strconv.Quote(r.LimitKey)),
			r.Active + r.Keyless, r.Running, r.Starts, r.Period, r.Burst, r.PaidUntil, r.ClosedUntil,
		})
	}
	wholes, err := q.ReadWholeLimits(ctx, db.ReadWholeLimitsParams{
		Queues: core.JSONNames([]string{w.job.Queue}), Kinds: core.JSONNames([]string{w.job.Kind}),
	})
	for _, r := range wholes {
		of, active := fmt.Sprintf("the limit of the queue %s", strconv.Quote(r.Name)), r.Active
		if r.Scope == limits.ScopeTotal {
			of, active = fmt.Sprintf("the limit of all jobs of the kind %s", strconv.Quote(r.Name)), r.Active+r.Keyless
		}
		w.limits = append(w.limits, heldBy{of, active, r.Running, r.Starts, r.Period, r.Burst, r.PaidUntil, 0})
	}
	return err
}

// heldBy is a limit that may hold a job.
type heldBy struct {
	of                                                             string
	active, running, starts, period, burst, paidUntil, closedUntil int64
}

// usedUp reports whether earlier starts have used up the rate at a time.
func (l heldBy) usedUp(now int64) bool {
	interval := (l.period + l.starts - 1) / l.starts
	return l.paidUntil-now+interval > max(1, l.burst)*interval
}

// limitFinding returns the first limit of a waiting job that lacks room.
func (w *why) limitFinding(now time.Time) possible {
	for _, l := range w.limits {
		switch closed := core.Time(l.closedUntil); {
		case closed.After(now):
			return possible{true, newFinding(ReasonLimit, "%s starts no job until %s: a handler throttled it", l.of, moment(closed))}
		case l.running > 0 && l.active >= l.running:
			return possible{true, newFinding(ReasonLimit, "%s has %d jobs running, of %d", l.of, l.active, l.running)}
		case l.starts > 0 && l.usedUp(core.Micros(now)):
			return possible{true, newFinding(ReasonLimit, "%s starts %d jobs in %s, which earlier ones have used up until %s at the latest",
				l.of, l.starts, core.Duration(l.period), moment(core.Time(l.paidUntil)))}
		}
	}
	return possible{}
}
