package main

import (
	"context"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// roleLimited fills the queue with jobs under limits, as t.Limit says.
const roleLimited = "limited"

// The limits of roleLimited. None of the rates bounds the drain: the figures show what it costs to obey.
const (
	limitNone  = "none"
	limitTotal = "total" // 50 jobs of the kind at once
	limitKeys  = "keys"  // 2 jobs of each of 1,000 keys at once
	limitRates = "rates" // 1,000 starts a second of each of 1,000 keys
)

const (
	limitedKeys  = 1000
	totalRunning = 50
)

// drainLimited drains jobs under limits.
func drainLimited(limit string, slots int) func(context.Context, running) (figures, error) {
	return runLimited(roleDrain, limit, slots)
}

// runLimited runs jobs under limits by a role, without prefetch: limited jobs are never prefetched.
func runLimited(role, limit string, slots int) func(context.Context, running) (figures, error) {
	return func(ctx context.Context, r running) (figures, error) {
		fill := r.task(roleLimited)
		fill.Limit = limit
		if err := r.prepare(ctx, fill); err != nil {
			return figures{}, err
		}
		t := r.task(role)
		t.Ahead, t.Concurrency, t.Limit = -1, slots, limit
		return r.drain(ctx, 1, t)
	}
}

// limitLines are compared in pairs with as many slots.
func limitLines() []variant {
	return []variant{
		{"50 slots, no limit", drainLimited(limitNone, totalRunning)},
		{"50 slots, a total of 50", drainLimited(limitTotal, totalRunning)},
		{"200 slots, no limit", drainLimited(limitNone, 200)},
		{"200 slots, 1,000 keys of 2", drainLimited(limitKeys, 200)},
		{"200 slots, rates of 1,000 keys", drainLimited(limitRates, 200)},
	}
}

func limitedRole(ctx context.Context, t task, p *parent) (report, error) {
	return withClient(ctx, t, p, func(client *jobs.Client) (report, error) {
		kind := noop
		var err error
		switch t.Limit {
		case limitTotal:
			err = client.SetTotalLimit(ctx, noop.Name, jobs.LimitValues{Running: totalRunning})
		case limitKeys:
			err = client.SetLimit(ctx, noop.Name, "", jobs.LimitValues{Running: 2})
		case limitRates:
			err = client.SetLimit(ctx, noop.Name, "", jobs.LimitValues{Rate: jobs.Per(1000, time.Second), Burst: 1000})
		}
		if err != nil {
			return report{}, err
		}
		switch t.Limit {
		case limitTotal:
			kind.Limit.Key = func(args) string { return "" }
		case limitKeys, limitRates:
			kind.Limit.Key = func(a args) string { return strconv.Itoa(a.N % limitedKeys) }
		}
		return report{}, addMany(t, func(list []args) error {
			_, err := kind.EnqueueMany(ctx, client, list)
			return err
		})
	})
}
