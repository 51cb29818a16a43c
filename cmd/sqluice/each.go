package main

import (
	"context"
	"errors"

	"github.com/sqluice/sqluice/jobs"
)

// eachJob calls a function for every job of a list. A job that does not exist, or whose status does not allow the change, does
// not stop the others; an error of the database does. It returns all errors.
func eachJob(ctx context.Context, ids []int64, act func(context.Context, int64) error) error {
	var faults []error
	for _, id := range ids {
		err := act(ctx, id)
		if err == nil {
			continue
		}
		faults = append(faults, err)
		if !errors.Is(err, jobs.ErrNotFound) && !errors.Is(err, jobs.ErrStatus) && !errors.Is(err, jobs.ErrUniqueTaken) {
			break
		}
	}
	return errors.Join(faults...)
}
