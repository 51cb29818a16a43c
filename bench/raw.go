package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the bare driver, for the loops that show the limit
)

// The hand-written limit: one table with the columns that a queue cannot do without, one index, prepared statements,
// claim and fenced finish of a whole batch in one transaction, the handler inline.
const rawSchema = `
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, queue TEXT NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending', priority INTEGER NOT NULL DEFAULT 0, run_after INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0, worker_id INTEGER, lease_until INTEGER, finished_at INTEGER
) STRICT;
CREATE INDEX jobs_claim ON jobs (queue, priority DESC, run_after, id) WHERE status = 'pending';`

const (
	rawOne    = `INSERT INTO jobs (queue, kind, payload, run_after) VALUES ('default', 'noop', ?1, ?2)`
	rawMany   = `INSERT INTO jobs (queue, kind, payload, run_after) SELECT 'default', 'noop', e.value, ?2 FROM json_each(?1) AS e`
	rawClaim  = `UPDATE jobs SET status = 'running', attempt = attempt + 1, worker_id = ?1, lease_until = ?2 WHERE id IN (SELECT id FROM jobs WHERE status = 'pending' AND queue = 'default' AND run_after <= ?3 ORDER BY priority DESC, run_after, id LIMIT ?4) RETURNING id, kind, payload, attempt`
	rawFinish = `UPDATE jobs SET status = 'done', finished_at = ?1 WHERE status = 'running' AND worker_id = ?2 AND (id, attempt) IN (SELECT value->>0, value->>1 FROM json_each(?3))`
)

func rawOpen(ctx context.Context, path string) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(1)")
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	_, err = pool.ExecContext(ctx, rawSchema)
	return pool, err
}

func rawInsert(ctx context.Context, s settings, d database) (figures, error) {
	pool, err := rawOpen(ctx, d.path)
	if err != nil {
		return figures{}, err
	}
	defer pool.Close()
	stmt, err := pool.PrepareContext(ctx, rawOne)
	if err != nil {
		return figures{}, err
	}
	n := s.jobs / 5
	clock := d.start()
	for i := range n {
		data, err := json.Marshal(payload(i, 80))
		if err != nil {
			return figures{}, err
		}
		if _, err := stmt.ExecContext(ctx, string(data), time.Now().UnixMicro()); err != nil {
			return figures{}, err
		}
	}
	return clock.stop(n), nil
}

func rawBulk(ctx context.Context, s settings, d database) (figures, error) {
	pool, err := rawOpen(ctx, d.path)
	if err != nil {
		return figures{}, err
	}
	defer pool.Close()
	clock := d.start()
	err = rawFill(ctx, pool, s.jobs)
	return clock.stop(s.jobs), err
}

func rawFill(ctx context.Context, pool *sql.DB, n int) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	stmt, err := tx.PrepareContext(ctx, rawMany)
	if err != nil {
		return err
	}
	for i := 0; i < n; {
		var list []string
		for ; i < n && len(list) < 1000; i++ {
			data, err := json.Marshal(payload(i, 80))
			if err != nil {
				return err
			}
			list = append(list, string(data))
		}
		data, err := json.Marshal(list)
		if err != nil {
			return err
		}
		if _, err := stmt.ExecContext(ctx, string(data), time.Now().UnixMicro()); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func rawDrain(ctx context.Context, s settings, d database) (figures, error) {
	pool, err := rawOpen(ctx, d.path)
	if err != nil {
		return figures{}, err
	}
	defer pool.Close()
	if err := rawFill(ctx, pool, s.jobs); err != nil {
		return figures{}, err
	}
	claim, err := pool.PrepareContext(ctx, rawClaim)
	if err != nil {
		return figures{}, err
	}
	finish, err := pool.PrepareContext(ctx, rawFinish)
	if err != nil {
		return figures{}, err
	}
	clock := d.start()
	done := 0
	for batch := "[]"; ; {
		n := 0
		batch, n, err = rawTurn(ctx, pool, claim, finish, batch, s.concurrency)
		if err != nil {
			return figures{}, err
		}
		if n == 0 {
			break
		}
		done += n
	}
	if done != s.jobs {
		return figures{}, errors.New("jobs are missing")
	}
	return clock.stop(done), nil
}

// rawTurn finishes one batch and claims the next in one transaction, then runs the (empty) handlers.
func rawTurn(ctx context.Context, pool *sql.DB, claim, finish *sql.Stmt, batch string, most int) (string, int, error) {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return "", 0, err
	}
	defer tx.Rollback()
	now := time.Now()
	if _, err := tx.StmtContext(ctx, finish).ExecContext(ctx, now.UnixMicro(), 1, batch); err != nil {
		return "", 0, err
	}
	rows, err := tx.StmtContext(ctx, claim).QueryContext(ctx, 1, now.Add(30*time.Second).UnixMicro(), now.UnixMicro(), most)
	if err != nil {
		return "", 0, err
	}
	defer rows.Close()
	var list strings.Builder
	n := 0
	list.WriteByte('[')
	for rows.Next() {
		var id, attempt int64
		var kind, data string
		if err := rows.Scan(&id, &kind, &data, &attempt); err != nil {
			return "", 0, err
		}
		var a args
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			return "", 0, err
		}
		if n > 0 {
			list.WriteByte(',')
		}
		n++
		list.WriteString("[" + strconv.FormatInt(id, 10) + "," + strconv.FormatInt(attempt, 10) + "]")
	}
	if err := rows.Err(); err != nil {
		return "", 0, err
	}
	if err := rows.Close(); err != nil {
		return "", 0, err
	}
	list.WriteByte(']')
	return list.String(), n, tx.Commit()
}
