package jobs

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/runner"
)

// EnqueueFunc adds the jobs of a request.
type EnqueueFunc func(ctx context.Context, r *EnqueueRequest) error

// EnqueueMiddleware wraps each enqueue of a client, of one job or of many: see [WithMiddleware]. The returned function
// reads the request, may change it, and calls next, once, or refuses with its own error. An error that it returns after
// next returned nil reaches the caller although the jobs are there.
type EnqueueMiddleware func(next EnqueueFunc) EnqueueFunc

// RunFunc runs one attempt of a job, as a [Handler] does.
type RunFunc func(ctx context.Context, job Job) error

// RunMiddleware wraps the handlers of a runner: see [Config.Middleware]. The returned function is called within the
// attempt's timeout and may pass next another context below its own. The error that it returns is the attempt's,
// whatever next returned: nil, [Snooze] and the like mean the same as from a handler. So do its panics.
type RunMiddleware func(next RunFunc) RunFunc

// ClientOption is an option of [New].
type ClientOption func(*Client)

// WithMiddleware adds middleware around the client's enqueues: the first one outermost, and those of a later option inside
// those of an earlier one.
func WithMiddleware(list ...EnqueueMiddleware) ClientOption {
	return func(c *Client) { c.middleware = append(c.middleware[:len(c.middleware):len(c.middleware)], list...) }
}

// EnqueueRequest is an enqueue before its validation, for a middleware. It is used by one goroutine, and not after the
// middleware has returned.
type EnqueueRequest struct {
	client  *Client
	enqueue *enqueue
	jobs    int
	payload func(i int) ([]byte, error)
	add     func(ctx context.Context) error
	called  bool
	added   bool
	ids     []int64
	existed bool
}

// Job returns the job to be added, or the common fields of many: without an id, a status and a payload. It omits
// metadata that cannot be encoded: the enqueue is refused for it.
func (r *EnqueueRequest) Job() Job {
	now := r.client.store.Now()
	runAfter, _, _ := r.enqueue.runAfter(now) // it shows also a time that is refused
	metadata, _ := r.enqueue.metadataColumn()
	job := jobrow.Requested(r.enqueue.row(now, runAfter, "", metadata))
	r.client.kinds.Settings(r.enqueue.kind, r.enqueue.kinds.settings).Fill(&job)
	return job
}

// Len returns the number of jobs that the request enqueues.
func (r *EnqueueRequest) Len() int { return r.jobs }

// Payload returns the payload of the ith job, counted from 0. It must not be changed.
func (r *EnqueueRequest) Payload(i int) (json.RawMessage, error) { return r.payload(i) }

// Set changes the request as if the options had been given after all others.
func (r *EnqueueRequest) Set(opts ...EnqueueOption) {
	for _, opt := range opts {
		opt(r.enqueue)
	}
}

// IDs returns the ids of the jobs once next has returned nil, in the order of their payloads.
func (r *EnqueueRequest) IDs() []int64 { return r.ids }

// Existed reports, once next has returned nil, whether a job with the same unique key or request id was found instead of
// adding one.
func (r *EnqueueRequest) Existed() bool { return r.existed }

// wrapped returns an enqueue inside the client's middleware; nil without any.
func (c *Client) wrapped() EnqueueFunc {
	if len(c.middleware) == 0 {
		return nil
	}
	enqueue := EnqueueFunc(func(ctx context.Context, r *EnqueueRequest) error { return r.run(ctx) })
	for i := len(c.middleware) - 1; i >= 0; i-- {
		enqueue = c.middleware[i](enqueue)
	}
	return enqueue
}

// run is the function that the innermost middleware calls.
func (r *EnqueueRequest) run(ctx context.Context) error {
	if r.add == nil {
		return errors.New("a middleware passed on a request that it made itself, in place of the one that it was given")
	}
	if r.called {
		return errors.New("a middleware enqueues the same request twice")
	}
	r.called = true
	if err := r.add(ctx); err != nil {
		return err
	}
	r.added = true
	return nil
}

// pass passes a request through the middleware. It returns an error when a middleware returned nil without enqueuing, so that no
// caller assumes that the jobs are enqueued.
func (r *EnqueueRequest) pass(ctx context.Context) error {
	r.enqueue.payloads.encoded = false // a middleware reads payloads, and may change them against the rule
	if err := r.client.around(ctx, r); err != nil {
		return err
	}
	if !r.added {
		return errors.New("a middleware returned no error and enqueued nothing")
	}
	return nil
}

// around returns a handler inside the runner's middleware, the first one outermost.
func (c Config) around(run func(context.Context, *Job) error) func(context.Context, *Job) error {
	if len(c.Middleware) == 0 {
		return run
	}
	next := RunFunc(func(ctx context.Context, job Job) error { return run(ctx, &job) })
	for i := len(c.Middleware) - 1; i >= 0; i-- {
		next = c.Middleware[i](next)
	}
	return func(ctx context.Context, job *Job) error { return next(ctx, *job) }
}

// FateOf returns the fate that a handler's error requests: [FateDone] for nil, [FateSnoozed], [FateUnable], [FateCancelled], [FateFailed]
// for errors of [Snooze], [Unable], [Cancel] and [Discard], otherwise [FateRetry]. It is for middleware. The job's new status depends also
// on the attempts that are left, and on why the attempt's context ended.
func FateOf(err error) Fate { return runner.FateOf(err) }
