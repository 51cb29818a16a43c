package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	rawClaim  = `UPDATE jobs SET status = 'running', attempt = attempt + 1, worker_id = ?1, lease_until = ?2 WHERE id IN (SELECT id FROM jobs WHERE status = 'pending' AND queue = 'default' AND run_after <= ?3 ORDER BY priority DESC, run_after, id LIMIT ?4) RETURNING id, kind, payload, attempt`
	rawFinish = `UPDATE jobs SET status = 'done', finished_at = ?1 WHERE status = 'running' AND worker_id = ?2 AND (id, attempt) IN (SELECT value->>0, value->>1 FROM json_each(?3))`
)

// rawWorker is one connection that claims and finishes.
type rawWorker struct {
	pool          *sql.DB
	claim, finish *sql.Stmt
	id            int64
	most          int    // jobs of a batch
	claimed       []byte // the claimed batch, as a list of ids and attempts
	count         int    // of held
	starts        []jobStart
	busy          int // transactions that did not get the lock in their 5 seconds
}

// rawWorking opens a worker of the hand-written loop and measures fn.
func rawWorking(ctx context.Context, t task, p *parent, fn func(*rawWorker) error) (report, error) {
	pool, err := rawOpen(ctx, t)
	if err != nil {
		return report{}, err
	}
	defer pool.Close()
	w := &rawWorker{pool: pool, id: int64(os.Getpid()), most: t.Concurrency, starts: make([]jobStart, 0, t.Jobs)}
	if w.claim, err = pool.PrepareContext(ctx, rawClaim); err != nil {
		return report{}, err
	}
	if w.finish, err = pool.PrepareContext(ctx, rawFinish); err != nil {
		return report{}, err
	}
	return p.measure(func() (report, error) {
		err := fn(w)
		return report{Begun: w.starts, Errors: w.busy}, err
	})
}

func rawDrain(ctx context.Context, t task, p *parent) (report, error) {
	return rawWorking(ctx, t, p, func(w *rawWorker) error { return w.drain(ctx) })
}

// rawPoll is the interval at which an idle loop checks for jobs: SQLite sends no notification.
const rawPoll = time.Millisecond

func rawWork(ctx context.Context, t task, p *parent) (report, error) {
	return rawWorking(ctx, t, p, func(w *rawWorker) error {
		last := time.Now()
		for {
			before := len(w.starts)
			if err := w.drain(ctx); err != nil || len(w.starts) >= t.Jobs {
				return err
			}
			if len(w.starts) > before {
				last = time.Now()
			}
			found, err := w.await(ctx, last.Add(lastStart))
			if err != nil || !found {
				return err // the harness sees the missing jobs
			}
		}
	})
}

// await polls, with a query that takes no lock for writing, until there is a job or the time is over.
func (w *rawWorker) await(ctx context.Context, until time.Time) (found bool, err error) {
	for !found && err == nil && time.Now().Before(until) {
		time.Sleep(rawPoll)
		err = w.pool.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM jobs WHERE status = 'pending' AND queue = 'default')").Scan(&found)
	}
	return found, err
}

// drain claims and finishes until nothing is left to claim.
func (w *rawWorker) drain(ctx context.Context) error {
	for {
		err := w.runBatch(ctx)
		var busy *sqlite.Error
		if errors.As(err, &busy) && busy.Code()&0xff == sqlite3.SQLITE_BUSY {
			w.busy++ // the next transaction finishes the held batch
			continue
		}
		if err != nil || w.count == 0 {
			return err
		}
	}
}

// runBatch finishes one batch and claims the next in one transaction, then runs the (empty) handlers.
func (w *rawWorker) runBatch(ctx context.Context) error {
	tx, err := w.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	now := time.Now()
	if w.count > 0 {
		done, err := tx.StmtContext(ctx, w.finish).ExecContext(ctx, now.UnixMicro(), w.id, string(w.claimed))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n != int64(w.count) {
			return errors.Join(errors.New("a job was lost to another process"), err)
		}
	}
	rows, err := tx.StmtContext(ctx, w.claim).QueryContext(ctx, w.id, now.Add(30*time.Second).UnixMicro(), now.UnixMicro(), w.most)
	if err != nil {
		return err
	}
	defer rows.Close()
	held := []byte{'['}
	var claimed []jobStart
	for rows.Next() {
		var id, attempt int64
		var kind string
		var data sql.RawBytes
		if err := rows.Scan(&id, &kind, &data, &attempt); err != nil {
			return err
		}
		var a args
		if err := json.Unmarshal(data, &a); err != nil {
			return err
		}
		if len(claimed) > 0 {
			held = append(held, ',')
		}
		held = strconv.AppendInt(append(held, '['), id, 10)
		held = append(strconv.AppendInt(append(held, ','), attempt, 10), ']')
		claimed = append(claimed, jobStart{N: a.N})
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	w.claimed, w.count = append(held, ']'), len(claimed)
	for i := range claimed {
		claimed[i].At = time.Now().UnixNano()
	}
	w.starts = append(w.starts, claimed...)
	return nil
}
