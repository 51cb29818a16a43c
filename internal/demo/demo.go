package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// readInterval is the interval of the demo's reads of the queue.
const readInterval = 50 * time.Millisecond

// demo is one run of it.
type demo struct {
	folder  string // of the files to parse
	workers int
	slots   int // concurrent jobs of a worker
	keep    bool
	out     io.Writer
	errors  *os.File // the worker processes write to it themselves

	temp   string // folder of the database and the journals
	client *jobs.Client
}

func (d *demo) run(ctx context.Context) (err error) {
	if d.folder, err = filepath.Abs(d.folder); err != nil {
		return err
	}
	paths, err := findFiles(d.folder)
	if err != nil {
		return err
	}
	if d.temp, err = os.MkdirTemp("", "sqluice-demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.cleanUp()) }()
	store, err := sqlite.Open(ctx, filepath.Join(d.temp, databaseName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	d.client = jobs.New(store)
	if _, err := d.client.Migrate(ctx); err != nil {
		return err
	}

	ids, err := d.enqueue(ctx, paths)
	if err != nil {
		return err
	}
	lost, err := d.work(ctx, len(ids))
	if err != nil {
		return err
	}
	return d.conclude(ctx, ids, lost)
}

// enqueue adds a job for each file, all in one transaction.
func (d *demo) enqueue(ctx context.Context, paths []string) ([]int64, error) {
	files := make([]file, len(paths))
	for i, path := range paths {
		files[i] = file{Path: path}
	}
	start := time.Now()
	ids, err := receipts.IDs(parseFile.EnqueueMany(ctx, d.client, files))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(d.out, "Enqueued %s jobs, one for each .go file of %s, in %s.\n",
		count(len(ids)), d.folder, time.Since(start).Round(time.Millisecond))
	return ids, nil
}

// work runs worker processes until all jobs have ended, and kills one of them when a third of the jobs have.
func (d *demo) work(ctx context.Context, total int) (lost *killedWorker, err error) {
	workers := newFleet(d)
	// However this ends, no worker outlives the demo.
	defer func() { err = errors.Join(err, workers.stop()) }()
	for n := range d.workers {
		if err := workers.start(ctx, fmt.Sprintf("worker-%d", n+1)); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(d.out, "Started %d worker processes; each runs up to %d jobs at once.\n", d.workers, d.slots)

	bar := newProgress(d.out, total)
	defer bar.clear()
	ticker := time.NewTicker(readInterval)
	defer ticker.Stop()
	for workers.alive() > 0 {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("stopped: %w", context.Cause(ctx))
		case end := <-workers.exits:
			if err := workers.ended(end); err != nil {
				return nil, err
			}
		case <-ticker.C:
		}
		stats, err := inspect.New(d.client).Stats(ctx)
		if err != nil {
			return nil, err
		}
		ended := int(stats.Jobs[jobs.StatusDone] + stats.Jobs[jobs.StatusFailed])
		bar.show(ended, workers.alive())
		if lost == nil && ended >= total/3 && ended < total {
			if lost, err = d.kill(ctx, workers); err != nil {
				return nil, err
			}
			if lost != nil {
				bar.say("Killed %s (process %d) with SIGKILL while it held %s; %s takes its place.",
					lost.worker, lost.pid, plural(lost.runningJobs, "job"), replacement)
			}
		}
	}
	return lost, nil
}

func (d *demo) cleanUp() error {
	if !d.keep {
		return os.RemoveAll(d.temp)
	}
	_, err := fmt.Fprintf(d.out, "\nKept the database: %s\n", filepath.Join(d.temp, databaseName))
	return err
}
