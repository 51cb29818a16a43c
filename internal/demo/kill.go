package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sqluice/sqluice/jobs/inspect"
)

// replacement is the name of the worker that replaces a killed one.
const replacement = "replacement"

// killedWorker is a worker that was killed.
type killedWorker struct {
	worker      string
	pid         int
	runningJobs int // its running jobs
	at          time.Time
}

// kill kills a worker that holds jobs, and starts another. It returns nil when none holds any at this moment.
func (d *demo) kill(ctx context.Context, workers *fleet) (*killedWorker, error) {
	infos, err := inspect.New(d.client).Workers(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(infos, func(w inspect.WorkerInfo) bool { return w.Running > 0 && workers.byPID(w.PID) != nil })
	if i < 0 {
		return nil, nil
	}
	victim := workers.byPID(infos[i].PID)

	// Its jobs last about a millisecond each. While it is frozen, it still holds the counted jobs at the kill.
	if err := freeze(victim.cmd.Process); errors.Is(err, os.ErrProcessDone) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("stop %s: %w", victim.name, err)
	}
	held, err := d.runningJobs(ctx, infos[i].ID)
	if err != nil || held == 0 {
		return nil, errors.Join(err, thaw(victim.cmd.Process))
	}
	victim.killed = true
	lost := &killedWorker{worker: victim.name, pid: infos[i].PID, runningJobs: held, at: time.Now()}
	if err := victim.cmd.Process.Kill(); err != nil {
		return nil, fmt.Errorf("kill %s: %w", victim.name, err)
	}
	return lost, workers.start(ctx, replacement)
}

// runningJobs returns the number of a worker's running jobs in the database.
func (d *demo) runningJobs(ctx context.Context, worker int64) (int, error) {
	infos, err := inspect.New(d.client).Workers(ctx)
	for _, w := range infos {
		if w.ID == worker {
			return int(w.Running), err
		}
	}
	return 0, err
}
