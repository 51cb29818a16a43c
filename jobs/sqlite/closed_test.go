package sqlite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// A worker that can no longer write its end must be found dead by its lock, and not keep its jobs for a lease.
func TestStoreClosedUnderAWorker(t *testing.T) {
	store, client := queue(t)
	id := enqueue(t, client, "k")
	started := make(chan struct{})
	stop := work(t, client, jobs.Config{Lease: time.Hour, Name: "w"}, map[string]func(context.Context, jobs.Job) error{
		"k": func(ctx context.Context, _ jobs.Job) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		},
	})
	receive(t, "the start", started)
	must(t, store.Close())
	if err := stop(); !errors.Is(err, jobs.ErrClosed) {
		t.Errorf("Run gives %v", err)
	}
	_, again := queueAt(t, store.path)
	work(t, again, jobs.Config{Name: "w"}, map[string]func(context.Context, jobs.Job) error{
		"k": func(context.Context, jobs.Job) error { return nil },
	})
	if job := ended(t, again, id); job.Attempt != 2 || job.Status != jobs.StatusDone {
		t.Errorf("attempt %d is %s", job.Attempt, job.Status)
	}
}

// A statement of plain SQL that lowers the attempt number makes two attempts share a fence: at least the older handler must not
// end the newer attempt.
func TestAttemptSetBack(t *testing.T) {
	store, client := queue(t)
	id := enqueue(t, client, "k")
	type start struct {
		ctx  context.Context
		done chan struct{}
	}
	starts := make(chan start, 2)
	work(t, client, jobs.Config{}, map[string]func(context.Context, jobs.Job) error{
		"k": func(ctx context.Context, _ jobs.Job) error {
			s := start{ctx, make(chan struct{})}
			starts <- s
			<-s.done
			return nil
		},
	})
	first := receive(t, "the first start", starts)
	exec(t, plain(t, store.path), "set_attempt_back", id)
	second := receive(t, "the second start", starts)
	receive(t, "the end of the first handler's context", first.ctx.Done())
	if why := context.Cause(first.ctx); !errors.Is(why, jobs.ErrLeaseLost) {
		t.Errorf("the first handler's context ended because: %v", why)
	}
	close(first.done)
	if job, err := client.Get(t.Context(), id); err != nil || job.Status != jobs.StatusRunning {
		t.Errorf("while the second handler runs the job is %s (%v)", job.Status, err)
	}
	close(second.done)
	if job := ended(t, client, id); job.Status != jobs.StatusDone {
		t.Errorf("the job is %s", job.Status)
	}
}
