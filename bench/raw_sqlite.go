package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the bare driver, for the loops that show the limit
)

// rawLoop is the name of the hand-written limit.
const rawLoop = "raw loop"

// The hand-written limit: one table with the columns that every queue needs, one index, prepared statements, claim and
// fenced finish of a whole batch in one transaction, the handler inline.
const rawSchema = `
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY, queue TEXT NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending', priority INTEGER NOT NULL DEFAULT 0, run_after INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0, worker_id INTEGER, lease_until INTEGER, finished_at INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_claim ON jobs (queue, priority DESC, run_after, id) WHERE status = 'pending';`

const (
	rawOne  = `INSERT INTO jobs (queue, kind, payload, run_after) VALUES ('default', 'noop', ?1, ?2)`
	rawMany = `INSERT INTO jobs (queue, kind, payload, run_after) SELECT 'default', 'noop', e.value, ?2 FROM json_each(?1) AS e`
)

// rawSQLite returns the loop on the bare driver, each process with one connection.
func rawSQLite(durability string, only []string) contender {
	const inline = "handlers run inline, one after the other"
	return contender{
		name: rawLoop, version: moduleVersion("modernc.org/sqlite"), engine: onSQLite, settings: "default",
		durability: durability, only: only,
		roles: map[string]role{
			roleBulk: rawBulk, roleInsert: rawInsert, rolePaced: rawPaced, roleDrain: rawDrain, roleWork: rawWork,
			roleBacklog: rawBacklog,
		},
		without: map[string]string{
			insertTogether: "its one connection commits one insert at a time",
			handlersShort:  inline, handlersMiddle: inline, handlersLong: inline,
		},
	}
}

// rawOpen opens a database in a pool of one connection.
func rawOpen(ctx context.Context, t task) (*sql.DB, error) {
	synchronous := map[string]int{durabilityNormal: 1, durabilityFull: 2}[t.Durability]
	if synchronous == 0 {
		return nil, fmt.Errorf("unknown durability %q", t.Durability)
	}
	pool, err := sql.Open("sqlite", fmt.Sprintf(
		"%s?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(%d)", t.Path, synchronous))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	if _, err := pool.ExecContext(ctx, rawSchema); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}

func rawInsert(ctx context.Context, t task, p *parent) (report, error) {
	return rawWith(ctx, t, p, rawOne, func(_ *sql.DB, stmt *sql.Stmt) (report, error) {
		return report{}, byCallers(t.Callers, t.Jobs, func(i int) error { return rawAdd(ctx, stmt, payload(i, t.Size)) })
	})
}

// rawAdd adds one job, or, with the statement for many, a list.
func rawAdd(ctx context.Context, stmt *sql.Stmt, jobs any) error {
	data, err := json.Marshal(jobs)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, string(data), time.Now().UnixMicro())
	return err
}

func rawPaced(ctx context.Context, t task, p *parent) (report, error) {
	return rawWith(ctx, t, p, rawMany, func(_ *sql.DB, stmt *sql.Stmt) (report, error) {
		sent, err := pace(ctx, t, func(from, to int) error { return rawAdd(ctx, stmt, payloads(from, to, t.Size)) })
		return report{Sent: sent}, err
	})
}

// rawBatch is the number of rows in a statement of a bulk insert.
const rawBatch = 1000

func rawBulk(ctx context.Context, t task, p *parent) (report, error) {
	return rawWith(ctx, t, p, rawMany, func(pool *sql.DB, stmt *sql.Stmt) (report, error) {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			return report{}, err
		}
		defer tx.Rollback()
		stmt = tx.StmtContext(ctx, stmt)
		for from := 0; from < t.Jobs; from += rawBatch {
			if err := rawAdd(ctx, stmt, payloads(from, min(from+rawBatch, t.Jobs), t.Size)); err != nil {
				return report{}, err
			}
		}
		return report{}, tx.Commit()
	})
}

// rawBacklog adds finished rows, and as many scheduled ones.
func rawBacklog(ctx context.Context, t task, p *parent) (report, error) {
	return rawWith(ctx, t, p, `
INSERT INTO jobs (queue, kind, payload, status, priority, run_after, attempt, worker_id, finished_at)
WITH RECURSIVE numbers (g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM numbers WHERE g < ?2)
SELECT 'default', 'noop', json_object('n', g, 'pad', printf('%.*c', ?3, 'x')), ?4, ?5, ?1, 1, 0, ?1 FROM numbers`,
		func(pool *sql.DB, stmt *sql.Stmt) (report, error) {
			now := time.Now()
			if _, err := stmt.ExecContext(ctx, now.UnixMicro(), t.Jobs, t.Size, "done", 0); err != nil {
				return report{}, err
			}
			if _, err := stmt.ExecContext(ctx, now.Add(24*time.Hour).UnixMicro(), t.Jobs, t.Size, "scheduled", 9); err != nil {
				return report{}, err
			}
			_, err := pool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
			return report{}, err
		})
}

// rawWith measures fn with a prepared statement.
func rawWith(ctx context.Context, t task, p *parent, query string, fn func(*sql.DB, *sql.Stmt) (report, error)) (report, error) {
	pool, err := rawOpen(ctx, t)
	if err != nil {
		return report{}, err
	}
	defer pool.Close()
	stmt, err := pool.PrepareContext(ctx, query)
	if err != nil {
		return report{}, err
	}
	defer stmt.Close()
	return p.measure(func() (report, error) { return fn(pool, stmt) })
}
