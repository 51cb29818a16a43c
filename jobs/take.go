package jobs

import (
	"context"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/limits"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Limiter lets code that is no job obey the rate of a limit. Make it with [Client.Limit]. It may be used concurrently.
type Limiter struct {
	client *Client
	name   string
}

// Limit returns the limit of a kind with an empty key: [Client.SetLimit] sets it, or a program declares it as [Kind.Limit]. No jobs of the
// kind need to exist. If there are some, those with an empty limit key spend the same tokens.
func (c *Client) Limit(kind string) Limiter { return Limiter{c, kind} }

// Take takes n tokens of the limit's rate, which bounds them as it bounds the starts of jobs: in any time T, in all processes together, at
// most T times the rate, and the burst. It returns once it has them all. When ctx ends first, the error is ctx's, and no token was taken.
// A limit without a rate, or one that is not set, lets it return at once, unless [Throttle] has closed the key. A change of the limit
// applies within a second.
//
// The error is an [InvalidError] for an n below 1 or above the burst. Calls on one store get their tokens in the order of the calls, those
// in other processes in any order. The running jobs of the limit do not count here. A client of a transaction ([Client.With]) cannot take
// tokens: others would wait for its commit.
func (l Limiter) Take(ctx context.Context, n int) error {
	return core.Wrap(l.take(ctx, n), "take %d tokens of the limit of %s", n, l.name)
}

func (l Limiter) take(ctx context.Context, n int) error {
	if l.client.scope().Tx != nil {
		return jobtype.NewInvalidError("client", "one of a transaction", "not take tokens: others would wait for its commit")
	}
	taking := limits.Taking{Scope: l.client.scope(), Kind: l.name, N: int64(n)}
	if err := taking.Check(); err != nil {
		return err
	}
	release, err := engine.SharedOf(l.client.given).LimitTakes.Take(ctx, l.name)
	if err != nil {
		return err
	}
	defer release()
	return taking.Run(ctx)
}
