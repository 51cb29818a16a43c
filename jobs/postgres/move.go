package postgres

import (
	"context"
	"strings"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// mover is what a move between databases asks of an engine.
type mover struct{ *connections }

// Settle takes, and at once gives back, locks that every writer's transaction stands in the way of until it ends.
func (s mover) Settle(ctx context.Context) error {
	for _, table := range []string{
		"sqluice_workers", "sqluice_jobs", "sqluice_job_errors", "sqluice_job_audit", "sqluice_pauses", "sqluice_retentions", "sqluice_declarations",
		"sqluice_schedules", "sqluice_schedule_ticks", "sqluice_unique_keys", "sqluice_sensitive_fields",
	} {
		if err := s.settle(ctx, table); err != nil {
			return translate(err)
		}
	}
	return nil
}

// settle waits for one table, in a transaction of its own: with a lock on another table in hand it could meet a writer
// that waits for that.
func (s mover) settle(ctx context.Context, table string) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := core.Linger(ctx)
		defer cancel()
		_ = tx.Rollback(ctx) // it has written nothing
	}()
	if _, err := tx.Exec(ctx, control("no_timeouts"), once()...); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, strings.ReplaceAll(control("settle"), "@table", s.names.table(table)), once()...)
	return err
}

// ReserveIDs sets the sequences behind the tables' ids.
func (s mover) ReserveIDs(ctx context.Context, last db.GetLastIDsRow) error {
	for table, id := range map[string]int64{
		"sqluice_jobs": last.Job, "sqluice_job_errors": last.JobError, "sqluice_workers": last.Worker, "sqluice_job_audit": last.Audit,
	} {
		if id == 0 {
			continue // an empty table's sequence is at its beginning
		}
		var now int64
		if err := s.query(ctx, &now, "reserve_ids", s.names.table(table), id); err != nil {
			return err
		}
	}
	return nil
}

// FreeIDs has nothing to remove: a sequence gives no id again.
func (mover) FreeIDs(context.Context, db.Querier) error { return nil }
