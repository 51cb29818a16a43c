package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
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
}

// Rate is a number of starts in a period.
type Rate struct {
	Starts int           `json:"starts"`
	Period time.Duration `json:"period_ns"`
}

// Per returns the rate of n starts in a period: 1 to 1,000,000 in a time from a millisecond to a day, and at most one in a microsecond.
func Per(n int, period time.Duration) Rate { return Rate{n, period} }

// LimitValues are the bounds of a limit, as [Limit] has them.
type LimitValues struct {
	Running int  `json:"running"`
	Rate    Rate `json:"rate"`
	Burst   int  `json:"burst"`
}

// LimitInfo is a limit in force.
type LimitInfo struct {
	Kind string `json:"kind"`
	Key  string `json:"key"` // empty: for all keys without a limit of their own, each by itself
	LimitValues
	Declared bool      `json:"declared"`        // a program declares it, and it is not set by SetLimit
	SetAt    time.Time `json:"set_at,omitzero"` // when SetLimit set it

	// The jobs with the key, or with any key of the kind when it is empty.
	RunningJobs int `json:"running_jobs"`
	WaitingJobs int `json:"waiting_jobs"` // due, and without room
}

func (l Limit[T]) values() LimitValues { return LimitValues{l.Running, l.Rate, l.Burst} }

// isBound reports whether the limit has a bound.
func (l Limit[T]) isBound() bool { return l.values() != LimitValues{} }

// isSet reports whether the jobs of the kind have limit keys.
func (l Limit[T]) isSet() bool { return l.Key != nil || l.isBound() }

// key returns the limit key of a job.
func (l Limit[T]) key(args T) string {
	if l.Key == nil {
		return ""
	}
	return l.Key(args)
}

// The bounds of the values of a limit; the schema's CHECKs have the same.
const (
	maxRunning = 1_000_000_000
	maxStarts  = 1_000_000
	maxPeriod  = 24 * time.Hour
)

// check returns the first fault of the values.
func (v LimitValues) check() error {
	r := v.Rate
	for _, bound := range []struct {
		ok                 bool
		field, value, must string
	}{
		{v.Running >= 0 && v.Running <= maxRunning, "running of the limit", strconv.Itoa(v.Running), "be from 1 to 1000000000, or 0 for any number"},
		{r.Starts >= 0 && r.Starts <= maxStarts, "starts of the rate", strconv.Itoa(r.Starts), "be from 1 to 1000000"},
		{r == Rate{} || r.Starts > 0 && r.Period >= time.Millisecond && r.Period <= maxPeriod, "period of the rate", r.Period.String(), "be from 1ms to 24h, with at least one start"},
		{r.Period.Microseconds() >= int64(r.Starts), "rate", fmt.Sprintf("%d in %s", r.Starts, r.Period), "be at most one start in a microsecond"},
		{v.Burst >= 0 && v.Burst <= maxStarts, "burst of the limit", strconv.Itoa(v.Burst), "be from 1 to 1000000, or 0 for 1"},
		{v.Burst == 0 || r.Starts > 0, "burst of the limit", strconv.Itoa(v.Burst), "not be given without a rate"},
	} {
		if !bound.ok {
			return jobtype.NewInvalidError(bound.field, bound.value, bound.must)
		}
	}
	return nil
}

// checkLimitKey checks the names of a limit.
func checkLimitKey(kind, key string) error {
	if err := ValidateName("kind", kind); err != nil || key == "" {
		return err
	}
	return ValidateName("limit key", key)
}

// SetLimit sets the limit of a kind and a key, in place of the one that was set before. With an empty key it is for all keys of the kind
// without a limit of their own, each by itself, and for the jobs without a key, which share one. It goes before the limit that programs
// declare until [Client.DeleteLimit]. The next claim obeys it: when it is lower, running jobs go on. Jobs that were enqueued without
// [LimitKey] and without [Kind.Limit] obey none.
func (c *Client) SetLimit(ctx context.Context, kind, key string, v LimitValues) error {
	err := checkLimitKey(kind, key)
	if err == nil {
		err = v.check()
	}
	if err == nil && v == (LimitValues{}) {
		err = jobtype.NewInvalidError("limit", "", "have a number of running jobs or a rate: DeleteLimit removes it")
	}
	if err != nil {
		return fmt.Errorf("set the limit of %s: %w", kind, err)
	}
	_, err = c.changeLimit(ctx, jobtype.ActionSetLimit, kind, key, limitDetail{Key: key, LimitValues: &v}, func(ctx context.Context, q db.Querier, now int64) (bool, error) {
		return true, limits.Set(ctx, q, db.SetLimitParams{
			Kind: kind, LimitKey: key, Running: int64(v.Running), Starts: int64(v.Rate.Starts), Period: v.Rate.Period.Microseconds(), Burst: int64(v.Burst), Now: now,
		})
	})
	return core.Wrap(err, "set the limit of %s", kind)
}

// DeleteLimit removes a limit that [Client.SetLimit] has set, and reports whether there was one. What programs declare applies again.
func (c *Client) DeleteLimit(ctx context.Context, kind, key string) (bool, error) {
	if err := checkLimitKey(kind, key); err != nil {
		return false, fmt.Errorf("delete the limit of %s: %w", kind, err)
	}
	deleted, err := c.changeLimit(ctx, jobtype.ActionDeleteLimit, kind, key, limitDetail{Key: key}, func(ctx context.Context, q db.Querier, now int64) (bool, error) {
		return limits.Delete(ctx, q, kind, key, now)
	})
	return deleted, core.Wrap(err, "delete the limit of %s", kind)
}

// limitDetail is the detail of a limit's audit entry.
type limitDetail struct {
	Key string `json:"key"`
	*LimitValues
}

// changeLimit changes a limit and records that. It reports whether there was a change.
func (c *Client) changeLimit(
	ctx context.Context, action jobtype.Action, kind, key string, detail limitDetail,
	change func(ctx context.Context, q db.Querier, now int64) (bool, error),
) (changed bool, err error) {
	author, text, err := audit.Detailed(ctx, detail)
	if err != nil {
		return false, err
	}
	err = lifecycle.Change(ctx, c.scope(), core.WorkReady, func(ctx context.Context, q db.Querier) error {
		now := core.Micros(c.store.Now())
		if changed, err = change(ctx, q, now); err != nil || !changed {
			return err
		}
		return author.Record(ctx, q, now, audit.Entry{Action: action, Kind: kind, Detail: json.RawMessage(text)})
	})
	return changed && err == nil, err
}

// Limits returns the limits in force by kind and key, set and declared ones.
func (c *Client) Limits(ctx context.Context) ([]LimitInfo, error) {
	rows, err := core.Value(ctx, c.scope().Read, func(ctx context.Context, q db.Querier) ([]db.ListLimitsRow, error) { return q.ListLimits(ctx) })
	if err != nil {
		return nil, fmt.Errorf("list the limits: %w", err)
	}
	list := make([]LimitInfo, 0, len(rows))
	for _, r := range rows {
		if n := len(list); n > 0 && list[n-1].Kind == r.Kind && list[n-1].Key == r.LimitKey {
			continue // the declared one, in whose place another is set
		}
		list = append(list, LimitInfo{
			Kind: r.Kind, Key: r.LimitKey, Declared: r.SetAt == 0, SetAt: core.Time(r.SetAt),
			RunningJobs: int(r.Active), WaitingJobs: int(r.Waiting),
			LimitValues: LimitValues{int(r.Running), Rate{int(r.Starts), core.Duration(r.Period)}, int(r.Burst)},
		})
	}
	return list, nil
}
