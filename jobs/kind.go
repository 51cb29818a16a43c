package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Kind is a type of job: its name in the database, the Go type of its payload, and what its jobs have in common.
// Only Name is needed; every zero value means the library's default. Kinds are values, usually package variables, and
// may be used concurrently.
type Kind[T any] struct {
	// Name is what the kind column holds. Renaming a kind leaves its old jobs without a handler.
	Name string

	// Queue is where its jobs go; [DefaultQueue] when empty.
	Queue string

	// Priority of its jobs: higher runs first.
	Priority int

	// MaxAttempts before a job fails; [DefaultMaxAttempts] when 0.
	MaxAttempts int

	// Timeout of one attempt; none when 0. A job's own timeout wins.
	Timeout time.Duration

	// RetryDelay says how long to wait before the next attempt after n counted ones have failed (n >= 1).
	// [DefaultRetryDelay] when nil.
	RetryDelay func(n int) time.Duration
}

// Handler runs one attempt of a job. Its context ends when the attempt must: timeout, lost lease, cancelled job,
// stopping runner (context.Cause tells which). nil means done; [Snooze], [Cancel], [Discard] and [RetryIn] say
// otherwise; any other error is a failed attempt that is retried while attempts are left. A panic and a
// runtime.Goexit are failed attempts too. Its goroutine runs other attempts afterwards: it must not stay locked to its
// thread.
type Handler[T any] func(ctx context.Context, job Job, args T) error

// Enqueue adds a job. See [Client.Enqueue] for the promise, and the options for what can be said of one job.
func (k Kind[T]) Enqueue(ctx context.Context, c *Client, args T, opts ...EnqueueOption) (Receipt, error) {
	data, err := json.Marshal(args)
	if err != nil {
		return Receipt{}, fmt.Errorf("enqueue %s: encode payload: %w", k.Name, err)
	}
	receipt, err := c.enqueueOne(ctx, k.enqueue(opts), data)
	if err != nil {
		return Receipt{}, fmt.Errorf("enqueue %s: %w", k.Name, err)
	}
	return receipt, nil
}

// EnqueueMany adds one job for each of args, in one transaction: all of them or none. It returns their ids in order.
func (k Kind[T]) EnqueueMany(ctx context.Context, c *Client, args []T, opts ...EnqueueOption) ([]int64, error) {
	ids, err := c.enqueueMany(ctx, k.enqueue(opts), len(args), func(i int) ([]byte, error) { return json.Marshal(args[i]) })
	if err != nil {
		return nil, fmt.Errorf("enqueue %d jobs of %s: %w", len(args), k.Name, err)
	}
	return ids, nil
}

// Handle makes the runner claim jobs of this kind and run them with h. It must be called before Run, and panics when
// the runner has a handler for the kind already, when the kind's name is empty, or after Run has begun.
func (k Kind[T]) Handle(r *Runner, h Handler[T]) {
	r.handle(handler{
		kind: k.Name, timeout: k.Timeout, retryDelay: k.RetryDelay,
		run: func(ctx context.Context, job Job) error {
			var args T
			if err := json.Unmarshal(job.Payload, &args); err != nil {
				return Discard(fmt.Errorf("decode payload as %T: %w", args, err))
			}
			return h(ctx, job, args)
		},
	})
}

// enqueue is the kind's defaults with the options upon them.
func (k Kind[T]) enqueue(opts []EnqueueOption) *enqueue {
	e := &enqueue{kind: k.Name, queue: k.Queue, priority: k.Priority, maxAttempts: k.MaxAttempts}
	if e.queue == "" {
		e.queue = DefaultQueue
	}
	if e.maxAttempts == 0 {
		e.maxAttempts = DefaultMaxAttempts
	}
	for _, opt := range opts {
		opt(e)
	}
	return e
}
