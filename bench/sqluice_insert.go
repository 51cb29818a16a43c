package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sqluice/sqluice/jobs"
)

// bulkBytes is the approximate size of a call of EnqueueMany: the usual bulk is one call.
const bulkBytes = 16 << 20

func bulkRole(ctx context.Context, t task, p *parent) (report, error) {
	return withClient(ctx, t, p, func(client *jobs.Client) (report, error) {
		return report{}, addMany(t, func(list []args) error {
			_, err := noop.EnqueueMany(ctx, client, list)
			return err
		})
	})
}

// addMany adds a task's jobs with add, in parts that fit into memory.
func addMany(t task, add func([]args) error) error {
	step := bulkBytes / (t.Size + 20)
	for from := 0; from < t.Jobs; from += step {
		if err := add(payloads(from, min(from+step, t.Jobs), t.Size)); err != nil {
			return err
		}
	}
	return nil
}

func insertRole(ctx context.Context, t task, p *parent) (report, error) {
	return withClient(ctx, t, p, func(client *jobs.Client) (report, error) {
		return report{}, byCallers(t.Callers, t.Jobs, func(i int) error {
			_, err := noop.Enqueue(ctx, client, payload(i, t.Size))
			return err
		})
	})
}

func pacedRole(ctx context.Context, t task, p *parent) (report, error) {
	return withClient(ctx, t, p, func(client *jobs.Client) (report, error) {
		sent, err := pace(ctx, t, adder(ctx, t, client))
		return report{Sent: sent}, err
	})
}

// adder returns a function that adds one job, as a caller with a single job does.
func adder(ctx context.Context, t task, client *jobs.Client) func(from, to int) error {
	return func(from, to int) error {
		var err error
		if to-from == 1 {
			_, err = noop.Enqueue(ctx, client, payload(from, t.Size))
		} else {
			_, err = noop.EnqueueMany(ctx, client, payloads(from, to, t.Size))
		}
		return err
	}
}

// withClient measures fn.
func withClient(ctx context.Context, t task, p *parent, fn func(*jobs.Client) (report, error)) (report, error) {
	store, client, err := open(ctx, t)
	if err != nil {
		return report{}, err
	}
	defer store.Close()
	return p.measure(func() (report, error) { return fn(client) })
}

// rolePlain inserts as any other program does: plain SQL on a connection that the library does not know.
const rolePlain = "paced plain"

func plainRole(ctx context.Context, t task, p *parent) (report, error) {
	pool, err := sql.Open("sqlite", t.Path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(1)")
	if err != nil {
		return report{}, err
	}
	defer pool.Close()
	return p.measure(func() (report, error) {
		sent, err := pace(ctx, t, func(from, _ int) error {
			_, err := pool.ExecContext(ctx, "INSERT INTO sqluice_jobs (kind, payload) VALUES ('noop', ?)", fmt.Sprintf(`{"n":%d}`, from))
			return err
		})
		return report{Sent: sent}, err
	})
}
