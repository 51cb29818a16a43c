package lifecycle

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/redact"
)

// Marks holds the fields that the database is known to mark as sensitive, so that an enqueue need not ask. Clients derived
// from one another share them.
type Marks struct {
	mu     sync.RWMutex
	known  map[string]map[string]bool // the marked fields, by kind and path
	unsure map[string]bool            // kinds with a field that this process marked in a caller's transaction
}

// NewMarks returns Marks without a known field.
func NewMarks() *Marks { return &Marks{known: map[string]map[string]bool{}, unsure: map[string]bool{}} }

// Has reports whether all of these fields of a kind are known to be marked as sensitive.
func (m *Marks) Has(kind string, paths []string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	known := m.known[kind]
	for _, path := range paths {
		if !known[path] {
			return false
		}
	}
	return true
}

// learn records fields whose marks are committed.
func (m *Marks) learn(fields map[string][]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for kind, paths := range fields {
		if m.known[kind] == nil {
			m.known[kind] = map[string]bool{}
		}
		for _, path := range paths {
			m.known[kind][path] = true
		}
	}
}

// joined records the result of marking a kind's fields in a caller's transaction, which may be rolled back. If added is
// 0, others have marked and committed them, unless this process did so in the same transaction before.
func (m *Marks) joined(kind string, paths []string, added int64) {
	m.mu.Lock()
	if added > 0 {
		m.unsure[kind] = true
	}
	unsure := m.unsure[kind]
	m.mu.Unlock()
	if !unsure {
		m.learn(map[string][]string{kind: paths})
	}
}

// Ensure marks fields, by kind, before a job with these fields exists.
func (m *Marks) Ensure(ctx context.Context, scope *engine.Scope, fields map[string][]string) error {
	fields = maps.Clone(fields)
	for kind, paths := range fields {
		if m.Has(kind, paths) {
			delete(fields, kind)
		} else if err := redact.Check(paths); err != nil {
			return err
		}
	}
	if len(fields) == 0 {
		return nil
	}
	if scope.Tx != nil {
		return scope.Join(ctx, func(ctx context.Context, q db.Querier) error {
			for kind, paths := range fields {
				n, err := redact.AddMarks(ctx, q, core.Micros(scope.Store.Now()), map[string][]string{kind: paths})
				if err != nil {
					return err
				}
				m.joined(kind, paths, n)
			}
			return nil
		})
	}
	all, err := allMarked(ctx, scope, fields)
	if err == nil && !all {
		err = scope.Store.Write(ctx, func(ctx context.Context, q db.Querier) error {
			_, err := redact.AddMarks(ctx, q, core.Micros(scope.Store.Now()), fields)
			return err
		})
	}
	if err == nil {
		m.learn(fields)
	}
	return err
}

// allMarked reports whether the database has marks of all fields.
func allMarked(ctx context.Context, scope *engine.Scope, fields map[string][]string) (bool, error) {
	var rows []db.ListSensitiveFieldsRow
	err := scope.Store.Read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		rows, err = redact.ListMarks(ctx, q, slices.Sorted(maps.Keys(fields)))
		return err
	})
	if err != nil {
		return false, err
	}
	for kind, paths := range fields {
		for _, path := range paths {
			if !slices.Contains(rows, db.ListSensitiveFieldsRow{Kind: kind, Path: path}) {
				return false, nil
			}
		}
	}
	return true, nil
}
