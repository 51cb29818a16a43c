package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// groupsMost is how many groups are written at once: while one waits for the disk, or for another's commit, which
	// notifications let through one by one, the next goes on.
	groupsMost = 2

	// groupMost is how many functions share a transaction.
	groupMost = 64
)

// together has callers who write at the same time share transactions, with no delay added: who comes while no group may
// begin waits for one to end, and goes with the next. A lone caller's function is a group of its own.
type together struct {
	mu      sync.Mutex
	waiting []*member
	groups  int // being written
}

type member struct {
	ctx  context.Context
	fn   func(context.Context, db.Querier) error
	err  error
	wake chan role
}

// role is what becomes of a member that waited.
type role int

const (
	done  role = iota // its err is the outcome
	lead              // it writes the next group
	alone             // it writes for itself
)

// WriteTogether implements [jobs.Store].
func (s *Store) WriteTogether(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	m := &member{ctx: ctx, fn: fn, wake: make(chan role, 1)}
	if s.together.enter(m) {
		return s.lead(m)
	}
	var r role
	select {
	case r = <-m.wake:
	case <-ctx.Done():
		if s.together.leave(m) {
			return translate(context.Cause(ctx))
		}
		r = <-m.wake // too late: it is being written, or was chosen to lead
	}
	switch r {
	case lead:
		return s.lead(m)
	case alone:
		return s.Write(ctx, fn)
	}
	return m.err
}

// enter reports whether a member may write at once; else it waits.
func (t *together) enter(m *member) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.groups < groupsMost {
		t.groups++
		return true
	}
	t.waiting = append(t.waiting, m)
	return false
}

// leave reports whether a member still waited and does no more.
func (t *together) leave(m *member) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.waiting {
		if other == m {
			t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// take removes those who go with the next group.
func (t *together) take() []*member {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(groupMost-1, len(t.waiting))
	taken := t.waiting[:n:n]
	t.waiting = t.waiting[n:]
	return taken
}

// next ends a group and begins another when somebody waits.
func (t *together) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.groups--
		return
	}
	m := t.waiting[0]
	t.waiting = t.waiting[1:]
	m.wake <- lead
}

// lead writes m's function and those of all who wait.
func (s *Store) lead(m *member) error {
	others := s.together.take()
	if len(others) == 0 {
		defer s.together.next()
		return s.Write(m.ctx, m.fn)
	}
	group := append([]*member{m}, others...)
	err := s.writeGroup(group)
	s.together.next()
	r := done
	if err != nil && !errors.Is(err, jobs.ErrUnknownOutcome) {
		r = alone // an error belongs to the one that caused it
	}
	for _, other := range others {
		other.err = err
		other.wake <- r
	}
	if r == alone {
		return s.Write(m.ctx, m.fn)
	}
	return err
}

// writeGroup writes all functions in one transaction, which the end of any member's context ends: each by itself then
// does what it may.
func (s *Store) writeGroup(group []*member) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(group[0].ctx))
	defer cancel(nil)
	for _, m := range group {
		stop := context.AfterFunc(m.ctx, func() { cancel(context.Cause(m.ctx)) })
		defer stop()
	}
	return s.Write(ctx, func(ctx context.Context, q db.Querier) error {
		for _, m := range group {
			if err := m.fn(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
}
