package jobs

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/limits"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Limit bounds the jobs of a kind, for each key by itself and in all processes together. The zero value bounds nothing.
type Limit[T any] struct {
	// Key returns the key of a job, such as a tenant's name, at the enqueue: at most [MaxLimitKeyLength] characters. nil, or an empty key:
	// the jobs share one. It must return the same for the same payload, and may be called concurrently.
	Key func(args T) string

	// Running is the largest number of jobs of a key that run at once; 0 means any number. A job runs from its claim until its end is
	// recorded, or until a worker notices that its own is gone.
	Running int

	// Rate bounds the starts of jobs of a key: in any time T there are at most T times the rate, and Burst. Each attempt is a start. The zero
	// Rate is no bound. Make it with [Per].
	Rate Rate

	// Burst is the largest number of starts at one time after a pause: 0 means 1. It needs a Rate.
	Burst int

	// Weight is the number of jobs of a key that a claim starts before it turns to the next key, while there is room: 0 means 1.
	Weight int

	// Depth is the largest number of jobs of a key that have not started; 0 means any number. An enqueue beyond it does what OnFull says.
	// Enqueues that are committed at the same time can exceed it. Retries and plain INSERTs do not heed it.
	Depth int

	// OnFull says what an enqueue beyond Depth does: see [OnFullRefuse], which the zero value means. It needs Depth.
	OnFull OnFull

	// Ordered has the jobs of a key run one by one, strictly in the order of their ids among those whose enqueue is committed: a job that
	// is retried later, or that is scheduled for later, holds those behind it. Priority decides nothing among them. Running is then 1.
	Ordered bool

	// OnFail says what a job that has failed for good does to those behind it: see [OnFailHold], which the zero value means. It needs
	// Ordered.
	OnFail OnFail

	// Total bounds all jobs of the kind together, as [Client.SetTotalLimit] does: a job starts when its key and the kind have room. It has
	// no weight, no depth and no order. The zero value bounds nothing.
	Total LimitValues
}

// OnFull says what an enqueue does when as many jobs of its limit key wait as may. The zero value is [OnFullRefuse].
type OnFull = jobtype.OnFull

const (
	OnFullRefuse = jobtype.OnFullRefuse // it returns a [FullError]
	OnFullDrop   = jobtype.OnFullDrop   // it adds no job, and the receipt says so
)

// OnFail says what happens to the jobs behind a failed one, where the jobs of a limit key run in order. The zero value is [OnFailHold].
type OnFail = jobtype.OnFail

const (
	OnFailHold   = jobtype.OnFailHold   // no job of the key starts until the failed one is retried, deleted, or passed by [Client.ResumeSequence]
	OnFailSkip   = jobtype.OnFailSkip   // the next job starts
	OnFailCancel = jobtype.OnFailCancel // the jobs that have not started are cancelled; later ones run
)

// Rate is a number of starts in a period.
type Rate = jobtype.Rate

// Per returns the rate of n starts in a period: 1 to 1,000,000 in a time from a millisecond to a day, and at most one in a microsecond.
func Per(n int, period time.Duration) Rate { return Rate{Starts: n, Period: period} }

// LimitValues are the bounds of a limit, as [Limit] has them.
type LimitValues = jobtype.LimitValues

// LimitInfo is a limit in force.
type LimitInfo = jobtype.LimitInfo

func (l Limit[T]) values() LimitValues {
	return LimitValues{Running: l.Running, Rate: l.Rate, Burst: l.Burst, Weight: l.Weight, Depth: l.Depth, OnFull: l.OnFull, Ordered: l.Ordered, OnFail: l.OnFail}
}

// declaredLimit returns the limit as programs declare it; nil for the zero value.
func declaredLimit(v LimitValues) *declare.Limit {
	if v == (LimitValues{}) {
		return nil
	}
	return &declare.Limit{
		Running: limits.Running(v), Starts: v.Rate.Starts, Period: v.Rate.Period.Microseconds(), Burst: v.Burst, Weight: v.Weight,
		Depth: v.Depth, OnFull: limits.OnFull(v), Ordered: limits.Ordered(v),
	}
}

