package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sqluice/sqluice/db"
)

// freed holds the unique keys of jobs that have ended in a transaction, each as its kind and the key.
type freed struct {
	keys     [][2]string
	released int64
}

func (f *freed) add(kind, key string) {
	if key != "" {
		f.keys = append(f.keys, [2]string{kind, key})
	}
}

// release releases the successors of the jobs. It runs no statement when none of the jobs had a key.
func (f *freed) release(ctx context.Context, q db.Querier, now int64) error {
	if len(f.keys) == 0 {
		return nil
	}
	n, err := Release(ctx, q, now, f.keys)
	if err != nil {
		return err
	}
	f.keys, f.released = nil, f.released+n
	return nil
}

// Release releases the successors with these unique keys, each given as its kind and the key, unless another live job has the key. It
// returns their number.
func Release(ctx context.Context, q db.Querier, now int64, keys [][2]string) (int64, error) {
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
