package engine

import (
	"context"
	"sync"
)

// Turns lets one caller at a time proceed for each name, in the order of their calls. The zero value is ready for use. It may be used
// concurrently.
type Turns struct {
	mu    sync.Mutex
	names map[string]*turn
}

// turn is the turn of a name, with the number of callers that have it or wait for it.
type turn struct {
	Exclusive
	callers int
}

// Take waits for the caller's turn, which lasts until it calls release. The error is ctx's when that ends first.
func (t *Turns) Take(ctx context.Context, name string) (release func(), err error) {
	one := t.join(name)
	end, err := one.Exclusive.Take(ctx)
	if err != nil {
		t.leave(name, one)
		return nil, err
	}
	return func() {
		end(0)
		t.leave(name, one)
	}, nil
}

// join returns the turn of a name, with one caller more.
func (t *Turns) join(name string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.names[name]
	if one == nil {
		if t.names == nil {
			t.names = map[string]*turn{}
		}
		one = &turn{}
		t.names[name] = one
	}
	one.callers++
	return one
}

// leave removes a caller, and the turn with the last of them.
func (t *Turns) leave(name string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.callers--; one.callers == 0 {
		delete(t.names, name)
	}
}
