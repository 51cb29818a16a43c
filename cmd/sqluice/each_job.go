package main

import (
	"context"
	"errors"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// onEachJob opens the database and calls act for each id of the arguments: see eachJob.
func (a *app) onEachJob(ctx context.Context, args []string, act func(ctx context.Context, c *jobs.Client, id int64) error) error {
	ids, err := parseIDs(args)
	if err != nil {
		return err
	}
	return a.withClient(ctx, func(c *jobs.Client) error {
		return eachJob(ctx, ids, func(ctx context.Context, id int64) error { return act(ctx, c, id) })
	})
}

// eachJob calls act for each id. It continues after an error that concerns one job alone, stops at any other, and returns all errors.
func eachJob(ctx context.Context, ids []int64, act func(context.Context, int64) error) error {
	var faults []error
	for _, id := range ids {
		err := act(ctx, id)
		if err == nil {
			continue
		}
		faults = append(faults, err)
		if !core.OnlyThisJob(err) {
			break
		}
	}
	return errors.Join(faults...)
}
