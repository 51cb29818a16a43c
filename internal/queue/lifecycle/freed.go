package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// freed are the unique keys of jobs that have ended in a transaction, each as its kind and the key.
type freed struct {
	keys     [][2]string
	released int64
}

func (f *freed) add(kind, key string) {
	if key != "" {
		f.keys = append(f.keys, [2]string{kind, key})
	}
}

// release lets the successors of the jobs run. It runs no statement when none of these had a key.
func (f *freed) release(ctx context.Context, q db.Querier, now int64) error {
	if len(f.keys) == 0 {
		return nil
	}
	n, err := release(ctx, q, now, f.keys)
	if err != nil {
		return err
	}
	f.keys, f.released = nil, f.released+n
	return nil
}

func release(ctx context.Context, q db.Querier, now int64, keys [][2]string) (int64, error) {
	list, err := json.Marshal(keys)
	if err != nil {
		return 0, err
	}
	n, err := q.ReleaseSuccessors(ctx, db.ReleaseSuccessorsParams{Now: now, Keys: string(list)})
	if err != nil {
		return 0, fmt.Errorf("release the successors of jobs with unique keys: %w", err)
	}
	return n, nil
}

// freeMost is how many successors one transaction releases.
const freeMost = 1000

// ReleaseFree lets the successors run whose unique keys are free: those of jobs that plain SQL, a pause of their transaction or a
// DELETE has ended, and that were locked when their predecessors ended. It reports whether there were any.
func ReleaseFree(ctx context.Context, store engine.Store, now int64) (bool, error) {
	var n int64
	err := store.Write(ctx, func(ctx context.Context, q db.Querier) error {
		n = 0
		list, err := q.ListFreeSuccessors(ctx, freeMost)
		if err != nil || len(list) == 0 {
			return err
		}
		keys := make([][2]string, len(list))
		for i, s := range list {
			keys[i] = [2]string{s.Kind, s.UniqueKey}
		}
		n, err = release(ctx, q, now, keys)
		return err
	})
	return n > 0, err
}
