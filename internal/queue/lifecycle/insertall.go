package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// InsertAll inserts jobs of any kinds and options, and returns the result for each, in their order. Rows with keys come first, in the
// order of their keys, so that two callers with the same keys wait for each other in one order. One statement inserts consecutive jobs
// that differ only in their payloads and limit keys.
func InsertAll(ctx context.Context, q db.Querier, rows []Row) ([]Inserted, error) {
	list := make([]Inserted, len(rows))
	keyed, others := byKeys(rows)
	for _, i := range keyed {
		inserted, err := Insert(ctx, q, rows[i])
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		list[i] = inserted
	}
	for len(others) > 0 {
		items := alike(rows, others)
		first := rows[others[0]]
		var ids []int64
		var err error
		if first.LimitKey != nil {
			ids, err = insertLimited(ctx, q, first, items)
		} else {
			in := engine.Insert{Job: db.EnqueueKeylessJobParamsOf(first.EnqueueJobParams), Count: items.Count}
			in.Payloads = func(yield func(engine.Payloads, error) bool) { yield(items, nil) }
			ids, err = InsertMany(ctx, q, in)
		}
		if err == nil && len(ids) != items.Count { // a trigger has dropped some jobs
			err = engine.ErrNotAdded
		}
		if err != nil {
			return nil, fmt.Errorf("item %d and those after it: %w", others[0], err)
		}
		for k, id := range ids {
			list[others[k]] = Inserted{ID: id}
		}
		others = others[items.Count:]
	}
	return list, nil
}

// insertLimited inserts jobs that differ in their payloads and limit keys alone.
func insertLimited(ctx context.Context, q db.Querier, first Row, items engine.Payloads) ([]int64, error) {
	ids, err := q.EnqueueLimitedJobs(ctx, db.EnqueueLimitedJobsParams{
		Kind: first.Kind, Queue: first.Queue, Priority: first.Priority, RunAfter: first.RunAfter, StartBy: first.StartBy,
		MaxAttempts: first.MaxAttempts, Timeout: first.Timeout, UserID: first.UserID, Tags: first.Tags, Metadata: first.Metadata,
		Now: first.Now, Items: items.List, Status: first.limitedStatus(),
	})
	if err == nil && len(ids) == 0 {
		err = WhyNotAdded(ctx, q, engine.ErrNotAdded)
	}
	return ids, err
}

// byKeys returns the indexes of the rows with a unique key or request id, in the order of the keys, and the indexes of the others.
func byKeys(rows []Row) (keyed, others []int) {
	for i, row := range rows {
		if row.UniqueKey != nil || row.RequestID != nil {
			keyed = append(keyed, i)
		} else {
			others = append(others, i)
		}
	}
	slices.SortStableFunc(keyed, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(rows[a].Kind, rows[b].Kind), cmp.Compare(core.Deref(rows[a].UniqueKey), core.Deref(rows[b].UniqueKey)),
			cmp.Compare(requestIDAlone(rows[a]), requestIDAlone(rows[b])),
		)
	})
	return keyed, others
}

// requestIDAlone returns the request id of a row without a unique key. Of rows with one unique key the last one in the list must win.
func requestIDAlone(r Row) string {
	if r.UniqueKey != nil {
		return ""
	}
	return core.Deref(r.RequestID)
}

// alike returns the payloads of the first rows at these indexes, up to the first row that differs in anything but its payload and limit
// key. Of jobs with limit keys each item is a list of both.
func alike(rows []Row, places []int) engine.Payloads {
	first := rows[places[0]]
	text := first.appendItem([]byte{'['})
	n := 1
	for n < min(len(places), engine.PayloadsMost) && len(text) < engine.PayloadsMostSize {
		next := rows[places[n]]
		if !next.isLike(first) {
			break
		}
		text = next.appendItem(append(text, ','))
		n++
	}
	return engine.Payloads{List: string(append(text, ']')), Count: n}
}

// isLike reports whether a row differs from another at most in its payload and in the name of its limit key.
func (r Row) isLike(other Row) bool {
	if (r.LimitKey == nil) != (other.LimitKey == nil) {
		return false
	}
	r.Payload, r.LimitKey = other.Payload, other.LimitKey
	return reflect.DeepEqual(r, other)
}

// appendItem appends the row's payload as JSON, in a list with its limit key if it has one.
func (r Row) appendItem(text []byte) []byte {
	if r.LimitKey == nil {
		return core.AppendString(text, r.Payload)
	}
	text = core.AppendString(append(text, '['), r.Payload)
	text = core.AppendString(append(text, ','), *r.LimitKey)
	return append(text, ']')
}
