package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// groupsMost is how many groups are written at once: while one waits for the disk, or for another's commit, which
	// notifications let through one by one, the next goes on.
	groupsMost = 2

	// groupMost is how many functions share a transaction.
	groupMost = 64

	// groupStuck is how long no group may end before callers that wait for one write alone: a lock that the application holds
	// then delays only the insert that needs it.
	groupStuck = 250 * time.Millisecond

	// groupGrace is how long a group goes on when the context of a member has ended.
	groupGrace = 100 * time.Millisecond

	// groupTries is how often what is left of a group is written after others were found to be in its way.
	groupTries = 3
)

// together has callers who write at the same time share transactions, with no delay added: who comes while no group may
// begin waits for one to end, and goes with the next. A lone caller's function is a group of its own.
type together struct {
	mu      sync.Mutex
	waiting []*member
	groups  int       // being written
	ended   time.Time // when the last one ended, or the first of these began

	stuck time.Duration // groupStuck when 0; tests set it
}

type member struct {
	ctx  context.Context
	fn   func(context.Context, db.Querier) error
	err  error
	role role
	wake chan role
}

// role is what becomes of a member.
type role int

const (
	alone role = iota // it writes for itself
	done              // its err is the outcome
	lead              // it writes the next group
)

// WriteTogether implements [jobs.Store].
func (s *Store) WriteTogether(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	m := &member{ctx: ctx, fn: fn, wake: make(chan role, 1)}
	r, err := s.together.enter(m)
	if err != nil {
		return translate(err)
	}
	if r == lead {
		r = s.lead(m)
	}
	if r == alone {
		return s.Write(ctx, fn)
	}
	return m.err
}

// enter returns when it is known what becomes of a member; an error means that its context ended before that.
func (t *together) enter(m *member) (role, error) {
	t.mu.Lock()
	if t.groups < groupsMost {
		if t.groups == 0 {
			t.ended = time.Now()
		}
		t.groups++
		t.mu.Unlock()
		return lead, nil
	}
	t.waiting = append(t.waiting, m)
	t.mu.Unlock()
	timer := time.NewTicker(cmp.Or(t.stuck, groupStuck))
	defer timer.Stop()
	for {
		select {
		case r := <-m.wake:
			return r, nil
		case <-m.ctx.Done():
			if t.leave(m, false) {
				return alone, errors.Join(m.ctx.Err(), context.Cause(m.ctx))
			}
			return <-m.wake, nil // too late: it is being written, or was chosen to lead
		case <-timer.C:
			if t.leave(m, true) {
				return alone, nil
			}
		}
	}
}

// leave reports whether a member still waited and does no more; stuck leaves it there while groups end.
func (t *together) leave(m *member, stuck bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting, m)
	if i < 0 || stuck && time.Since(t.ended) < cmp.Or(t.stuck, groupStuck) {
		return false
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return true
}

// take removes those who go with the next group.
func (t *together) take() []*member {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(groupMost-1, len(t.waiting))
	taken := slices.Clone(t.waiting[:n])
	t.waiting = slices.Delete(t.waiting, 0, n)
	if len(t.waiting) == 0 {
		t.waiting = nil // keeps no memory of a burst
	}
	return taken
}

// next ends a group and begins another when a member waits.
func (t *together) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = time.Now()
	if len(t.waiting) == 0 {
		t.groups--
		return
	}
	m := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	m.wake <- lead
}

// lead writes m's function and those of all who wait, and returns what becomes of m.
func (s *Store) lead(m *member) role {
	others := s.together.take()
	defer func() { // also after a panic
		s.together.next()
		for _, other := range others {
			other.wake <- other.role
		}
	}()
	if len(others) == 0 {
		m.err, m.role = s.Write(m.ctx, m.fn), done
		return m.role
	}
	group := append([]*member{m}, others...)
	for range groupTries {
		group = slices.DeleteFunc(group, func(m *member) bool { return m.ctx.Err() != nil })
		if len(group) < 2 {
			break
		}
		culprit, err := s.writeGroup(group)
		if err == nil || errors.Is(err, jobs.ErrUnknownOutcome) {
			for _, member := range group {
				member.err, member.role = err, done
			}
			break
		}
		group = slices.DeleteFunc(group, func(m *member) bool { return m == culprit })
	}
	return m.role
}

// writeGroup writes all functions in one transaction. When one fails, it is the culprit. The end of a member's context
// ends the transaction soon: its statement may be the one that waits.
func (s *Store) writeGroup(group []*member) (culprit *member, err error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(group[0].ctx))
	defer cancel(nil)
	for _, m := range group {
		stop := context.AfterFunc(m.ctx, func() {
			timer := time.NewTimer(groupGrace)
			defer timer.Stop()
			select {
			case <-timer.C:
				cancel(context.Cause(m.ctx))
			case <-ctx.Done():
			}
		})
		defer stop()
	}
	err = s.write(ctx, len(group), s.transact, func(ctx context.Context, q db.Querier) error {
		culprit = nil
		for _, m := range group {
			if err := m.fn(ctx, q); err != nil {
				culprit = m
				return err
			}
		}
		return nil
	})
	return culprit, err
}
