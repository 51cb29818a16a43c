package engine

import (
	"context"
	"fmt"

	"github.com/sqluice/sqluice/jobs/jobtype"
)

// CheckSchema returns a SchemaError unless the database's schema is the one this library was built for.
func CheckSchema(ctx context.Context, store Store) error {
	have, want, err := store.SchemaVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have != want {
		return &jobtype.SchemaError{Have: have, Want: want}
	}
	return nil
}
