package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

const (
	laps     = 400
	warmUp   = 10 // laps that do not count
	lapEvery = 20 * time.Millisecond
)

func latencySame(ctx context.Context, s settings, d database) (figures, error) {
	return latencyBeside(besideNothing)(ctx, s, d)
}

func latencyBeside(surround beside) func(context.Context, settings, database) (figures, error) {
	return func(ctx context.Context, s settings, d database) (figures, error) {
		return latency(ctx, s, d, surround, func(ctx context.Context, client *jobs.Client, i int) error {
			_, err := noop.Enqueue(ctx, client, payload(i, 80))
			return err
		})
	}
}

// latencyForeign inserts as any other program would: plain SQL on a connection that the library knows nothing of.
func latencyForeign(ctx context.Context, s settings, d database) (figures, error) {
	pool, err := sql.Open("sqlite", d.path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(1)")
	if err != nil {
		return figures{}, err
	}
	defer pool.Close()
	return latency(ctx, s, d, besideNothing, func(ctx context.Context, _ *jobs.Client, i int) error {
		_, err := pool.ExecContext(ctx, "INSERT INTO jobs (kind, payload) VALUES ('noop', ?)", fmt.Sprintf(`{"n":%d}`, i))
		return err
	})
}

// latency is the time from before an insert to the start of its handler, 50 a second, in an idle worker.
func latency(ctx context.Context, s settings, d database, surround beside, add func(context.Context, *jobs.Client, int) error) (_ figures, err error) {
	_, client, end, err := openBeside(ctx, s, d, surround)
	if err != nil {
		return figures{}, err
	}
	defer func() { err = errors.Join(err, end()) }()
	runner, err := jobs.NewRunner(client, jobs.Config{})
	if err != nil {
		return figures{}, err
	}
	started := make(chan time.Time, 1)
	noop.Handle(runner, func(context.Context, jobs.Job, args) error { started <- time.Now(); return nil })
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	var times []time.Duration
	clock := d.start()
	for i := range laps + warmUp {
		lap := time.Now()
		if err := add(ctx, client, i); err != nil {
			stop()
			return figures{}, errors.Join(err, <-ended)
		}
		if at := <-started; i >= warmUp {
			times = append(times, at.Sub(lap))
		}
		time.Sleep(lapEvery)
	}
	f := clock.stop(laps)
	f.laps = times
	stop()
	return f, <-ended
}

// latencyOther is that time when the worker is another process.
func latencyOther(ctx context.Context, _ settings, d database) (figures, error) {
	store, client, err := open(ctx, d)
	if err != nil {
		return figures{}, err
	}
	defer store.Close()
	return latencyTo(ctx, d, "work", func(i int) error {
		_, err := noop.Enqueue(ctx, client, payload(i, 80))
		return err
	})
}

// pgLatencyOther is that of a hand-written loop.
func pgLatencyOther(ctx context.Context, _ settings, d database) (figures, error) {
	conn, err := pgOpen(ctx, d)
	if err != nil {
		return figures{}, err
	}
	defer conn.Close(ctx)
	return latencyTo(ctx, d, "raw work", func(i int) error {
		data, err := json.Marshal(payload(i, 80))
		if err != nil {
			return err
		}
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		if _, err := tx.Exec(ctx, pgOne, string(data), time.Now().UnixMicro()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "NOTIFY jobs"); err != nil {
			return err
		}
		return tx.Commit(ctx)
	})
}

func latencyTo(ctx context.Context, d database, role string, add func(i int) error) (figures, error) {
	workers, err := startChildren(ctx, 1, task{Role: role, Path: d.path, Concurrency: 10, Jobs: laps + warmUp})
	if err != nil {
		return figures{}, err
	}
	if err := workers.begin(); err != nil {
		return figures{}, err
	}
	sent := make([]time.Time, laps+warmUp)
	clock := d.start()
	for i := range sent {
		sent[i] = time.Now()
		if err := add(i); err != nil {
			return figures{}, errors.Join(err, workers.kill())
		}
		time.Sleep(lapEvery)
	}
	f := clock.stop(laps)
	if err := workers.done(); err != nil {
		return figures{}, err
	}
	reports, err := workers.reports()
	if err != nil {
		return figures{}, err
	}
	f.cpu = reports[0].CPU
	for _, b := range reports[0].Begun {
		if b.N >= warmUp {
			f.laps = append(f.laps, time.Unix(0, b.At).Sub(sent[b.N].Round(0)))
		}
	}
	if len(f.laps) != laps {
		return figures{}, fmt.Errorf("%d jobs were started, not %d", len(f.laps), laps)
	}
	return f, nil
}
