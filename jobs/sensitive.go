package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/redact"
)

// Revealed returns a client that shows jobs as they are, with what their kinds mark as sensitive: for a service's own code
// that needs it. It makes no difference to what is enqueued, or to what handlers get.
func (c *Client) Revealed() *Client {
	r := *c
	r.revealed = true
	return &r
}

// SensitiveFields returns what is marked as sensitive in each kind: see [Kind.Sensitive].
func (c *Client) SensitiveFields(ctx context.Context) (map[string][]string, error) {
	var rows []db.SensitiveField
	err := c.read(ctx, func(ctx context.Context, q db.Querier) error {
		var err error
		rows, err = q.ListAllSensitiveFields(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list sensitive fields: %w", err)
	}
	fields := map[string][]string{}
	for _, r := range rows {
		fields[r.Kind] = append(fields[r.Kind], r.Path)
	}
	return fields, nil
}

// MarkSensitive marks fields of a kind, as [Kind.Sensitive] does, for programs that know it by name alone.
func (c *Client) MarkSensitive(ctx context.Context, kind string, paths ...string) error {
	_, err := c.setSensitive(ctx, ActionMark, kind, paths, func(ctx context.Context, q db.Querier, now int64) (int64, error) {
		return addMarks(ctx, q, now, map[string][]string{kind: paths})
	})
	return err
}

// UnmarkSensitive takes the marks from fields of a kind and returns how many had one. What a Kind in some program still marks
// is marked again by the next process that runs it or enqueues such a job.
func (c *Client) UnmarkSensitive(ctx context.Context, kind string, paths ...string) (int64, error) {
	list, err := json.Marshal(paths)
	if err != nil {
		return 0, fmt.Errorf("%s fields of %s: %w", ActionUnmark, core.Quote(kind), err)
	}
	return c.setSensitive(ctx, ActionUnmark, kind, paths, func(ctx context.Context, q db.Querier, _ int64) (int64, error) {
		return q.DeleteSensitiveFields(ctx, db.DeleteSensitiveFieldsParams{Kind: kind, Paths: string(list)})
	})
}

func (c *Client) setSensitive(
	ctx context.Context, action Action, kind string, paths []string, set func(ctx context.Context, q db.Querier, now int64) (int64, error),
) (n int64, err error) {
	who, err := authorOf(ctx)
	if err == nil {
		err = ValidateName("kind", kind)
	}
	if err == nil && action == ActionMark {
		err = redact.Check(paths) // a mark that cannot be read can be taken away
	}
	if err == nil && len(paths) > 0 {
		var detail json.RawMessage
		if detail, err = detailOf(map[string]any{"fields": paths}); err == nil {
			err = c.change(ctx, 0, func(ctx context.Context, q db.Querier) error {
				now := core.Micros(c.store.Now())
				var err error
				if n, err = set(ctx, q, now); err != nil || n == 0 {
					return err
				}
				return who.note(ctx, q, now, AuditEntry{Action: action, Kind: kind, Detail: detail})
			})
		}
	}
	if err != nil {
		return 0, fmt.Errorf("%s fields of %s: %w", action, core.Quote(kind), err)
	}
	return n, nil
}

// addMarks marks fields of kinds, and returns how many were not marked before.
func addMarks(ctx context.Context, q db.Querier, now int64, fields map[string][]string) (int64, error) {
	items := [][2]string{}
	for _, kind := range slices.Sorted(maps.Keys(fields)) { // in one order, so that two that do it at once do not wait in a circle
		for _, path := range slices.Sorted(slices.Values(fields[kind])) {
			items = append(items, [2]string{kind, path})
		}
	}
	list, err := json.Marshal(items)
	if err != nil {
		return 0, err
	}
	n, err := q.AddSensitiveFields(ctx, db.AddSensitiveFieldsParams{Now: now, Items: string(list)})
	if err != nil {
		return 0, fmt.Errorf("mark sensitive fields: %w", err)
	}
	return n, nil
}

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
	if c.tx != nil {
		return c.join(ctx, func(ctx context.Context, q db.Querier) error {
			for kind, paths := range fields {
				n, err := addMarks(ctx, q, core.Micros(c.store.Now()), map[string][]string{kind: paths})
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
			_, err := addMarks(ctx, q, core.Micros(c.store.Now()), fields)
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

// hide redacts jobs for everybody but their handlers. The marks are read after the jobs: those of a job are there before it.
func (c *Client) hide(ctx context.Context, q db.Querier, jobs []Job) error {
	if c.revealed || len(jobs) == 0 {
		return nil
	}
	var kinds []string
	for _, j := range jobs {
		kinds = append(kinds, j.Kind)
	}
	slices.Sort(kinds)
	fields, err := redact.ReadFields(ctx, q, slices.Compact(kinds))
	if err != nil || len(fields) == 0 {
		return err
	}
	for i := range jobs {
		j := &jobs[i]
		fields[j.Kind].Redact(redact.Columns{Payload: &j.Payload, Metadata: &j.Metadata, Progress: &j.Progress, Result: &j.Result})
	}
	return nil
}
