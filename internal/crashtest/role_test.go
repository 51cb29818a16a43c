//go:build unix

package crashtest

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

func (r role) play() error {
	if r.Do == "insert" {
		return r.insert()
	}
	ctx := context.Background()
	store, err := sqlite.Open(ctx, r.DB, sqlite.MustExist())
	if err != nil {
		return err
	}
	client := jobs.New(store)
	if r.Do == "enqueue" {
		err = r.enqueue(ctx, client)
	} else {
		err = r.work(ctx, client)
	}
	return errors.Join(err, store.Close())
}

// work runs a worker. It ends when standard input does, or when its role is to drain and nothing is left.
func (r role) work(ctx context.Context, client *jobs.Client) error {
	h, err := openHistory(r.History)
	if err != nil {
		return err
	}
	config := jobs.Config{
		Name: r.Name, Queues: r.Queues, MaxCrashes: 1000, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
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
		jobs.Kind[json.RawMessage]{Name: name, RetryDelay: func(int) time.Duration { return 0 }}.Handle(runner,
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
		select {
		case <-released:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), jobs.ErrLeaseLost) {
				return h.note("lost", job) // and so it claims to have done the job
			}
			return ctx.Err()
		}
		return errors.Join(job.SetResult(r.Name), h.note("done", job))
	})
	if r.Do == "drain" {
		return runner.Drain(ctx)
	}
	return runner.Run(ctx)
}

// enqueue adds jobs, one and ten at a time, and prints the id of each one after it was acknowledged.
func (r role) enqueue(ctx context.Context, client *jobs.Client) error {
	ten := make([]json.RawMessage, 10)
	for i := range ten {
		ten[i] = json.RawMessage("{}")
	}
	for {
		receipt, err := client.Enqueue(ctx, "quick", json.RawMessage("{}"))
		if err != nil {
			return err
		}
		fmt.Println(receipt.ID)
		ids, err := client.EnqueueMany(ctx, "quick", ten, jobs.Tags("ten"))
		if err != nil {
			return err
		}
		for _, id := range ids {
			fmt.Println(id)
		}
	}
}

// insert adds a job by plain SQL, as any program can, for each line of standard input, and prints its id.
func (r role) insert() error {
	statement, err := os.ReadFile("testdata/insert_job.sql")
	if err != nil {
		return err
	}
	pool, err := sql.Open("sqlite", "file:"+r.DB+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var id int64
		if err := pool.QueryRow(string(statement)).Scan(&id); err != nil {
			return err
		}
		fmt.Println(id, time.Now().UnixMicro())
	}
	return errors.Join(lines.Err(), pool.Close())
}
