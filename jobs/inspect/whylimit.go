package inspect

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/limits"
	"github.com/sqluice/sqluice/jobs"
)

// readLimit reads the limits for whose room the job waits.
func (w *why) readLimit(ctx context.Context, q db.Querier) error {
	if w.job.LimitKey == nil || w.job.Status != jobs.StatusWaiting {
		return nil
	}
	rows, err := q.ReadLimits(ctx, core.JSONKeys([][2]string{{w.job.Kind, *w.job.LimitKey}}))
	if err != nil {
		return err
	}
	sequences, err := lifecycle.ReadSequences(ctx, q, rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		w.limits = append(w.limits, heldBy{
			of:     fmt.Sprintf("the limit of the kind %s and the key %s", strconv.Quote(r.Kind), strconv.Quote(r.LimitKey)),
			Bounds: limits.OfKey(r), sequence: sequences[[2]string{r.Kind, r.LimitKey}],
		})
	}
	wholes, err := q.ReadWholeLimits(ctx, db.ReadWholeLimitsParams{
		Queues: core.JSONNames([]string{w.job.Queue}), Kinds: core.JSONNames([]string{w.job.Kind}),
	})
	for _, r := range wholes {
		of := fmt.Sprintf("the limit of the queue %s", strconv.Quote(r.Name))
		if r.Scope == core.ScopeTotal {
			of = fmt.Sprintf("the limit of all jobs of the kind %s", strconv.Quote(r.Name))
		}
		w.limits = append(w.limits, heldBy{of: of, Bounds: limits.OfWhole(r)})
	}
	return err
}

// heldBy is a limit that may hold a job.
type heldBy struct {
	of string
	limits.Bounds
	sequence lifecycle.Sequence // if the jobs run in order
}

// orderFinding says for which job of its sequence the job waits, if no other one runs.
func (l *heldBy) orderFinding(id int64) possible {
	failed, before := l.sequence.HeldBy(), l.sequence.Scheduled()
	switch first := l.sequence.First; {
	case l.Ordered == "":
		return possible{}
	case failed != 0:
		return possible{true, newFinding(ReasonLimit, "%s starts its jobs in order, and job %d has failed: retry it, delete it, or resume the sequence", l.of, failed)}
	case before != 0:
		return possible{true, newFinding(ReasonLimit, "%s starts its jobs in order, and job %d comes first: it is scheduled", l.of, before)}
	case first != id:
		return possible{true, newFinding(ReasonLimit, "%s starts its jobs in order, and job %d comes first", l.of, first)}
	}
	return possible{}
}

// limitFinding returns the first limit of a waiting job that lacks room.
func (w *why) limitFinding(now time.Time) possible {
	for _, l := range w.limits {
		switch closed := core.Time(l.ClosedUntil); {
		case closed.After(now):
			return possible{true, newFinding(ReasonLimit, "%s starts no job until %s: a handler throttled it", l.of, moment(closed))}
		case l.IsFull():
			return possible{true, newFinding(ReasonLimit, "%s has %d jobs running, of %d", l.of, l.Active, l.Running)}
		case l.TokensAt(core.Micros(now), 1) > core.Micros(now):
			return possible{true, newFinding(ReasonLimit, "%s starts %d jobs in %s, which earlier ones have used up until %s at the latest",
				l.of, l.Starts, core.Duration(l.Period), moment(core.Time(l.PaidUntil)))}
		}
		if found := l.orderFinding(w.job.ID); found != (possible{}) {
			return found
		}
	}
	return possible{}
}
