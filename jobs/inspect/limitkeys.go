package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/jobs"
)

// MaxWaitingCounted is the largest number of waiting jobs of a limit key that [Inspector.LimitKeys] counts.
const MaxWaitingCounted = 1000

// LimitKeyInfo is a limit key of a kind, with the jobs that its limit counts.
type LimitKeyInfo struct {
	Kind    string `json:"kind"`
	Key     string `json:"key"` // empty: the key of the jobs without one of their own
	Running int64  `json:"running"`
	Waiting int64  `json:"waiting"` // due, and without room or not claimed yet: the first MaxWaitingCounted
	Queues  int    `json:"queues"`  // the number of queues with waiting jobs

	// MoreWaiting says that Waiting is MaxWaitingCounted, and there may be more.
	MoreWaiting bool `json:"more_waiting,omitempty"`

	// Oldest is the time since which the oldest of the counted waiting jobs has been due.
	Oldest time.Time `json:"oldest,omitzero"`

	// NextStart is the time from which on a claim may start the next waiting job. Zero: once a job of the key has ended, or no job waits.
	NextStart time.Time `json:"next_start,omitzero"`

	// HeldBy is the failed job that holds the key, whose jobs run in order; 0 if none does. See [jobs.OnFailHold].
	HeldBy int64 `json:"held_by,omitempty"`

	// Next is the scheduled job for which the waiting ones wait, as they run in order; 0 if there is none.
	Next int64 `json:"next,omitempty"`

	// ClosedUntil is the time before which no job of the key starts, because of [jobs.Throttle]; zero if it is open. It may be over.
	ClosedUntil time.Time `json:"closed_until,omitzero"`
}

// LimitKeyFilter selects what [Inspector.LimitKeys] returns.
type LimitKeyFilter struct {
	Kind  string // must be given
	From  string // the first key: the Next of the page before
	Limit int    // the most keys of a page; 0 means 100, at most MaxPage
}

// LimitKeyPage is a page of limit keys.
type LimitKeyPage struct {
	Keys []LimitKeyInfo `json:"keys"`
	Next string         `json:"next,omitempty"` // the From of the next page; empty: this is the last one
}

// LimitKeys lists the limit keys of a kind that have running or waiting jobs, in the database's order. A read visits a bounded number of
// waiting jobs of each key, whatever their number.
func (in *Inspector) LimitKeys(ctx context.Context, f LimitKeyFilter) (LimitKeyPage, error) {
	n, err := pageSize(f.Limit)
	if err == nil {
		err = jobs.ValidateName("kind", f.Kind)
	}
	if err == nil {
		err = checkFilter("first key", f.From, jobs.MaxLimitKeyLength)
	}
	page := LimitKeyPage{Keys: []LimitKeyInfo{}}
	if err == nil {
		err = in.scope.Read(ctx, func(ctx context.Context, q db.Querier) (err error) {
			page, err = readLimitKeys(ctx, q, f, n)
			return err
		})
	}
	return core.Result(page, err, "list the limit keys of %s", f.Kind)
}

// readLimitKeys reads a page of n keys.
func readLimitKeys(ctx context.Context, q db.Querier, f LimitKeyFilter, n int64) (page LimitKeyPage, err error) {
	keys, err := q.ListLimitKeys(ctx, db.ListLimitKeysParams{Kind: f.Kind, FirstKey: f.From, N: n + 1})
	if err != nil {
		return page, err
	}
	if int64(len(keys)) > n {
		page.Next, keys = keys[n], keys[:n]
	}
	list := core.JSONNames(keys)
	rows, err := q.ReadLimitKeys(ctx, db.ReadLimitKeysParams{Kind: f.Kind, Keys: list})
	if err != nil {
		return page, fmt.Errorf("read limit keys: %w", err)
	}
	waiting, err := q.CountWaitingJobs(ctx, db.CountWaitingJobsParams{Kind: f.Kind, Keys: list, N: MaxWaitingCounted})
	if err != nil {
		return page, fmt.Errorf("count the waiting jobs of limit keys: %w", err)
	}
	page.Keys = make([]LimitKeyInfo, len(keys))
	at := make(map[string]*LimitKeyInfo, len(keys))
	for i, key := range keys {
		page.Keys[i] = LimitKeyInfo{Kind: f.Kind, Key: key}
		at[key] = &page.Keys[i]
	}
	for _, r := range rows {
		k := at[r.LimitKey]
		if k == nil {
			continue // not UTF-8, which only a row without the CHECKs may have
		}
		k.Running, k.Queues, k.NextStart, k.ClosedUntil = r.Running, int(r.Queues), core.Time(r.ReadyAt), core.Time(r.ClosedUntil)
		if k.NextStart.Before(k.ClosedUntil) && !k.NextStart.IsZero() {
			k.NextStart = k.ClosedUntil
		}
	}
	for _, w := range waiting {
		if k := at[w.LimitKey]; k != nil {
			k.Waiting, k.Oldest, k.MoreWaiting = w.Jobs, core.Time(w.Since), w.Jobs >= MaxWaitingCounted
		}
	}
	return page, addSequences(ctx, q, page.Keys)
}

// addSequences adds for which jobs the keys wait whose jobs run in order.
func addSequences(ctx context.Context, q db.Querier, keys []LimitKeyInfo) error {
	rows, err := q.ReadLimits(ctx, core.JSONKeys(core.Map(keys, func(k LimitKeyInfo) [2]string { return [2]string{k.Kind, k.Key} })))
	if err != nil {
		return fmt.Errorf("read limits: %w", err)
	}
	sequences, err := lifecycle.ReadSequences(ctx, q, rows)
	for i := range keys {
		if s := sequences[[2]string{keys[i].Kind, keys[i].Key}]; keys[i].Queues > 0 {
			keys[i].HeldBy, keys[i].Next = s.HeldBy(), s.Scheduled()
		}
	}
	return err
}

// LimitStats counts the jobs of a kind that have limit keys.
type LimitStats struct {
	Kind    string `json:"kind"`
	Running int64  `json:"running"`
	Keys    int64  `json:"keys"` // the number of keys with waiting jobs
	Held    int64  `json:"held"` // the number of these keys whose jobs run in order, and whose first job could not start when a claim last looked: it had failed, or was due later
}

// LimitStats returns the counts of each kind with running or waiting jobs that have limit keys, by kind. [Inspector.Counts] has the number of
// the waiting ones.
func (in *Inspector) LimitStats(ctx context.Context) ([]LimitStats, error) {
	rows, err := core.Value(ctx, in.scope.Read, func(ctx context.Context, q db.Querier) ([]db.CountLimitKeysRow, error) { return q.CountLimitKeys(ctx) })
	if err != nil {
		return nil, fmt.Errorf("count the limit keys: %w", err)
	}
	sums := map[string]LimitStats{}
	for _, r := range rows {
		sum := sums[r.Kind]
		sums[r.Kind] = LimitStats{r.Kind, sum.Running + r.Running, sum.Keys + r.Keys, sum.Held + r.Held}
	}
	list := make([]LimitStats, 0, len(sums))
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, sums[kind])
	}
	return list, nil
}
