package main

import (
	"context"
	"errors"

	"github.com/sqluice/sqluice/internal/queue/core"
)

// eachJob calls a function for every job of a list. An error that is about one job alone does not stop the others; any other one does.
// It returns all errors.
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
