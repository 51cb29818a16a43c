package sqlite

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// endsAfter is a context that ends after a number of calls of Done.
type endsAfter struct {
	context.Context
	end  context.CancelFunc
	left atomic.Int64 // the driver asks from a goroutine too
}

func (c *endsAfter) Done() <-chan struct{} {
	if c.left.Add(-1) <= 0 {
		c.end()
	}
	return c.Context.Done()
}

// A context may end at any moment of preparing. Prepared statements are closed, and the connection is released.
func TestPreparingEndsHalfWay(t *testing.T) {
	store, _ := queue(t)
	pool := plain(t, store.path)
	refused := 0
	for asked := 1; ; asked++ {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ends := &endsAfter{Context: ctx, end: cancel}
		ends.left.Store(int64(asked))
		w, err := prepareWrites(ends, pool)
		if err == nil {
			must(t, w.Close())
			break
		}
		if refused++; !errors.Is(err, context.Canceled) {
			t.Errorf("ended when asked for the %d. time: %v", asked, err)
		}
	}
	if refused < 5 {
		t.Errorf("preparing was refused %d times, it does not ask whether its context has ended", refused)
	}
	if used := pool.Stats().InUse; used != 0 {
		t.Errorf("%d connections are still in use", used)
	}
}
