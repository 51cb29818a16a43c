package sqlite

import (
	"context"

	"github.com/sqluice/sqluice/db"
)

// Settle has nothing to wait for but the write lock: SQLite has one writer at a time.
func (s *backend) Settle(ctx context.Context) error {
	return s.Write(ctx, func(context.Context, db.Querier) error { return nil })
}

// ReserveIDs has nothing to do: SQLite counts on from the largest id in the table.
func (s *backend) ReserveIDs(context.Context, db.GetLastIDsRow) error { return nil }
