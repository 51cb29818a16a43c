package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// traits are what every store of this engine answers alike.
type traits struct{}

// Backoff implements [engine.Store]: workers do not wait for one lock.
func (traits) Backoff(func() int64) engine.Backoff { return engine.NoBackoff{} }

// SQLTx implements [engine.Store].
func (traits) SQLTx(tx *sql.Tx) jobs.Tx { return SQLTx(tx) }

// LocksRows implements [engine.Store].
func (traits) LocksRows() bool { return true }

// AnnouncesEnds implements [engine.Store]: see hub.
func (traits) AnnouncesEnds() bool { return false }

// Backup is not for PostgreSQL, which has tools of its own.
func (traits) Backup(context.Context, string) error {
	return fmt.Errorf("%w: use pg_dump, or `sqluice copy --keep-open` to write the queue to a SQLite file", errors.ErrUnsupported)
}

// BackupTo is not for PostgreSQL either.
func (t traits) BackupTo(ctx context.Context, _ io.Writer) error { return t.Backup(ctx, "") }

// CanRetry reports whether waiting may help: the server is away, out of resources or read-only for now, or transactions
// met. It may also when there is no connection for another reason, as a password that is being changed: the fault is
// none of the statement.
func (traits) CanRetry(err error) bool {
	if lost(err) || notConnected(err) || errors.Is(err, jobs.ErrUnavailable) || errors.Is(err, jobs.ErrUnknownOutcome) {
		return true
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	// 53: out of disk, memory or connections, 55P03 and 57014: a lock or statement timeout, 58: I/O.
	return met(e) || strings.HasPrefix(e.Code, "53") || strings.HasPrefix(e.Code, "58") || e.Code == codeLock ||
		e.Code == codeCanceled || e.Code == codeReadOnly
}

// RefusesRow implements [engine.Store]: constraints, what a function or a trigger raises, and values that a function does not take.
func (t traits) RefusesRow(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) || errors.Is(err, jobs.ErrUnknownOutcome) || len(e.Code) < len("23") {
		return false
	}
	switch e.Code[:2] { // see https://www.postgresql.org/docs/current/errcodes-appendix.html
	case "21", "22", "23", "27", "38", "39", "44", "P0":
		return true
	}
	// Any code that a trigger raises; but of class 42, such as of a table that is not there, it fails for every row.
	return e.Where != "" && e.Code[:2] != "42" && !t.CanRetry(err)
}

// KeyTaken implements [engine.Store]: unique indexes and exclusion constraints.
func (traits) KeyTaken(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == codeUnique || e.Code == codeExclusion)
}
