package jobs

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/redact"
)

// marks are the fields that the database is known to have as sensitive, so that an enqueue need not ask. Clients that come of
// one [New] share them.
type marks struct {
	mu     sync.RWMutex
	known  map[string]map[string]bool // by kind and path
	unsure map[string]bool            // kinds of which this process marked a field in a caller's transaction
}

func newMarks() *marks { return &marks{known: map[string]map[string]bool{}, unsure: map[string]bool{}} }

func (m *marks) has(kind string, paths []string) bool {
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

// learn notes fields whose marks are committed.
func (m *marks) learn(fields map[string][]string) {
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

// joined notes what a caller's transaction, which may be rolled back, says of a kind's fields: none was new. Others have
// marked and committed them then, unless this process did so in the same transaction before.
func (m *marks) joined(kind string, paths []string, added int64) {
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

// mark makes sure that fields are marked before a job is there that has them.
func (c *Client) mark(ctx context.Context, fields map[string][]string) error {
	fields = maps.Clone(fields)
	for kind, paths := range fields {
		if c.marks.has(kind, paths) {
			delete(fields, kind)
		} else if err := redact.Check(paths); err != nil {
			return err
		}
	}
	if len(fields) == 0 {
		return nil
	}
	if c.scope().Tx != nil {
		return c.scope().Join(ctx, func(ctx context.Context, q db.Querier) error {
			for kind, paths := range fields {
				n, err := redact.AddMarks(ctx, q, core.Micros(c.store.Now()), map[string][]string{kind: paths})
				if err != nil {
					return err
				}
				c.marks.joined(kind, paths, n)
			}
			return nil
		})
	}
	all, err := c.allMarked(ctx, fields)
	if err == nil && !all {
		err = c.store.Write(ctx, func(ctx context.Context, q db.Querier) error {
			_, err := redact.AddMarks(ctx, q, core.Micros(c.store.Now()), fields)
			return err
		})
	}
	if err == nil {
		c.marks.learn(fields)
	}
	return err
}

func (c *Client) allMarked(ctx context.Context, fields map[string][]string) (bool, error) {
	var rows []db.ListSensitiveFieldsRow
	err := c.store.Read(ctx, func(ctx context.Context, q db.Querier) error {
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