// check returns the first fault of the values.
func (l Limit[T]) check() error {
	if err := limits.CheckDeclared(core.ScopeKind, l.values()); err != nil {
		return err
	}
	return core.Wrap(limits.CheckDeclared(core.ScopeTotal, l.Total), "the total")
}

// isSet reports whether the jobs of the kind have limit keys.
func (l Limit[T]) isSet() bool {
	return l.Key != nil || l.values() != LimitValues{} || l.Total != LimitValues{}
}

// key returns the limit key of a job.
func (l Limit[T]) key(args T) string {
	if l.Key == nil {
		return ""
	}
	return l.Key(args)
}

// SetLimit sets the limit of a kind and a key, in place of the one that was set before. With an empty key it is for all keys of the kind
// without a limit of their own, each by itself, and for the jobs without a key, which share one. It goes before the limit that programs
// declare until [Client.DeleteLimit]. The next claim obeys it: when it is lower, running jobs go on.
func (c *Client) SetLimit(ctx context.Context, kind, key string, v LimitValues) error {
	defer c.kinds.Expire()
	return limits.Set(ctx, c.scope(), limits.Name{Scope: core.ScopeKind, Name: kind, Key: key}, v)
}

// SetTotalLimit sets the limit of all jobs of a kind together, as [Client.SetLimit] does. A job starts when this limit, the one of its key
// and the one of its queue have room. It has no weight, no depth and no order.
func (c *Client) SetTotalLimit(ctx context.Context, kind string, v LimitValues) error {
	return limits.Set(ctx, c.scope(), limits.Name{Scope: core.ScopeTotal, Name: kind}, v)
}

// SetQueueLimit sets the limit of all jobs of a queue together, as [Client.SetTotalLimit] does for a kind. It can have a depth, which bounds
// the jobs of the queue that have not started, with and without limit keys.
func (c *Client) SetQueueLimit(ctx context.Context, queue string, v LimitValues) error {
	defer c.kinds.Expire()
	return limits.Set(ctx, c.scope(), limits.Name{Scope: core.ScopeQueue, Name: queue}, v)
}

// DeleteLimit removes a limit that [Client.SetLimit] has set, and reports whether there was one. What programs declare applies again.
func (c *Client) DeleteLimit(ctx context.Context, kind, key string) (bool, error) {
	defer c.kinds.Expire()
	return limits.Delete(ctx, c.scope(), limits.Name{Scope: core.ScopeKind, Name: kind, Key: key})
}

// DeleteTotalLimit removes a limit that [Client.SetTotalLimit] has set, and reports whether there was one. What programs declare applies again.
func (c *Client) DeleteTotalLimit(ctx context.Context, kind string) (bool, error) {
	return limits.Delete(ctx, c.scope(), limits.Name{Scope: core.ScopeTotal, Name: kind})
}

// DeleteQueueLimit removes a limit that [Client.SetQueueLimit] has set, and reports whether there was one. What programs declare applies again.
func (c *Client) DeleteQueueLimit(ctx context.Context, queue string) (bool, error) {
	defer c.kinds.Expire()
	return limits.Delete(ctx, c.scope(), limits.Name{Scope: core.ScopeQueue, Name: queue})
}

// ResumeSequence lets the jobs of a kind and a key go on that a failed one holds: see [OnFailHold]. It reports whether there was one. The
// failed jobs stay as they are, and one that is retried later comes first again.
func (c *Client) ResumeSequence(ctx context.Context, kind, key string) (bool, error) {
	return limits.Resume(ctx, c.scope(), limits.Name{Scope: core.ScopeKind, Name: kind, Key: key})
}

// Limits returns the limits in force, set and declared ones: of kinds by kind and key, then of queues, then of whole kinds.
func (c *Client) Limits(ctx context.Context) ([]LimitInfo, error) { return limits.List(ctx, c.scope()) }
