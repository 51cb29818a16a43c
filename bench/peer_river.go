package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
)

// River, https://riverqueue.com, with one driver for each engine.

// riverUnfinished can be answered by the index that River fetches jobs by.
const riverUnfinished = `SELECT EXISTS (SELECT 1 FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled'))`

// riverConfig returns the settings of both engines. The default ones are the library's. The best are those of the
// command "river bench" (riverqueue.com/docs/benchmarks; cmd/river/riverbench in its repository says why), except for
// the cooldown, which is FetchCooldownMin instead of the command's 2 ms: the documentation of Config.FetchCooldown says
// that it limits throughput. Both batch completions.
func riverConfig(t task, f *mishaps) river.Config {
	config := river.Config{Logger: f.logger()}
	if t.Settings == settingsBest {
		config.FetchCooldown = river.FetchCooldownMin
		config.FetchPollInterval = 20 * time.Millisecond
	}
	return config
}

const (
	riverDefaultSlots = 100   // River has no default; its package documentation uses 100
	riverBestSlots    = 2_000 // of "river bench"
)

// riverTimed is the part of a drain's jobs that River gets in its default settings: it fetches as many as it has slots
// each 100 ms.
const riverTimed = 10

// rivers returns River's contenders on both engines.
func rivers() []contender { return slices.Concat(riverOnSQLite(), riverOnPostgreSQL()) }

type riverArgs struct{ args }

func (riverArgs) Kind() string { return "noop" }

// riverQueue is River on an engine whose transactions are TTx.
type riverQueue[TTx any] struct {
	driver  riverdriver.Driver[TTx]
	config  river.Config
	client  *river.Client[TTx]
	hasJobs func(ctx context.Context) (bool, error)
	release func() error
}

// openRiver migrates and makes a client that only inserts, until work is called.
func openRiver[TTx any](ctx context.Context, q riverQueue[TTx]) (goQueue, error) {
	migrator, err := rivermigrate.New(q.driver, &rivermigrate.Config{Logger: q.config.Logger})
	if err != nil {
		return nil, errors.Join(err, q.release())
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, errors.Join(err, q.release())
	}
	config := q.config
	q.client, err = river.NewClient(q.driver, &config)
	if err != nil {
		return nil, errors.Join(err, q.release())
	}
	return &q, nil
}

func (q *riverQueue[TTx]) add(ctx context.Context, a args) error {
	_, err := q.client.Insert(ctx, riverArgs{a}, nil)
	return err
}

// addMany uses InsertManyFast, "quite fast and memory efficient" (COPY on PostgreSQL), 5,000 at a time as "river bench"
// does.
func (q *riverQueue[TTx]) addMany(ctx context.Context, list []args) error {
	const batch = 5_000
	for from := 0; from < len(list); from += batch {
		var params []river.InsertManyParams
		for _, a := range list[from:min(from+batch, len(list))] {
			params = append(params, river.InsertManyParams{Args: riverArgs{a}})
		}
		if _, err := q.client.InsertManyFast(ctx, params); err != nil {
			return err
		}
	}
	return nil
}

func (q *riverQueue[TTx]) work(slots int, handle func(context.Context, args) error) (func() error, error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[riverArgs]) error {
		return handle(ctx, job.Args.args)
	}))
	config := q.config
	config.Workers = workers
	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: slots}}
	client, err := river.NewClient(q.driver, &config)
	if err != nil {
		return nil, err
	}
	if err := client.Start(context.Background()); err != nil {
		return nil, err
	}
	q.client = client // so that its inserts wake its workers
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		return client.Stop(ctx)
	}, nil
}

func (q *riverQueue[TTx]) unfinished(ctx context.Context) (bool, error) { return q.hasJobs(ctx) }

func (q *riverQueue[TTx]) close() error { return q.release() }
