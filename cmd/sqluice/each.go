package main

import (
	"context"
	"errors"

	"github.com/sqluice/sqluice/jobs"
)

// eachJob calls a function for every job of a list. A job that does not exist, whose status does not allow the change, or
// that the database refuses to change does not stop the others; any other error of the database does. It returns all errors.
func eachJob(ctx context.Context, ids []int64, act func(context.Context, int64) error) error {
	var faults []error
	for _, id := range ids {
		err := act(ctx, id)
		if err == nil {
			continue
		}
		faults = append(faults, err)
		if !errors.Is(err, jobs.ErrNotFound) && !errors.Is(err, jobs.ErrStatus) && !errors.Is(err, jobs.ErrUniqueTaken) &&
			!errors.As(err, new(*jobs.RefusedError)) {
			break
		}
	}
	return errors.Join(faults...)
}
