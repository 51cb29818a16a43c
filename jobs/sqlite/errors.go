package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/jobs"
)

var (
	errNotDatabase = errors.New("it is not a SQLite database")
	errCorrupt     = errors.New("the database file is damaged: restore a backup, or see https://www.sqlite.org/recovery.html")
	errReadOnly    = errors.New("the database file or its folder is read-only")
	errCannotOpen  = errors.New("the file cannot be opened: check that its folder exists and may be written to")
)

// translate adds what an error of SQLite means, for errors.Is and for people.
func translate(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	var meaning error
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		meaning = jobs.ErrBusy
	case lib.SQLITE_FULL:
		meaning = jobs.ErrFull
	case lib.SQLITE_IOERR:
		meaning = jobs.ErrDisk
	case lib.SQLITE_NOTADB:
		meaning = errNotDatabase
	case lib.SQLITE_CORRUPT:
		meaning = errCorrupt
	case lib.SQLITE_READONLY:
		meaning = errReadOnly
	case lib.SQLITE_CANTOPEN:
		meaning = errCannotOpen
	default:
		return err
	}
	if errors.Is(err, meaning) {
		return err
	}
	return fmt.Errorf("%w (%w)", meaning, err)
}

// CanRetry reports whether waiting may help: the database is locked, the disk is full or fails.
func (s *Store) CanRetry(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_PROTOCOL,
		lib.SQLITE_NOMEM, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_INTERRUPT:
		return true
	}
	return false
}
