//go:build unix

package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/postgres"
)

func (r role) play() error {
	if r.Do == "insert" {
		return r.insert()
	}
	ctx := context.Background()
	switch r.Do {
	case "serve":
		return r.serve(ctx)
	case "witness":
		return r.witness(ctx)
	}
	store, err := r.open(ctx)
	if err != nil {
		return err
	}
	client := jobs.New(store)
	switch r.Do {
	case "enqueue":
		err = r.enqueue(ctx, client)
	case "ask":
		err = r.ask(ctx, client)
	case "halfway":
		err = r.halfway(ctx, store)
	case "modes":
		err = r.enqueueModes(ctx, client)
	default:
		err = r.work(ctx, client)
	}
	return errors.Join(err, store.Close())
}

// work runs a worker. It ends when standard input does, or when its role is to drain and no job is left.
func (r role) work(ctx context.Context, client *jobs.Client) error {
	h, err := openHistory(r.History)
	if err != nil {
		return err
	}
	config := jobs.Config{
		Name: r.Name, Queues: r.Queues, Ahead: r.Ahead, MaxCrashes: 1000,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if r.Lease != "" {
		if config.Lease, err = time.ParseDuration(r.Lease); err != nil {
			return err
		}
	}
	runner, err := jobs.NewRunner(client, config)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	released := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end, however it comes, is the signal
		close(released)
		stop()
	}()
	kind := func(name string, handler func(context.Context, jobs.Job) error) {
		jobs.Kind[json.RawMessage]{Name: name, RetryDelay: func(jobs.Job, error) time.Duration { return 0 }}.Handle(runner,
			func(ctx context.Context, job jobs.Job, _ json.RawMessage) error {
				if err := h.note("start", job); err != nil {
					return err
				}
				return handler(ctx, job)
			})
	}
	kind("quick", func(ctx context.Context, job jobs.Job) error {
		if job.ID%10 == 0 {
			if err := job.SetProgress(ctx, 50); err != nil {
				return err
			}
		}
		return h.note("done", job)
	})
	kind("block", func(ctx context.Context, job jobs.Job) error {
		if lost, err := untilReleased(ctx, h, job, released); lost || err != nil {
			return err // no error when the lease is lost: the handler claims to have done the job
		}
		return errors.Join(job.SetResult(r.Name), h.note("done", job))
	})
	if r.onPostgres() {
		kind("complete", func(ctx context.Context, job jobs.Job) error { return r.complete(ctx, h, job, released) })
	}
	if r.Do == "drain" {
		return runner.Drain(ctx)
	}
	return runner.Run(ctx)
}

// untilReleased keeps a handler from ending until its worker must end, or its lease is lost.
func untilReleased(ctx context.Context, h *history, job jobs.Job, released <-chan struct{}) (lost bool, err error) {
	select {
	case <-released:
		return false, nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), jobs.ErrLeaseLost) {
			return true, h.note("lost", job)
		}
		return false, ctx.Err()
	}
}

// halfway cancels a job and gets stuck before the commit.
func (r role) halfway(ctx context.Context, store jobs.Store) error {
	h, err := openHistory(r.History)
	if err != nil {
		return err
	}
	return engine.StoreOf(store).Write(ctx, func(ctx context.Context, q db.Querier) error {
		cancelled, err := q.CancelWaitingJob(ctx, db.CancelWaitingJobParams{Now: engine.StoreOf(store).Now().UnixMicro(), ID: r.Job})
		if err == nil {
			err = h.write("halfway", r.Job, len(cancelled))
		}
		if err == nil {
			_, err = io.Copy(io.Discard, os.Stdin)
		}
		return err
	})
}

// complete ends its job in a transaction that it leaves open until the worker must end.
func (r role) complete(ctx context.Context, h *history, job jobs.Job, released <-chan struct{}) (err error) {
	conn, err := pgx.Connect(ctx, r.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	if err := jobs.CompleteTx(ctx, postgres.Tx(tx), job, r.Name); err != nil {
		return err
	}
	if err := h.note("complete", job); err != nil {
		return err
	}
	if lost, err := untilReleased(ctx, h, job, released); lost || err != nil {
		return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
	}
	return tx.Commit(context.WithoutCancel(ctx))
}
