package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/declare"
)

// Schedule declares schedules. Run puts them when it starts, and returns their faults. If live workers declare different schedules under one name, the one that was first declared most recently applies, whichever process restarts. A declared schedule is due only while a live runner declares
// it, so that one that is removed from the code ends with the last runner of the old version. It panics after Run has begun. Drain puts no
// schedules and serves none.
func (r *Runner) Schedule(list ...Schedule) {
	if r.started.Load() {
		panic("jobs: Schedule after Run")
	}
	r.schedules = append(r.schedules, list...)
}

// scheduleRows returns the rows of the declared schedules, or their faults together.
func (r *Runner) scheduleRows(now time.Time) (rows []db.PutScheduleParams, err error) {
	seen := map[string]bool{}
	for _, s := range r.schedules {
		row, fault := r.settled(s).row(r.client, now, true)
		if seen[s.name] {
			fault = errors.Join(fault, errors.New("the schedule is declared twice"))
		}
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("schedule %s: %w", strconv.Quote(s.name), fault))
		}
		seen[s.name] = true
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b db.PutScheduleParams) int { return cmp.Compare(a.Name, b.Name) }) // runners that start together wait in one order
	return rows, err
}

// declared returns the program's declaration of the handler's kind.
func (h handler) declared() declare.Settings {
	s := h.declares
	switch h.keep {
	case 0:
	case Forever:
		s.Keep = declare.KeepForever
	case Nothing:
		s.Keep = declare.KeepNothing
	default:
		s.Keep = h.keep.Microseconds()
	}
	return s
}

// declarations returns the runner's declarations: the settings of its kinds, the limits of queues, and its schedules.
func (r *Runner) declarations(schedules []db.PutScheduleParams) (list []declare.Declaration, err error) {
	if !r.config.Undeclared {
		for kind, settings := range r.settings {
			d, err := declare.Kind(kind, settings)
			if err != nil {
				return nil, err
			}
			list = append(list, d)
		}
	}
	for queue, values := range r.config.QueueLimits {
		d, err := declare.Queue(queue, declaredLimit(values))
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	for _, row := range schedules {
		d, err := declare.Schedule(row)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// prepare marks sensitive fields of kinds, including the kinds of schedules.
func (r *Runner) prepare(ctx context.Context) error {
	if err := r.client.marks.Ensure(ctx, r.client.scope(), r.marks); err != nil {
		return err
	}
	for _, s := range r.schedules {
		if err := s.job.mark(ctx, r.client); err != nil {
			return err
		}
	}
	return nil
}
