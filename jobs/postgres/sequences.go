package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// sequenceError says that a table's sequence returns ids that rows already have. Waiting does not help.
type sequenceError struct{ table string }

func (e sequenceError) Error() string {
	return fmt.Sprintf("the database gives new rows of %s ids that older rows have, as after logical replication or after its sequence was set back: run `sqluice up` as the role that owns the tables", e.table)
}

// numbered returns the queue's tables with a sequence of ids.
func numbered() []string {
	return []string{"sqluice_jobs", "sqluice_job_errors", "sqluice_workers", "sqluice_job_audit", "sqluice_job_changes"}
}

// sequenceOf returns the table whose sequence returned an id that a row already has, or "" for another error.
func sequenceOf(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != codeUnique {
		return ""
	}
	for _, table := range numbered() {
		if e.ConstraintName == table+"_pkey" {
			return table
		}
	}
	return ""
}

// sequences moves the sequences of ids past the ids that rows have.
type sequences struct{ conns *connections }

// moveSequences moves the sequences of ids past the ids that rows have, where the role may, and keeps those already past them.
func (s sequences) moveSequences(ctx context.Context) error {
	var args []any
	for _, table := range numbered() {
		args = append(args, s.conns.names.table(table))
	}
	var moved string
	if err := s.conns.query(ctx, &moved, "move_sequences", args...); err != nil {
		return fmt.Errorf("look at the sequences of ids: %w", err)
	}
	if moved != "" {
		s.conns.options.logger.Warn("the database gave new rows ids that older rows have, as after logical replication: its sequences were moved past these", "tables", strings.Fields(moved))
	}
	return nil
}

// mendSequences does the same after a failed write. It reports whether to run that again: another process may have moved them too.
func (s sequences) mendSequences(ctx context.Context) bool {
	err := s.moveSequences(ctx)
	if err != nil {
		s.conns.options.logger.Debug("cannot mend the sequences of ids", "error", err)
	}
	return err == nil
}
