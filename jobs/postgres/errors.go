package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// errSilent is the cause of a context that ends because the server did not answer.
var errSilent = errors.New("the database server does not answer")

// poolError is the error of a caller that got no connection of the pool: waiting as long again would not help.
type poolError struct {
	size   int32
	waited time.Duration
}

func (e *poolError) Error() string {
	return fmt.Sprintf("the pool has no free connection: all %d were in use, or did not answer, for %s", e.size, e.waited)
}

func (e *poolError) Is(target error) bool { return target == jobs.ErrUnavailable }

// SQLSTATE codes and classes: https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	codeUnique        = "23505"
	codeSequenceLimit = "2200H"
	codeExclusion     = "23P01"
	codeTooMany       = "53300"
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeReadOnly      = "25006"
	codeDiskFull      = "53100"
	codeLock          = "55P03"
	codeCanceled      = "57014"
	codePrivilege     = "42501"
	codeNoColumn      = "42703"
	codeNoTable       = "42P01"

	codeTimeout  = "25P04" // the transaction_timeout of PostgreSQL 17
	codeProtocol = "08P01" // the only code of PgBouncer
	codeFuture   = "22023" // an invalid parameter: the server has not assigned this transaction id yet
	codeFeature  = "0A000"
	codeInternal = "XX000"
	codeNoObject = "42704"
)

// translate adds to a PostgreSQL error its meaning, as a sentinel for errors.Is and as text.
func translate(err error) error {
	if err == nil {
		return nil
	}
	var connect *pgconn.ConnectError
	switch {
	case !errors.As(err, &connect):
	case errors.Is(err, jobs.ErrUnknownOutcome): // the outcome could not be read from the server either
		err = fmt.Errorf("%w: %w", jobs.ErrUnknownOutcome, connectionError{connect})
	default:
		err = connectionError{connect}
	}
	meaning := meaning(err)
	if meaning == nil || errors.Is(err, meaning) {
		return err
	}
	return fmt.Errorf("%w (%w)", meaning, err)
}

var errEnded = errors.New("the server ended a statement, as the statement_timeout or the transaction_timeout of the role, the database or the URL does: set a longer one for this role")

// errsLargest holds, by the sequence or constraint that refuses, the errors caused by a row that was given the largest value by
// hand: the sequence of ids was moved past it and is exhausted, or the queue cannot count on. A domain's error does not name the
// column.
var errsLargest = map[string]error{
	"sqluice_jobs_id_seq": errors.New("no id is left for a new job: the row of sqluice_jobs with the id 9007199254740991 has the largest one; " +
		"set the sequence back, and give it and others near it smaller ids: " + oneLine("free_largest_id", "move_largest_ids")),
	"sqluice_count_check": errors.New("attempt, uncounted and crashes of sqluice_jobs, and times of sqluice_refusals, must be at most 1000000000, and a row has reached that: " +
		"give it a smaller value: " + oneLine("lower_largest_attempt", "lower_largest_uncounted", "lower_largest_crashes", "lower_largest_times")),
}

// largest returns the error of errsLargest that matches e, or nil.
func largest(e *pgconn.PgError) error {
	if e.Code != codeSequenceLimit {
		return errsLargest[e.ConstraintName]
	}
	for sequence, err := range errsLargest {
		if strings.Contains(e.Message, sequence) {
			return err
		}
	}
	return nil
}

// oneLine returns statements of sql/control on one line.
func oneLine(names ...string) string { return strings.Join(core.Map(names, control), "; ") }

var errStatementPooling = errors.New("the queue needs transactions: set PgBouncer's pool_mode to transaction or session, or connect to the server itself")

var errPrivilege = errors.New("the role lacks a privilege: docs/postgres.md lists what a worker's role needs")

func meaning(err error) error {
	if errors.Is(err, puddle.ErrClosedPool) {
		return jobs.ErrClosed
	}
	if lost(err) {
		return jobs.ErrUnavailable
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return nil
	}
	if table := sequenceOf(e); table != "" {
		return sequenceError{table}
	}
	if err := largest(e); err != nil {
		return err
	}
	switch {
	case e.Code == codeProtocol && strings.Contains(e.Message, statementPooling):
		return errStatementPooling
	case e.Code == codeUnique && e.ConstraintName == "sqluice_jobs_unique":
		return jobs.ErrUniqueTaken
	case strings.HasPrefix(e.Code, "58"): // system errors outside PostgreSQL, such as I/O
		return jobs.ErrDisk
	}
	return meanings[e.Code]
}

// meanings holds the errors that follow from the code alone.
var meanings = map[string]error{
	codeDiskFull: jobs.ErrFull, codeLock: jobs.ErrBusy, codeReadOnly: jobs.ErrReadOnly, codePrivilege: errPrivilege,
	codeCanceled: errEnded, codeTimeout: errEnded,
}

// lost reports whether the server could not be reached, or the connection ended: the statement may have run or not.
func lost(err error) bool {
	if err == nil || errors.Is(err, errSilent) {
		return err != nil
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return !hopeless(connect)
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return passing(e)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err) ||
		strings.Contains(err.Error(), "conn closed") // pgx exports no error for it
}

