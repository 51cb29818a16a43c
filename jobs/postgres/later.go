package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
)

// withCommit returns a Querier for the last statements of a transaction, which return no rows: they are sent with its commit.
func (s *writer) withCommit(t *transaction, q db.Querier) db.Querier {
	if !t.prepare {
		return q
	}
	return s.conns.querier(deferring{t.direct, t}, true)
}

// deferred is a statement that is sent with the next one of its transaction, or with the commit.
type deferred struct {
	sql  string
	args []any
}

// deferring sends a statement without rows together with the next one, which saves a round trip. It does not return the
// number of changed rows; the next statement, or the commit, returns its error. It sends a statement that is not prepared yet
// at once: see opening.
type deferring struct {
	opening
	transaction *transaction
}

func (d deferring) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	t := d.transaction
	if !t.begun || !d.prepared(sql) {
		return d.opening.Exec(ctx, sql, args...)
	}
	t.later = append(t.later, deferred{sql, args})
	return pgconn.CommandTag{}, nil
}

// queueLater adds the deferred statements to the batch and returns their number.
func (t *transaction) queueLater(batch *pgx.Batch) int {
	n := len(t.later)
	for _, s := range t.later {
		batch.Queue(s.sql, s.args...)
	}
	t.later = nil
	return n
}

// takeLater reads the results of n statements without rows.
func takeLater(results pgx.BatchResults, n int) error {
	for range n {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	return nil
}
