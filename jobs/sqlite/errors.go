package sqlite

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

var (
	errNotDatabase   = errors.New("it is not a SQLite database")
	errCorrupt       = errors.New("the database file is damaged: restore a backup by `sqluice restore`, or see https://www.sqlite.org/recovery.html")
	errReadOnly      = errors.New("the database file or its folder is read-only")
	errUnseen        = errors.New("the database's files cannot be read")
	errNoDescriptors = errors.New("the file cannot be opened: the process has no file descriptors left: raise its limit, as by `ulimit -n 1024`")
	errCannotOpen    = errors.New("the file cannot be opened: check that its folder exists and may be written to")
)

// meanings holds the errors that follow from SQLite's primary code alone.
var meanings = map[int]error{
	lib.SQLITE_BUSY: jobs.ErrBusy, lib.SQLITE_LOCKED: jobs.ErrBusy, lib.SQLITE_FULL: jobs.ErrFull, lib.SQLITE_IOERR: jobs.ErrDisk,
	lib.SQLITE_NOTADB: errNotDatabase, lib.SQLITE_CORRUPT: errCorrupt, lib.SQLITE_READONLY: errReadOnly, lib.SQLITE_CANTOPEN: errCannotOpen,
}

// translate adds to a SQLite error its meaning, as a sentinel for errors.Is and as text.
func translate(err error) error {
	if err == nil {
		return nil
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	meaning := meanings[e.Code()&0xff]
	if meaning == errCannotOpen && lacksDescriptors() {
		meaning = errNoDescriptors
	}
	if e.Code()&0xff == lib.SQLITE_CONSTRAINT {
		if failed := failedCheck.FindStringSubmatch(e.Error()); failed != nil {
			meaning = errsLargest[failed[1]]
		}
	}
	if meaning == nil || errors.Is(err, meaning) {
		return err
	}
	return fmt.Errorf("%w (%w)", meaning, err)
}

// fewDescriptors is the number of descriptors that a connection needs: for the database, its WAL, its index and their folder.
const fewDescriptors = 4

// lacksDescriptors reports whether the process cannot open a few more files. SQLite's error does not show it.
func lacksDescriptors() bool {
	for range fewDescriptors {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
		}
		defer f.Close()
	}
	return false
}

// failedCheck matches SQLite's error text and captures the name of the CHECK, or its text when it has no name.
var failedCheck = regexp.MustCompile(`CHECK constraint failed: (.+) \(\d+\)$`)

// errsLargest holds, by the failing CHECK, the errors caused by a row that was given the largest value by hand: SQLite has no id after it
// for a new row, and the queue cannot count on.
var errsLargest = map[string]error{
	"id_is_from_1_to_9007199254740991": errors.New("no id is left for a new job: the row of sqluice_jobs with the id 9007199254740991 has the largest one; " +
		"give it and others near it smaller ids: " + oneLine("free_largest_id")),
	"sqluice_job_audit_id_is_from_1_to_9007199254740991":  noID("sqluice_job_audit", "free_largest_audit_id"),
	"sqluice_job_errors_id_is_from_1_to_9007199254740991": noID("sqluice_job_errors", "free_largest_error_id"),
	"sqluice_workers_id_is_from_1_to_9007199254740991":    noID("sqluice_workers", "free_largest_worker_id", "free_worker_ids"),
	"attempt BETWEEN 0 AND 1000000000":                    noCount("attempt of sqluice_jobs", "lower_largest_attempt"),
	"uncounted BETWEEN 0 AND 1000000000":                  noCount("uncounted of sqluice_jobs", "lower_largest_uncounted"),
	"crashes BETWEEN 0 AND 1000000000":                    noCount("crashes of sqluice_jobs", "lower_largest_crashes"),
	"times BETWEEN 1 AND 1000000000":                      noCount("times of sqluice_refusals", "lower_largest_times"),
}

// noCount returns the error of a column whose count cannot be raised.
func noCount(column, statement string) error {
	return errors.New(column + " must be at most 1000000000, and a row has reached that: give it a smaller value: " + oneLine(statement))
}

// noID returns the error of a table without a free id, whose rows are not needed if they were added by hand.
func noID(table string, statements ...string) error {
	return errors.New("no id is left for a new row of " + table + ": the one with the id 9007199254740991 was added by hand; " +
		"delete it and others near it: " + oneLine(statements...))
}

// oneLine returns statements of sql/control on one line.
func oneLine(names ...string) string { return strings.Join(core.Map(names, control), "; ") }

// translateSystem does the same for a file that is not SQLite's.
func translateSystem(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w (%w)", jobs.ErrFull, err)
	case errors.Is(err, syscall.EIO):
		return fmt.Errorf("%w (%w)", jobs.ErrDisk, err)
	}
	return err
}

// isCode reports whether err is a SQLite error with that primary code.
func isCode(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == code
}

// inDoubt marks the error of a commit that the device refused: the whole transaction may already be in the WAL, for example if
// only the following sync failed. SQLite overwrites it with the next write; but if all processes die or close the file before
// that, the next process to open the file treats the transaction as committed.
func inDoubt(err error) error {
	if isCode(err, lib.SQLITE_IOERR) {
		return fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, err)
	}
	return err
}

// faults classifies the errors of this engine.
type faults struct{}

// CanRetry reports whether waiting may help: the database is locked, the disk is full or fails, or the files of an open database
// cannot be inspected, for example because their folder may not be entered.
func (faults) CanRetry(err error) bool {
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

// RefusesRow implements [engine.Store]. A trigger that names a missing object is a fault of the schema, which fails for every row.
func (faults) RefusesRow(err error) bool {
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
func (faults) KeyTaken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// LocksRows implements [engine.Store].
func (faults) LocksRows() bool { return false }
