package postgres

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
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

// Columns implements [engine.Store].
func (s *schema) Columns(ctx context.Context) ([]engine.Column, error) {
	if err := s.located(ctx); err != nil {
		return nil, err
	}
	var list string
	if err := s.query(ctx, &list, "columns", s.names.at().schema); err != nil {
		return nil, err
	}
	return engine.ParseColumns(list)
}

// ReadColumn implements [engine.Store].
func (s mover) ReadColumn(ctx context.Context, c engine.Column, after, n int64) (values []engine.ColumnValue, err error) {
	err = s.onColumn(ctx, func(conn *lentConn) error {
		var list string
		if err := conn.QueryRow(ctx, s.columnStatement("read_column", c), once(after, n)...).Scan(&list); err != nil {
			return err
		}
		values, err = engine.ParseColumnValues(list)
		return err
	})
	return values, err
}

// WriteColumn implements [engine.Store].
func (s mover) WriteColumn(ctx context.Context, c engine.Column, values []engine.ColumnValue) error {
	list, err := json.Marshal(values)
	if err != nil {
		return err
	}
	return s.onColumn(ctx, func(conn *lentConn) error {
		_, err := conn.Exec(ctx, s.columnStatement("write_column", c), once(string(list), c.Name)...)
		return err
	})
}

// onColumn runs fn on a connection.
func (s mover) onColumn(ctx context.Context, fn func(*lentConn) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return translate(fn(conn))
}

// columnStatement returns a statement of sql/control with the names of a table and a column of it.
func (s mover) columnStatement(name string, c engine.Column) string {
	return strings.NewReplacer("@table", s.names.table(c.Table), "@column", pgx.Identifier{c.Name}.Sanitize()).Replace(control(name))
}
