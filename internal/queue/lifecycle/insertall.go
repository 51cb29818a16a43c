package lifecycle

import (
	"context"
	"fmt"
	"reflect"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// The most jobs, and bytes of their payloads, that one statement inserts.
const (
	mostAlike      = 1000
	mostAlikeBytes = 4 << 20
)

// Inserted is what became of one of many rows.
type Inserted struct {
	ID      int64 // of the job that was inserted, or of the one that has its unique key or request id
	Existed bool
}

// InsertAll inserts jobs of any kinds and options in their order: those that follow one another and differ in their payloads only by
// one statement.
func InsertAll(ctx context.Context, q db.Querier, rows []db.EnqueueJobParams) ([]Inserted, error) {
	list := make([]Inserted, 0, len(rows))
	for len(rows) > 0 {
		payloads := alike(rows)
		if payloads.Count == 1 {
			id, existed, err := Insert(ctx, q, rows[0])
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", len(list), err)
			}
			list = append(list, Inserted{id, existed})
		} else {
			in := engine.Insert{Job: db.EnqueueKeylessJobParamsOf(rows[0]), Count: payloads.Count}
			in.Payloads = func(yield func(engine.Payloads, error) bool) { yield(payloads, nil) }
			ids, err := InsertMany(ctx, q, in)
			if err != nil {
				return nil, fmt.Errorf("items %d to %d: %w", len(list), len(list)+payloads.Count-1, err)
			}
			for _, id := range ids {
				list = append(list, Inserted{ID: id})
			}
		}
		rows = rows[payloads.Count:]
	}
	return list, nil
}

// alike returns the payloads of the first rows, as many as have no key and differ in nothing else.
func alike(rows []db.EnqueueJobParams) engine.Payloads {
	first := rows[0]
	text := core.AppendString([]byte{'['}, first.Payload)
	n := 1
	for first.UniqueKey == nil && first.RequestID == nil && n < min(len(rows), mostAlike) && len(text) < mostAlikeBytes {
		next := rows[n]
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
