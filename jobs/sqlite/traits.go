package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/internal/queue/contention"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
)

// traits are what every store of this engine answers alike.
type traits struct{}

// Backoff implements [engine.Store].
func (traits) Backoff(workers func() int64) engine.Backoff { return contention.New(workers) }

// AnnouncesEnds implements [engine.Store]: every commit in the file wakes the listeners of all processes.
func (traits) AnnouncesEnds() bool { return true }

// SQLTx implements [engine.Store].
func (traits) SQLTx(tx *sql.Tx) jobs.Tx { return Tx(tx) }

// AnnounceCommit implements [engine.Store]: listeners see a commit in the file itself.
func (traits) AnnounceCommit(context.Context, jobs.Tx, core.Signal, string) error { return nil }

// CanRetry reports whether waiting may help: the database is locked, the disk is full or fails, or the files of an open database
// cannot be inspected, for example because their folder may not be entered.
func (traits) CanRetry(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return errors.Is(err, jobs.ErrFull) || errors.Is(err, jobs.ErrDisk) || errors.Is(err, errUnseen)
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_PROTOCOL,
		lib.SQLITE_NOMEM, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_INTERRUPT:
		return true
	}
	return false
}

// RefusesRow implements [engine.Store]. A trigger that names what is not there is a fault of the schema, which fails for every row.
func (traits) RefusesRow(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) || errors.Is(err, jobs.ErrUnknownOutcome) {
		return false
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_CONSTRAINT, lib.SQLITE_MISMATCH, lib.SQLITE_TOOBIG:
		return true
	case lib.SQLITE_ERROR:
		return !strings.Contains(e.Error(), "no such ")
	}
	return false
}

// KeyTaken implements [engine.Store].
func (traits) KeyTaken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// LocksRows implements [engine.Store].
func (traits) LocksRows() bool { return false }

// EngineVersion names SQLite and its version.
func (traits) EngineVersion(context.Context) (string, error) {
	return "SQLite " + LibraryVersion, nil
}
