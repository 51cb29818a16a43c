package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var middlewareTests = []test{
	{"EnqueueOfOneAndOfMany", testEnqueueMiddleware},
	{"EnqueueIsChanged", testEnqueueChanged},
	{"EnqueueIsRefused", testEnqueueRefused},
	{"EnqueueExactlyOnce", testEnqueueOnce},
	{"EnqueueInATransaction", testEnqueueMiddlewareInTx},
	{"RunOrder", testRunMiddlewareOrder},
	{"RunChangesTheError", testRunMiddlewareError},
	{"RunPanics", testRunMiddlewarePanics},
}

// notes are the events that a middleware or an observer received, in order.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

func (n *notes) want(f *fixture, what string, list ...string) {
	f.Helper()
	if have := n.all(); !slices.Equal(have, list) {
		f.Errorf("%s:\n%s\nnot\n%s", what, strings.Join(have, "\n"), strings.Join(list, "\n"))
	}
}

// telling returns an enqueue's middleware that records its calls.
func (n *notes) telling(name string) jobs.EnqueueMiddleware {
	return func(next jobs.EnqueueFunc) jobs.EnqueueFunc {
		return func(ctx context.Context, r *jobs.EnqueueRequest) error {
			job := r.Job()
			n.add("%s before %s %s %v %s, %d", name, job.Kind, job.Queue, job.Tags, string(job.Metadata), r.Len())
			for i := range r.Len() {
				payload, err := r.Payload(i)
				if err != nil {
					return err
				}
				n.add("%s payload %s", name, payload)
			}
			err := next(ctx, r)
			n.add("%s after %d ids, existed %v, %v", name, len(r.IDs()), r.Existed(), err)
			return err
		}
	}
}

func testEnqueueMiddleware(f *fixture) {
	var n notes
	client := jobs.New(f.store, jobs.WithMiddleware(n.telling("a")), jobs.WithMiddleware(n.telling("b")))
	one, err := client.Enqueue(f.ctx, "k", json.RawMessage("1"), jobs.Tags("t"), jobs.Metadata(true), jobs.Unique("u"))
	f.must(err)
	again, err := client.Enqueue(f.ctx, "k", json.RawMessage("1"), jobs.Unique("u"))
	f.must(err)
	want(f, "id of the job that was there", again.ID, one.ID)
	want(f, "that it existed", again.Existed, true)
	ids, err := receipts.IDs(client.EnqueueMany(f.ctx, "k", []json.RawMessage{json.RawMessage("2"), json.RawMessage("3")}, jobs.Queue("q")))
	f.must(err)
	want(f, "jobs", len(ids), 2)
	want(f, "payload of the second", string(f.get(ids[1]).Payload), "3")
	n.want(f, "the middleware saw",
		"a before k default [t] true, 1", "a payload 1", "b before k default [t] true, 1", "b payload 1",
		"b after 1 ids, existed false, <nil>", "a after 1 ids, existed false, <nil>",
		"a before k default [] , 1", "a payload 1", "b before k default [] , 1", "b payload 1",
		"b after 1 ids, existed true, <nil>", "a after 1 ids, existed true, <nil>",
		"a before k q [] , 2", "a payload 2", "a payload 3", "b before k q [] , 2", "b payload 2", "b payload 3",
		"b after 2 ids, existed false, <nil>", "a after 2 ids, existed false, <nil>",
	)
}

func testEnqueueChanged(f *fixture) {
	client := jobs.New(f.store, jobs.WithMiddleware(func(next jobs.EnqueueFunc) jobs.EnqueueFunc {
		return func(ctx context.Context, r *jobs.EnqueueRequest) error {
			r.Set(jobs.Metadata(map[string]int{"by": 1}), jobs.Queue("other"), jobs.Priority(7))
			return next(ctx, r)
		}
	}))
	receipt, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}"), jobs.Queue("q"))
	f.must(err)
	job := f.get(receipt.ID)
	want(f, "queue", job.Queue, "other")
	want(f, "priority", job.Priority, 7)
	want(f, "metadata", string(job.Metadata), `{"by":1}`)
}

func testEnqueueRefused(f *fixture) {
	refusal := errors.New("not today")
	client := jobs.New(f.store, jobs.WithMiddleware(func(jobs.EnqueueFunc) jobs.EnqueueFunc {
		return func(context.Context, *jobs.EnqueueRequest) error { return refusal }
	}))
	if _, err := client.Enqueue(f.ctx, "k", json.RawMessage("{}")); !errors.Is(err, refusal) {
		f.Errorf("Enqueue gives %v", err)
	}
	if _, err := client.EnqueueMany(f.ctx, "k", []json.RawMessage{json.RawMessage("{}")}); !errors.Is(err, refusal) {
		f.Errorf("EnqueueMany gives %v", err)
	}
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "pending jobs", stats.Jobs[jobs.StatusPending], 0)
}

