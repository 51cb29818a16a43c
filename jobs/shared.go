package jobs

import (
	"context"
	"sync"
	"time"
)

// Shared is what all clients of one store share, so that its bounds hold however many clients a program makes. An engine's
// store holds one and returns it from its method of this name. The zero value is ready for use.
type Shared struct {
	searches     exclusive
	schemaChecks exclusive
	waits        waitList
}

// exclusive lets one caller proceed at a time, in the order of their calls. The zero value is ready for use.
type exclusive struct {
	once sync.Once
	free chan struct{} // holds a value while no caller proceeds
}

// take waits for the caller's turn. The next caller proceeds so long after the call of release as that says. The error is ctx's
// when that ends first.
func (e *exclusive) take(ctx context.Context) (release func(pause time.Duration), err error) {
	e.once.Do(func() {
		e.free = make(chan struct{}, 1)
		e.free <- struct{}{}
	})
	select {
	case <-e.free:
		return e.release, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (e *exclusive) release(pause time.Duration) {
	if pause == 0 {
		e.free <- struct{}{}
		return
	}
	time.AfterFunc(pause, func() { e.free <- struct{}{} })
}
