package costs

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
)

// A slot with a waiting handler has a stack of 4 KB, which is most of the memory of a thousand of them. Decoding a
// payload, which goes deepest, must not need the next size, 8 KB.
func TestStackOfASlot(t *testing.T) {
	if raced {
		t.Skip("the race detector needs more stack")
	}
	const least, most = 2 << 10, 6 << 10 // Go gives no goroutine less
	var took uint64
	for range tries { // the stacks of other goroutines come and go
		if took = stackOfASlot(t); took >= least && took < most {
			return
		}
	}
	t.Errorf("a slot has a stack of %d bytes: less than %d should do, and %d is the least there is", took, most, least)
}

func stackOfASlot(t *testing.T) uint64 {
	t.Helper()
	const waiting = 500
	client := jobs.New(testdb.SQLite(t))
	_, err := noop.EnqueueMany(t.Context(), client, payloads(waiting))
	must(t, err)
	runner, err := jobs.NewRunner(client, jobs.Config{Queues: map[string]int{jobs.DefaultQueue: waiting}, Logger: quiet()})
	must(t, err)
	var began sync.WaitGroup
	began.Add(waiting)
	release := make(chan struct{})
	noop.Handle(runner, func(context.Context, jobs.Job, payload) error {
		began.Done()
		<-release
		return nil
	})
	runtime.GC() // returns the stacks of goroutines that have ended, which others would get
	before := stacks()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	began.Wait()
	after := stacks()
	close(release)
	stop()
	must(t, <-ended)
	return (max(before, after) - before) / waiting
}

func stacks() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.StackInuse
}
