package limits

import (
	"context"
	"fmt"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Ordered returns the column of a limit that says whether the jobs of a key run in order, and what a failed one does to those behind it.
func Ordered(v jobtype.LimitValues) string {
	switch {
	case !v.Ordered:
		return ""
	case v.OnFail == "":
		return string(jobtype.OnFailHold)
	}
	return string(v.OnFail)
}

// Running returns the column of a limit that has the largest number of running jobs: jobs in order run one by one.
func Running(v jobtype.LimitValues) int {
	if v.Ordered {
		return 1
	}
	return v.Running
}

// readSequences finds the first job of each key whose jobs run in order. Where it cannot start from this queue the key has no room.
func (d *deal) readSequences(ctx context.Context, q db.Querier, limits []db.ReadLimitsRow) error {
	limits = slices.DeleteFunc(limits, func(l db.ReadLimitsRow) bool { return d.states[key{l.Kind, l.LimitKey}].room == 0 })
	sequences, err := lifecycle.ReadSequences(ctx, q, limits)
	for of, sequence := range sequences {
		s := d.states[key{of[0], of[1]}]
		if s.first = sequence.StartsFrom(d.queue); s.first == 0 {
			s.room, s.held = 0, true
		}
	}
	return err
}

// firsts returns the lanes with a share whose jobs start in any order, and the first jobs of the other ones.
func (d *deal) firsts() (free []key, firsts []int64) {
	for _, lane := range d.lanes {
		switch s := d.states[lane]; {
		case d.shares[lane] == 0:
		case s.Ordered == "":
			free = append(free, lane)
		case s.first != 0:
			firsts = append(firsts, s.first)
		}
	}
	return free, firsts
}

// Resume lets the jobs of a key go on that a failed one holds, and records that. It reports whether there was one.
func Resume(ctx context.Context, scope *engine.Scope, n Name) (bool, error) {
	if err := n.check(); err != nil {
		return false, fmt.Errorf("resume the sequence of %s: %w", n.Name, err)
	}
	of := [2]string{n.Name, n.Key}
	resumed, err := n.recorded(ctx, scope, jobtype.ActionResumeSequence, nil, func(ctx context.Context, q db.Querier, now int64) (bool, error) {
		rows, err := q.ReadLimits(ctx, keys([]key{{n.Name, n.Key}}))
		if err != nil {
			return false, err
		}
		list, err := lifecycle.ReadSequences(ctx, q, rows)
		if err != nil || list[of].HeldBy() == 0 {
			return false, err
		}
		if err := lifecycle.WakeKeys(ctx, q, now, [][2]string{of}); err != nil {
			return false, err
		}
		passed, err := q.PassFailedJobs(ctx, db.PassFailedJobsParams{Kind: n.Name, LimitKey: n.Key})
		return passed > 0, err
	})
	return resumed, core.Wrap(err, "resume the sequence of %s", n.Name)
}
