package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	pgClaim  = `UPDATE jobs SET status = 'running', attempt = attempt + 1, worker_id = $1, lease_until = $2 WHERE id IN (SELECT id FROM jobs WHERE status = 'pending' AND queue = 'default' AND run_after <= $3 ORDER BY priority DESC, run_after, id LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING id, kind, payload, attempt`
	pgFinish = `UPDATE jobs SET status = 'done', finished_at = $1 WHERE status = 'running' AND worker_id = $2 AND (id, attempt) IN (SELECT * FROM unnest($3::bigint[], $4::bigint[]))`
)

// pgWorker is one connection that claims and finishes.
type pgWorker struct {
	conn          *pgx.Conn
	id            int64
	most          int     // jobs of a batch
	ids, attempts []int64 // of the claimed batch
	starts        []jobStart
}

// pgWorking opens a worker of the hand-written loop and measures fn. The worker listens if it waits for jobs.
func pgWorking(ctx context.Context, t task, p *parent, fn func(*pgWorker) error) (report, error) {
	conn, err := pgOpen(ctx, t)
	if err != nil {
		return report{}, err
	}
	defer conn.Close(ctx)
	if t.Role == roleWork {
		if _, err := conn.Exec(ctx, "LISTEN jobs"); err != nil {
			return report{}, err
		}
	}
	w := &pgWorker{conn: conn, id: int64(conn.PgConn().PID()), most: t.Concurrency, starts: make([]jobStart, 0, t.Jobs)}
	return p.measure(func() (report, error) {
		err := fn(w)
		return report{Begun: w.starts}, err
	})
}

func pgDrain(ctx context.Context, t task, p *parent) (report, error) {
	return pgWorking(ctx, t, p, func(w *pgWorker) error { return w.drain(ctx) })
}

// pgWork waits for notifications, and claims the jobs that are there.
func pgWork(ctx context.Context, t task, p *parent) (report, error) {
	return pgWorking(ctx, t, p, func(w *pgWorker) error {
		for {
			if err := w.drain(ctx); err != nil || len(w.starts) >= t.Jobs {
				return err
			}
			wait, stop := context.WithTimeout(ctx, lastStart)
			_, err := w.conn.WaitForNotification(wait)
			late := wait.Err() != nil && ctx.Err() == nil
			stop()
			if late {
				return nil // the harness sees the missing jobs
			}
			if err != nil {
				return err
			}
		}
	})
}

// drain claims and finishes until nothing is left to claim.
func (w *pgWorker) drain(ctx context.Context) error {
	for {
		if err := w.runBatch(ctx); err != nil || len(w.ids) == 0 {
			return err
		}
	}
}

// runBatch finishes one batch and claims the next in one transaction, then runs the (empty) handlers.
func (w *pgWorker) runBatch(ctx context.Context) error {
	tx, err := w.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	now := time.Now()
	if len(w.ids) > 0 {
		tag, err := tx.Exec(ctx, pgFinish, now.UnixMicro(), w.id, w.ids, w.attempts)
		if err != nil {
			return err
		}
		if tag.RowsAffected() != int64(len(w.ids)) {
			return errors.New("a job was lost to another process")
		}
	}
	rows, err := tx.Query(ctx, pgClaim, w.id, now.Add(30*time.Second).UnixMicro(), now.UnixMicro(), w.most)
	if err != nil {
		return err
	}
	defer rows.Close()
	var claimed []jobStart
	var ids, attempts []int64
	for rows.Next() {
		var id, attempt int64
		var kind, data string
		if err := rows.Scan(&id, &kind, &data, &attempt); err != nil {
			return err
		}
		var a args
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			return err
		}
		ids, attempts = append(ids, id), append(attempts, attempt)
		claimed = append(claimed, jobStart{N: a.N})
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	w.ids, w.attempts = ids, attempts
	for i := range claimed {
		claimed[i].At = time.Now().UnixNano()
	}
	w.starts = append(w.starts, claimed...)
	return nil
}
