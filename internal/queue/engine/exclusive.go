package engine

import (
	"context"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// Exclusive lets one caller proceed at a time, in the order of their calls. The zero value is ready for use.
type Exclusive struct {
	once sync.Once
	free chan struct{} // holds a value while no caller has its turn
}

// Take waits for the caller's turn, which lasts until it calls release. The next turn begins when the pause given to release
// is over. The error is ctx's when that ends first.
func (e *Exclusive) Take(ctx context.Context) (release func(pause time.Duration), err error) {
	e.once.Do(func() {
		e.free = make(chan struct{}, 1)
		e.free <- struct{}{}
	})
	select {
	case <-e.free:
		return e.release, nil
	case <-ctx.Done():
		return nil, core.EndOf(ctx)
	}
}

func (e *Exclusive) release(pause time.Duration) {
	if pause == 0 {
		e.free <- struct{}{}
		return
	}
	time.AfterFunc(pause, func() { e.free <- struct{}{} })
}
