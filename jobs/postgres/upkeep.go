package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
)

// upkeep implements the part of the engine that counts and moves whole databases.
type upkeep struct {
	conns  *connections
	writer *writer
	now    func() time.Time
}

// Backup is not supported: PostgreSQL has its own tools.
func (upkeep) Backup(context.Context, string) error {
	return fmt.Errorf("%w: use pg_dump, or `sqluice copy --keep-open` to write the queue to a SQLite file", errors.ErrUnsupported)
}

// BackupTo is not supported either.
func (s upkeep) BackupTo(ctx context.Context, _ io.Writer) error { return s.Backup(ctx, "") }

// EngineVersion names PostgreSQL and the server's version.
func (s upkeep) EngineVersion(ctx context.Context) (string, error) {
	var version string
	if err := s.conns.query(ctx, &version, "server_version"); err != nil {
		return "", err
	}
	return "PostgreSQL " + version, nil
}

// recountWithin is the time after which the connection of a recount's statement counts as lost.
const recountWithin = 2 * time.Hour

// Recount implements [engine.Store]. Its one statement reads its own snapshot and adds the missing counts as notes: it locks
// nothing that other transactions write. It may run longer than other statements.
func (s upkeep) Recount(ctx context.Context) (wrong int64, err error) {
	err = s.writer.write(ctx, 1, s.writer.transact, func(ctx context.Context, t *transaction, q db.Querier) (err error) {
		if err := t.unlimited(); err != nil {
			return err
		}
		wrong, err = s.RecountIn(ctx, q)
		return err
	})
	return wrong, err
}

// unlimited removes the timeouts of the transaction's statements, and begins the transaction if it has not begun.
func (t *transaction) unlimited() error {
	err := t.begin()
	if err == nil {
		err = t.exec("no_timeouts")
	}
	t.watch.silence = recountWithin
	return err
}

// RecountIn implements [engine.Store].
func (s upkeep) RecountIn(ctx context.Context, q db.Querier) (int64, error) {
	if err := q.LockCounts(ctx); err != nil {
		return 0, err
	}
	return q.RecountJobs(ctx, core.Micros(s.now()))
}

// Settle takes and at once releases locks that conflict with every open transaction of a writer, and so waits for these.
func (s upkeep) Settle(ctx context.Context) error {
	for _, table := range []string{
		"sqluice_workers", "sqluice_jobs", "sqluice_job_errors", "sqluice_job_audit", "sqluice_pauses", "sqluice_retentions", "sqluice_declarations",
		"sqluice_limits", "sqluice_limit_keys", "sqluice_lanes",
		"sqluice_schedules", "sqluice_schedule_ticks", "sqluice_unique_keys", "sqluice_sensitive_fields",
	} {
		if err := s.settle(ctx, table); err != nil {
			return translate(err)
		}
	}
	return nil
}

// settle waits for one table, in its own transaction: if it held a lock on another table, it could deadlock with a
// writer that waits for that lock.
func (s upkeep) settle(ctx context.Context, table string) error {
	conn, err := s.conns.acquire(ctx)
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
	_, err = tx.Exec(ctx, strings.ReplaceAll(control("settle"), "@table", s.conns.names.table(table)), once()...)
	return err
}

// ReserveIDs sets the sequences behind the tables' ids.
func (s upkeep) ReserveIDs(ctx context.Context, last db.GetLastIDsRow) error {
	for table, id := range map[string]int64{
		"sqluice_jobs": last.Job, "sqluice_job_errors": last.JobError, "sqluice_workers": last.Worker, "sqluice_job_audit": last.Audit,
	} {
		if id == 0 {
			continue // the sequence of an empty table is at its start
		}
		var now int64
		if err := s.conns.query(ctx, &now, "reserve_ids", s.conns.names.table(table), id); err != nil {
			return err
		}
	}
	return nil
}

// FreeIDs has nothing to remove: a sequence gives no id again.
func (upkeep) FreeIDs(context.Context, db.Querier) error { return nil }

// Columns implements [engine.Store].
func (s *migrator) Columns(ctx context.Context) ([]engine.Column, error) {
	if err := s.conns.located(ctx); err != nil {
		return nil, err
	}
	var list string
	if err := s.conns.query(ctx, &list, "columns", s.conns.names.at().schema); err != nil {
		return nil, err
	}
	return engine.ParseColumns(list)
}

// ReadColumn implements [engine.Store].
func (s *migrator) ReadColumn(ctx context.Context, c engine.Column, after, n int64) (values []engine.ColumnValue, err error) {
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
func (s *migrator) WriteColumn(ctx context.Context, c engine.Column, values []engine.ColumnValue) error {
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
func (s *migrator) onColumn(ctx context.Context, fn func(*lentConn) error) error {
	conn, err := s.conns.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return translate(fn(conn))
}

// columnStatement returns a statement of sql/control with the names of a table and a column of it.
func (s *migrator) columnStatement(name string, c engine.Column) string {
	return strings.NewReplacer("@table", s.conns.names.table(c.Table), "@column", pgx.Identifier{c.Name}.Sanitize()).Replace(control(name))
}
