package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// roleFull adds t.Jobs jobs that wait, of 1,000 keys whose limits have no room for a day.
const roleFull = "full keys"

// besideFullKeys returns the lines of the workload, which are compared in pairs. A drain would wait for the jobs of full keys.
func besideFullKeys() []variant {
	work := runLimited(roleWork, limitKeys, 200)
	return []variant{
		{"empty table", work},
		{"beside waiting jobs of full keys", func(ctx context.Context, r running) (figures, error) {
			others := r.task(roleFull)
			others.Jobs = r.backlog
			if err := r.prepare(ctx, others); err != nil {
				return figures{}, err
			}
			return work(ctx, r)
		}},
	}
}

// fullRole adds the jobs, sets the limits of their keys, and starts one job of each key, which uses up its rate.
func fullRole(ctx context.Context, t task, p *parent) (report, error) {
	return withClient(ctx, t, p, func(client *jobs.Client) (report, error) {
		kind := noop
		kind.Limit.Key = func(a args) string { return "full " + strconv.Itoa(a.N%limitedKeys) }
		for i := range limitedKeys {
			v := jobs.LimitValues{Rate: jobs.Per(1, 24*time.Hour)}
			if err := client.SetLimit(ctx, noop.Name, kind.Limit.Key(args{N: i}), v); err != nil {
				return report{}, err
			}
		}
		err := addMany(t, func(list []args) error {
			_, err := kind.EnqueueMany(ctx, client, list)
			return err
		})
		if err != nil {
			return report{}, err
		}
		if err := useUp(ctx, t, client); err != nil {
			return report{}, fmt.Errorf("use up the rates of the keys: %w", err)
		}
		return report{}, settle(ctx, t.Path)
	})
}

// useUp runs jobs until a job of each key has started and all others wait.
func useUp(ctx context.Context, t task, client *jobs.Client) error {
	t.Concurrency = limitedKeys
	var started atomic.Int64
	runner, _, err := newRunner(client, t, jobs.Retention{}, func(int) { started.Add(1) })
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(running) }()
	in := inspect.New(client)
	for {
		stats, err := in.Stats(ctx)
		if err == nil && (started.Load() < limitedKeys || stats.Jobs[jobs.StatusScheduled] > 0) {
			select {
			case err := <-ended:
				return errors.Join(err, errors.New("the runner ended too early"))
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(time.Second):
				continue
			}
		}
		stop()
		return errors.Join(err, <-ended)
	}
}
