package postgres

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/db"
)

// RunTogether implements [db.Batcher].
func (q queries) RunTogether(ctx context.Context, calls []db.Call, ran func(name string, took time.Duration, err error)) error {
	var list []queued
	if q.send != nil {
		for _, c := range calls {
			if s, ok := queuedCall(c); ok {
				list = append(list, s)
			}
		}
	}
	if q.send != nil && len(list) == len(calls) {
		return q.send(ctx, list, func(s queued, took time.Duration, err error) error {
			ran(s.name, took, err)
			return err
		})
	}
	return db.OneByOne(ctx, q, calls, ran)
}
