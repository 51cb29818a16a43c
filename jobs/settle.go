package jobs

import (
	"cmp"
	"context"

	"github.com/sqluice/sqluice/internal/queue/jobrow"
)

// refresh reads the settings of kinds, and which kinds and queues have a bounded backlog, at most once a second.
func (c *Client) refresh(ctx context.Context) error {
	if c.kinds.IsFresh() {
		return nil
	}
	return c.scope().ReadBeside(ctx, c.kinds.Read)
}

// settle refreshes the settings, and sets the queue, the priority and the limit key that the job lacks: the declared ones of its kind, or the
// default.
func (c *Client) settle(ctx context.Context, e *enqueue) error {
	if err := c.refresh(ctx); err != nil || e.isSettled() {
		return err
	}
	kind, _ := c.kinds.Of(e.kind)
	kind.Limited = kind.Limited || c.kinds.IsBounded(e.kind)
	e.settle(kind)
	return nil
}

// isSettled reports whether the job has a queue and a priority, and its kind's queue is known, as is then the need for a limit key.
func (e *enqueue) isSettled() bool { return e.queue != "" && e.priority != nil && e.kinds.queue != "" }

// settle sets the queue and the priority that the job lacks, and an empty limit key where its kind has a limit.
func (e *enqueue) settle(kind jobrow.Kind) {
	e.kinds.queue = cmp.Or(kind.Queue, DefaultQueue)
	e.queue = cmp.Or(e.queue, e.kinds.queue)
	if e.priority == nil {
		e.priority = &kind.Priority
	}
	if kind.Limited && e.limitKey == nil {
		e.limitKey = func(int) string { return "" }
	}
}

// settled returns a schedule with the queue, the priority and the limit key of the runner's own kind unless it names them.
func (r *Runner) settled(s Schedule) Schedule {
	if s.job == nil || s.job.isSettled() {
		return s
	}
	job, own := *s.job, r.settings[s.job.kind]
	job.settle(jobrow.Kind{Queue: own.Queue, Priority: own.Priority, Limited: own.Limit != nil})
	s.job = &job
	return s
}
