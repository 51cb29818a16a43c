//go:build unix

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// serve is a service with a worker in it: it adds jobs, now and then, and runs them by the same client, so that most
// are handed over. Its history records them as an enqueuer's and as a worker's, and each handed over job as "handed".
// It ends when standard input does.
func (r role) serve(ctx context.Context) error {
	h, err := openHistory(r.History)
	if err != nil {
		return err
	}
	var fault atomic.Pointer[error]
	store, err := r.open(ctx, &jobs.Observer{Queried: func(name string, _ time.Duration, err error) {
		if name == "EnqueueClaimedJob" && err == nil {
			if err := h.write("handed", 0, 0); err != nil {
				fault.Store(&err)
			}
		}
	}})
	if err != nil {
		return err
	}
	client := jobs.New(store)
	worked := make(chan error, 1)
	go func() { worked <- r.work(ctx, client) }()
	for n := 2; ; n += 2 { // one job each
		select {
		case err := <-worked:
			if p := fault.Load(); p != nil {
				err = errors.Join(err, *p)
			}
			return errors.Join(err, store.Close())
		case <-time.After(5 * time.Millisecond): // the pace of its callers: often all is done when the next job is added
		}
		ids, err := (mark{r.Name, n}).enqueue(ctx, client)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := h.write("added", id, n); err != nil {
				return err
			}
		}
	}
}

// Services are killed again and again while they hand jobs to themselves: none is lost, none is started twice.
func TestKilledServices(t *testing.T) {
	onEachEngine(t, func(t *testing.T, address string, client *jobs.Client) {
		var all, alive []*process
		begin := func() {
			p := start(t, role{Do: "serve", DB: address, Name: fmt.Sprint("service", len(all)), Queues: map[string]int{"default": 5}})
			all, alive = append(all, p), append(alive, p)
		}
		begin()
		begin()
		for range 6 {
			victim := alive[0]
			eventually(t, "jobs were handed to the victim", func() bool { return len(every(victim.events(), "handed")) > 30 })
			victim.kill()
			alive = alive[1:]
			begin()
		}
		for _, p := range alive {
			p.release()
		}
		must(t, start(t, role{Do: "drain", DB: address, Name: "last", Queues: map[string]int{"default": 5}}).wait())
		var events []event
		for _, p := range all {
			events = append(events, p.events()...)
		}
		checkStarts(t, events)
		if sum := checkEnqueues(t, client, all); len(sum.added) == 0 {
			t.Error("no job was acknowledged")
		}
		checkDone(t, client)
	})
}
