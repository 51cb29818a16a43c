package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// splitMost is the longest time for which ends are split into ever smaller parts because of locks that are not on their jobs.
const splitMost = time.Second

// recordSplit writes ends after the database refused them together: the ends of each half, and so on, so that a single refused end
// (say, because of an application's trigger) does not hold up the others. That end is postponed, as is an end that would have to wait,
// perhaps for long, for a row that another transaction has locked. recordSplit returns the attempts to be tried again, with the last
// error. While the run is stopping, the ends that have to wait are among them.
func (c *committer) recordSplit(ended []*Attempt, stopping bool) (again []*Attempt, last error) {
	if c.env.writing.Err() != nil {
		return ended, context.Cause(c.env.writing)
	}
	ids := core.Map(ended, func(a *Attempt) int64 { return a.job.ID })
	locked, err := lifecycle.Locked(c.env.writing, c.env.store, ids)
	if err != nil {
		return ended, err
	}
	s := endSplitter{committer: c, stopping: stopping, until: time.Now().Add(splitMost)}
	var held, free []*Attempt
	for _, a := range ended {
		if slices.Contains(locked, a.job.ID) {
			held = append(held, a)
		} else {
			free = append(free, a)
		}
	}
	err = s.recordAll(free) // first: each note on a postponed end is a separate transaction
	for _, a := range held {
		s.wait(a, jobtype.ErrBusy)
	}
	return append(s.untried, s.again...), cmp.Or(err, s.unnoted, s.waits)
}

// mustSplit reports whether an error may be one of the ends that were written together.
func (c *committer) mustSplit(err error) bool {
	return c.env.store.RefusesRow(err) || lifecycle.IsLocked(c.env.store, err)
}

// endSplitter splits ends that the database refused together.
type endSplitter struct {
	committer *committer
	stopping  bool
	until     time.Time
	locked    error      // the last error for a lock
	untried   []*Attempt // to be tried again before those in again: locks had taken too much time
	again     []*Attempt // to be tried again
	waits     error      // the reason why one of them waits for a lock
	unnoted   error      // the last error of a note on a postponed end
}

// lateError is the error of ends that are not tried, because locks have taken too much time. It wraps the last error for a lock.
type lateError struct{ error }

func (e lateError) Unwrap() error { return e.error }

// recordAll writes ends, in parts where the database refuses them together. Its error is neither for a lock nor for a refused row.
func (s *endSplitter) recordAll(ended []*Attempt) error {
	tried := 0
	err := refusal.Split(ended, s.committer.mustSplit, func(part []*Attempt) error {
		err := s.recordPart(part)
		if err == nil {
			tried += len(part)
		}
		return err
	}, func(a *Attempt, err error) error {
		tried++
		return s.later(a, err)
	})
	s.again = append(s.again, ended[tried:]...)
	return err
}

func (s *endSplitter) recordPart(part []*Attempt) error {
	writing := s.committer.env.writing
	if writing.Err() != nil {
		return context.Cause(writing)
	}
	if s.locked != nil && time.Now().After(s.until) {
		return lateError{s.locked}
	}
	err := s.committer.recordTogether(engine.Briefly(writing), part)
	if lifecycle.IsLocked(s.committer.env.store, err) {
		s.locked = err
	}
	if errors.Is(err, jobtype.ErrUnknownOutcome) {
		for _, a := range part {
			a.end.Apart = true
		}
	}
	return err
}

// later decides when an end that was refused by itself is tried again.
func (s *endSplitter) later(a *Attempt, err error) error {
	var late lateError
	switch {
	case errors.As(err, &late) && s.stopping:
		s.untried, s.waits = append(s.untried, a), late.error
	case lifecycle.IsLocked(s.committer.env.store, err):
		s.wait(a, err)
	case a.end.Drop && !a.refused.drop:
		a.refused.drop = true // perhaps only the row cannot be removed, as for a foreign key of the application: it stays, for the pruner
		return s.recordAll([]*Attempt{a})
	default:
		s.postpone(a, false, err)
	}
	return nil
}

// wait keeps an end that would have to wait for a lock: for the next cycle while the run is stopping, and otherwise for later.
func (s *endSplitter) wait(a *Attempt, err error) {
	if !s.stopping {
		s.postpone(a, true, fmt.Errorf("another transaction has locked the job, or a row that goes with the end of its attempt: %w", err))
		return
	}
	a.refused.refuse(true)
	a.refused.times++ // no further cycle waits for it
	s.again, s.waits = append(s.again, a), err
}

// postpone keeps an end to be recorded later. An error of the note on it holds up no other end.
func (s *endSplitter) postpone(a *Attempt, locked bool, cause error) {
	a.refused.refuse(locked)
	if err := s.committer.postponeEnd(a, cause); err != nil {
		s.unnoted = err
	}
}

// postponeEnd keeps an end that the database refuses, to be recorded later.
func (c *committer) postponeEnd(a *Attempt, cause error) error {
	c.ledger.addRefused(a)
	return c.env.notes.Postpone(c.env.writing, c.env.store.Write, c.env.store.Now(), refusal.End, a.job.ID, cause)
}

// recordRefused tries the refused ends for the last time, and releases the jobs of the ends that are refused again. Its error is the
// last of an end that could not be recorded in either way: unless the database refused to release the job, which its lease then frees,
// the worker leaves a goodbye.
func (c *committer) recordRefused() (last error) {
	store, log := c.env.store, c.env.log
	for _, a := range c.ledger.takeRefused() {
		err := c.recordTogether(c.env.writing, []*Attempt{a})
		if err != nil && store.RefusesRow(err) {
			log.Error("the database refuses the end of an attempt: its job is released", append(a.attrs(), "error", err)...)
			a.end = lifecycle.End{Job: &a.job, Fate: lifecycle.FateRelease}
			err = c.recordTogether(c.env.writing, []*Attempt{a})
		}
		if err == nil {
			continue
		}
		last = err
		log.Error("the end of an attempt could not be recorded, nor its job released", append(a.attrs(), "error", err)...)
		tellFinished(c.env.observer, a, lifecycle.FateLost)
		if !store.RefusesRow(err) {
			c.ledger.do(func() { c.ledger.refused[a.fence()] = a })
		}
	}
	return last
}