// An enqueue that returns no error has added exactly one job.
func testEnqueueOnce(f *fixture) {
	calling := func(times int) *jobs.Client {
		return jobs.New(f.store, jobs.WithMiddleware(func(next jobs.EnqueueFunc) jobs.EnqueueFunc {
			return func(ctx context.Context, r *jobs.EnqueueRequest) error {
				var errs []error
				for range times {
					errs = append(errs, next(ctx, r))
				}
				return errors.Join(errs...)
			}
		}))
	}
	for times, jobsAdded := range []int64{0, 1, 2} {
		_, err := calling(times).Enqueue(f.ctx, "k", json.RawMessage("{}"))
		if (err == nil) != (times == 1) {
			f.Errorf("with %d calls of next Enqueue gives %v", times, err)
		}
		stats, err := inspect.New(f.client).Stats(f.ctx)
		f.must(err)
		want(f, "pending jobs", stats.Jobs[jobs.StatusPending], jobsAdded)
	}
}

func testEnqueueMiddlewareInTx(f *fixture) {
	var n notes
	client := jobs.New(f.store, jobs.WithMiddleware(n.telling("a")))
	tx, err := f.store.Begin(f.ctx)
	f.must(err)
	_, err = client.With(tx).Enqueue(f.ctx, "k", json.RawMessage("1"))
	f.must(err)
	f.must(tx.Rollback())
	n.want(f, "the middleware saw", "a before k default [] , 1", "a payload 1", "a after 1 ids, existed false, <nil>")
	stats, err := inspect.New(f.client).Stats(f.ctx)
	f.must(err)
	want(f, "pending jobs", stats.Jobs[jobs.StatusPending], 0)
}

type contextKey struct{}

func testRunMiddlewareOrder(f *fixture) {
	var n notes
	around := func(name string) jobs.RunMiddleware {
		return func(next jobs.RunFunc) jobs.RunFunc {
			return func(ctx context.Context, job jobs.Job) error {
				n.add("%s before %s %d", name, job.Kind, job.Attempt)
				err := next(context.WithValue(ctx, contextKey{}, name), job)
				n.add("%s after %v", name, err)
				return err
			}
		}
	}
	id := f.enqueue("k")
	f.drain(jobs.Config{Middleware: []jobs.RunMiddleware{around("a"), around("b")}}, on("k", func(ctx context.Context, job jobs.Job) error {
		n.add("handler in %v", ctx.Value(contextKey{}))
		if err := job.SetResult("set"); err != nil {
			return err
		}
		return jobs.Discard(errors.New("broken"))
	}))
	n.want(f, "the middleware saw", "a before k 1", "b before k 1", "handler in b", "b after discard: broken", "a after discard: broken")
	want(f, "status", f.get(id).Status, jobs.StatusFailed)
}

// The error that the outermost middleware returns is the attempt's.
func testRunMiddlewareError(f *fixture) {
	id := f.enqueue("k")
	f.drain(jobs.Config{Middleware: []jobs.RunMiddleware{func(next jobs.RunFunc) jobs.RunFunc {
		return func(ctx context.Context, job jobs.Job) error {
			err := next(ctx, job)
			want(f, "fate that the error asks for", jobs.FateOf(err), jobs.FateRetry)
			return jobs.Snooze(time.Hour)
		}
	}}}, on("k", func(context.Context, jobs.Job) error { return errors.New("broken") }))
	job := f.get(id)
	want(f, "status", job.Status, jobs.StatusScheduled)
	want(f, "attempts that do not count", job.Uncounted, 1)
	want(f, "errors", len(f.errors(id)), 0)
}

func testRunMiddlewarePanics(f *fixture) {
	id := f.enqueue("k")
	f.drain(jobs.Config{Middleware: []jobs.RunMiddleware{func(next jobs.RunFunc) jobs.RunFunc {
		return func(ctx context.Context, job jobs.Job) error {
			if err := next(ctx, job); err != nil {
				return err
			}
			panic("in the middleware")
		}
	}}}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusScheduled)
	e := f.wantError(id, jobs.CausePanic, "in the middleware")
	if !strings.Contains(e.Stack, "testRunMiddlewarePanics") {
		f.Errorf("the stack does not lead to the middleware: %s", e.Stack)
	}
}
