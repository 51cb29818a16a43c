package conformance

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Here jobs fall due in one queue while a worker is busy with another, or gets notifications all the time. The busy
// jobs end when the due one has begun: if it is forgotten, the test does not end.

// busyUntil returns a handler that runs until a channel is closed.
func busyUntil(over <-chan struct{}) func(context.Context, jobs.Job) error {
	return func(ctx context.Context, _ jobs.Job) error {
		select {
		case <-over:
		case <-ctx.Done():
		}
		return nil
	}
}

// closing returns a handler that closes a channel.
func closing(ch chan struct{}) func(context.Context, jobs.Job) error {
	return func(context.Context, jobs.Job) error { close(ch); return nil }
}

func testDueBesideNews(f *fixture) {
	soon := make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{"soon": 1, "busy": 1, "brief": 1}},
		on("soon", closing(soon)), on("busy", busyUntil(soon)), on("brief", nothing))
	for range 3 { // so that it claims after a notification without a check
		f.ended(f.enqueue("brief", jobs.Queue("brief")))
		time.Sleep(50 * time.Millisecond) // it may be idle then; otherwise the test proves less
	}
	f.must(f.inTx(func(tx Tx) error {
		client := f.client.With(tx)
		if _, err := client.Enqueue(f.ctx, "soon", []byte("{}"), jobs.Queue("soon"), jobs.In(50*time.Millisecond)); err != nil {
			return err
		}
		_, err := client.Enqueue(f.ctx, "busy", []byte("{}"), jobs.Queue("busy"))
		return err
	}))
	receive(f, "the job that fell due", soon)
}

func testDueInStream(f *fixture) {
	soon := make(chan struct{})
	begun := make(chan struct{}, 1000)
	f.start(jobs.Config{Queues: map[string]int{jobs.DefaultQueue: 1}},
		on("link", func(ctx context.Context, _ jobs.Job) error {
			select {
			case begun <- struct{}{}:
			default: // enough
			}
			select {
			case <-soon:
				return nil
			default:
			}
			_, err := f.client.Enqueue(ctx, "link", []byte("{}")) // the next, so that there is always one, and a notification while one runs
			time.Sleep(5 * time.Millisecond)
			return err
		}),
		on("soon", closing(soon)))
	for range 3 {
		f.enqueue("link")
	}
	for range 20 {
		receive(f, "a link of the stream", begun)
	}
	f.enqueue("soon", jobs.In(time.Millisecond), jobs.Priority(1))
	receive(f, "the job that fell due", soon)
}

func testSnoozedBeside(f *fixture) {
	again, brief := make(chan struct{}), make(chan struct{})
	f.start(jobs.Config{Queues: map[string]int{"snoozed": 2, "busy": 1}},
		on("snoozed", func(ctx context.Context, job jobs.Job) error {
			if job.Uncounted > 0 {
				close(again)
				return nil
			}
			if _, err := f.client.Enqueue(ctx, "busy", []byte("{}"), jobs.Queue("busy")); err != nil {
				return err
			}
			return jobs.Snooze(100 * time.Millisecond)
		}),
		on("busy", busyUntil(again)),
		on("brief", func(context.Context, jobs.Job) error { brief <- struct{}{}; return nil }))
	for range 3 { // so that it claims after a notification without a check
		f.enqueue("brief", jobs.Queue("busy"))
		receive(f, "a brief job", brief)
	}
	f.enqueue("snoozed", jobs.Queue("snoozed"))
	receive(f, "the snoozed job's second start", again)
}
