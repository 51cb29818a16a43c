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
// that differ only in their payloads.
func InsertAll(ctx context.Context, q db.Querier, rows []Row) ([]Inserted, error) {
	list := make([]Inserted, len(rows))
	keyed, keyless := byKeys(rows)
	for _, i := range keyed {
		inserted, err := Insert(ctx, q, rows[i])
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		list[i] = inserted
	}
	for len(keyless) > 0 {
		payloads := alike(rows, keyless)
		in := engine.Insert{Job: db.EnqueueKeylessJobParamsOf(rows[keyless[0]].EnqueueJobParams), Count: payloads.Count}
		in.Payloads = func(yield func(engine.Payloads, error) bool) { yield(payloads, nil) }
		ids, err := InsertMany(ctx, q, in)
		if err == nil && len(ids) != payloads.Count { // a trigger has dropped some jobs
			err = engine.ErrNotAdded
		}
		if err != nil {
			return nil, fmt.Errorf("item %d and those after it: %w", keyless[0], err)
		}
		for k, id := range ids {
			list[keyless[k]] = Inserted{ID: id}
		}
		keyless = keyless[payloads.Count:]
	}
	return list, nil
}

// byKeys returns the indexes of the rows with a key, in the order of the keys, and the indexes of the others.
func byKeys(rows []Row) (keyed, keyless []int) {
	for i, row := range rows {
		if row.UniqueKey != nil || row.RequestID != nil || row.LimitKey != nil {
			keyed = append(keyed, i)
		} else {
			keyless = append(keyless, i)
		}
	}
	slices.SortStableFunc(keyed, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(rows[a].Kind, rows[b].Kind), cmp.Compare(core.Deref(rows[a].UniqueKey), core.Deref(rows[b].UniqueKey)),
			cmp.Compare(requestIDAlone(rows[a]), requestIDAlone(rows[b])),
		)
	})
	return keyed, keyless
}

// requestIDAlone returns the request id of a row without a unique key. Of rows with one unique key the last one in the list must win.
func requestIDAlone(r Row) string {
	if r.UniqueKey != nil {
		return ""
	}
	return core.Deref(r.RequestID)
}

// alike returns the payloads of the first rows at these indexes, up to the first row that differs in anything but its payload.
func alike(rows []Row, places []int) engine.Payloads {
	first := rows[places[0]]
	text := core.AppendString([]byte{'['}, first.Payload)
	n := 1
	for n < min(len(places), engine.PayloadsMost) && len(text) < engine.PayloadsMostSize {
		next := rows[places[n]]
		payload := next.Payload
		next.Payload = first.Payload
		if !reflect.DeepEqual(next, first) {
			break
		}
		text = core.AppendString(append(text, ','), payload)
		n++
	}
	return engine.Payloads{List: string(append(text, ']')), Count: n}
}
