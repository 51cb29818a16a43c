package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	dbsqlite "github.com/sqluice/sqluice/db/sqlite"
	"github.com/sqluice/sqluice/internal/sqlfiles"
)

// control returns a statement of sql/control/sqlite, by the name of its file.
var control = sqlfiles.Control("sqlite")

// reads holds the statements of the connections that only read.
type reads struct {
	*dbsqlite.Queries
	stmts *statements
	users sync.WaitGroup
}

func newReads(pool *sql.DB) *reads {
	stmts := newStatements(pool)
	return &reads{Queries: dbsqlite.New(stmts), stmts: stmts}
}

// close waits for the running reads and closes the statements. No read may begin after it.
func (r *reads) close() error {
	r.users.Wait()
	return r.stmts.close()
}

// statements prepares each statement at its first use, and keeps it. There are a hundred, of which a process uses a few, or
// those that a runner needs: preparing all would be most of a short-lived program's work.
type statements struct {
	pool statementPool

	mu   sync.RWMutex
	kept map[string]*sql.Stmt // the prepared statements by SQL text
}

// statementPool prepares statements: it is a pool, or one connection of it.
type statementPool interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func newStatements(pool statementPool) *statements {
	return &statements{pool: pool, kept: map[string]*sql.Stmt{}}
}

// PrepareContext returns the prepared statement of a text. The statement belongs to the list, which closes it.
func (s *statements) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt := s.kept[query]
	s.mu.RUnlock()
	if stmt != nil {
		return stmt, nil
	}
	// Not under the lock: it may have to wait for a connection.
	stmt, err := s.pool.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.kept[query]; other != nil { // another caller prepared it first
		return other, stmt.Close()
	}
	s.kept[query] = stmt
	return stmt, nil
}

func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (s *statements) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return s.pool.QueryRowContext(ctx, query, args...) // it meets the same error, and can return it
	}
	return stmt.QueryRowContext(ctx, args...)
}

// close closes all prepared statements. The caller must not use them afterwards.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.kept {
		errs = append(errs, stmt.Close())
	}
	clear(s.kept)
	return errors.Join(errs...)
}