// passing reports whether the server, or a pooler in front of it, says that the connection is gone, or that no connection is free now.
func passing(e *pgconn.PgError) bool {
	// 08: connection exceptions, 57P: the server is stopping or starting, or an operator ended the session, 53300: too
	// many connections, 25P03: the server ended a session that was idle in a transaction, such as that of a stopped
	// process.
	if e.Code == codeProtocol && refusedByPooler(e.Message) {
		return false
	}
	return strings.HasPrefix(e.Code, "08") || strings.HasPrefix(e.Code, "57P") || e.Code == codeTooMany || e.Code == "25P03"
}

// hopeless reports whether waiting would not help to connect: the server is there and refuses this client (the password,
// the database, pg_hba.conf), or every attempt failed because client and server do not agree on TLS.
func hopeless(err *pgconn.ConnectError) bool {
	list := attempts(err)
	disagreed := 0
	for _, a := range list {
		var server *pgconn.PgError
		var certificate *tls.CertificateVerificationError
		switch {
		case errors.As(a.err, &server):
			if !passing(server) {
				return true
			}
		case refusedTLS(a.err) || errors.As(a.err, &certificate):
			disagreed++
		}
	}
	return len(list) > 0 && disagreed == len(list)
}

// refusals holds parts of the messages in which PgBouncer reports what an operator must correct. It has one code for these and for
// temporary states, such as an absent server.
var refusals = []string{
	"no such database", "no such user", "does not exist", "authentication failed", "login rejected", "pg_hba.conf", "permission denied",
	"unsupported startup parameter", "bouncer config error", "SSL required", "TLS connection required", "certificate required", "is reserved", statementPooling,
}

// statementPooling is PgBouncer's error for a transaction when each statement gets another connection.
const statementPooling = "not allowed in statement pooling mode"

func refusedByPooler(message string) bool {
	return slices.ContainsFunc(refusals, func(part string) bool { return strings.Contains(message, part) })
}

// notConnected reports whether no connection could be made: trying again at once would not help.
func notConnected(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect)
}

// broken reports whether an existing connection was lost.
func broken(err error) bool { return lost(err) && !notConnected(err) }

// endedByServer reports whether the server ended a statement, as the role's statement_timeout and transaction_timeout do.
func endedByServer(err error) bool { return hasCode(err, codeCanceled) || hasCode(err, codeTimeout) }

// readOnly reports whether the database accepted no writes.
func readOnly(err error) bool { return hasCode(err, codeReadOnly) }

func hasCode(err error, code string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == code
}

// collided reports whether a transaction collided with another and may succeed if run again at once. Of unique indexes only the
// queue's own count: an application's index refuses the same row again.
func collided(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (met(e) ||
		e.Code == codeUnique && strings.HasPrefix(e.ConstraintName, "sqluice_") && sequenceOf(err) == "")
}

// met reports whether the server ended a transaction because of another one. A duplicate value may be another transaction's
// too, but one that still conflicts after several runs is permanent.
func met(e *pgconn.PgError) bool {
	return e.Code == codeSerialization || e.Code == codeDeadlock || outdated(e)
}

// outdated reports whether a migration has changed or recreated a type of a prepared statement's results or parameters since the connection
// prepared the statement: the server refuses to run it, and pgx prepares it again at its next use. The codes alone cover much else. Servers
// translate messages, except those of internal errors, which come from several routines.
func outdated(e *pgconn.PgError) bool {
	switch e.Code {
	case codeFeature:
		return e.Routine == "RevalidateCachedQuery"
	case codeInternal:
		return strings.HasPrefix(e.Message, "cache lookup failed for type ")
	case codeNoObject:
		return e.Routine == "lookup_type_cache"
	}
	return false
}

// isOutdated reports whether an error is that of an outdated statement: other statements and connections may have others.
func isOutdated(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && outdated(e)
}

// neverGiven reports whether the server does not yet know a transaction number that it assigned before a crash.
func neverGiven(err error) bool { return hasCode(err, codeFuture) }

// sequenceError is the error of a table whose sequence returns ids that rows already have. Waiting does not help.
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

// isNoTable reports whether a statement failed because a table is missing.
func isNoTable(err error) bool { return hasCode(err, codeNoTable) }

// faults classifies the errors of this engine.
type faults struct{}

// LocksRows implements [engine.Store].
func (faults) LocksRows() bool { return true }

// CanRetry reports whether waiting may help: the server is away, out of resources or read-only for now, or transactions
// collided. It returns true also for other connection failures, such as a password that is being changed: the statement
// is not at fault.
func (faults) CanRetry(err error) bool {
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

// RefusesRow implements [engine.Store] for constraints, errors of functions and triggers, and values that a function refuses.
func (t faults) RefusesRow(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) || errors.Is(err, jobs.ErrUnknownOutcome) || len(e.Code) < len("23") {
		return false
	}
	switch e.Code[:2] { // see https://www.postgresql.org/docs/current/errcodes-appendix.html
	case "21", "22", "23", "27", "38", "39", "44", "P0":
		return true
	}
	// A trigger may raise any code; but class 42, such as a missing table, fails for every row.
	return e.Where != "" && e.Code[:2] != "42" && !t.CanRetry(err)
}

// KeyTaken implements [engine.Store] for unique indexes and exclusion constraints.
func (faults) KeyTaken(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == codeUnique || e.Code == codeExclusion)
}
