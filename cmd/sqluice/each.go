package main

import (
	"context"
	"errors"

	"github.com/sqluice/sqluice/jobs"
)

// eachJob does something to every job of a list, as far as it goes: a job that does not exist or whose status does
// not allow it does not keep the others from their turn, a fault of the database does. All errors come back together.
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
