package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// wholes holds the limits of whole kinds and queues.
type wholes map[Name]*state

// readWholes reads the limits of whole queues and kinds, two JSON lists.
func readWholes(ctx context.Context, q db.Querier, queues, kinds string, now int64) (wholes, error) {
	rows, err := q.ReadWholeLimits(ctx, db.ReadWholeLimitsParams{Queues: queues, Kinds: kinds})
	if err != nil {
		return nil, fmt.Errorf("read the limits of whole kinds and queues: %w", err)
	}
	return newWholes(rows, now), nil
}

// newWholes returns the limits of rows at a time.
func newWholes(rows []db.ReadWholeLimitsRow, now int64) wholes {
	w := make(wholes, len(rows))
	for _, row := range rows {
		w[Name{Scope: row.Scope, Name: row.Name}] = newState(OfWhole(row), 1, now)
	}
	return w
}

// has reports whether there is room for a job of a kind in a queue.
func (w wholes) has(kind, queue string) bool {
	for _, s := range w.of(kind, queue) {
		if !s.has() {
			return false
		}
	}
	return true
}

// of returns the limits that bound the jobs of a kind in a queue.
func (w wholes) of(kind, queue string) (list []*state) {
	for _, n := range []Name{{Scope: core.ScopeTotal, Name: kind}, {Scope: core.ScopeQueue, Name: queue}} {
		if s := w[n]; s != nil {
			list = append(list, s)
		}
	}
	return list
}

// wholeCheck is the longest time between two looks at a limit of a whole kind or queue without room.
const wholeCheck = int64(time.Second / time.Microsecond)

// open returns the queues and kinds of two JSON lists that have room, and when one of the others has room again by itself.
func (w wholes) open(queues, kinds string, now int64) (openQueues, openKinds string, next time.Time, err error) {
	openQueues, next, err = w.withRoom(core.ScopeQueue, queues, now)
	if err != nil {
		return "", "", next, err
	}
	openKinds, again, err := w.withRoom(core.ScopeTotal, kinds, now)
	return openQueues, openKinds, core.Earlier(next, again), err
}

// withRoom returns the names of a JSON list that have room in a scope, and when one of the others has room again by itself.
func (w wholes) withRoom(scope, names string, now int64) (left string, next time.Time, err error) {
	full := map[string]bool{}
	for n, s := range w {
		if n.Scope != scope || s.has() {
			continue
		}
		full[n.Name] = true
		at := s.readyAt(now)
		if at == nil { // an end is announced, but not one by plain SQL
			at = new(now + wholeCheck)
		}
		next = core.Earlier(next, core.Time(*at))
	}
	if len(full) == 0 {
		return names, next, nil
	}
	var list []string
	if err := json.Unmarshal([]byte(names), &list); err != nil {
		return "", next, fmt.Errorf("decode names: %w", err)
	}
	return core.JSONNames(slices.DeleteFunc(list, func(n string) bool { return full[n] })), next, nil
}
