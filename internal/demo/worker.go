package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// databaseName is the queue's file in the demo's temporary folder.
const databaseName = "jobs.db"

// runWorker runs a worker process until no job is left.
func runWorker(ctx context.Context, args []string, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet(workerCommand, flag.ContinueOnError)
	flags.SetOutput(stderr)
	temp := flags.String("temp", "", "folder of the database and the journals")
	folder := flags.String("folder", "", "folder of the files to parse")
	name := flags.String("name", "", "name of the worker")
	slots := flags.Int("slots", 1, "jobs to run at once")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	notes, err := openJournal(*temp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, notes.close()) }()
	store, err := sqlite.Open(ctx, filepath.Join(*temp, databaseName), sqlite.MustExist())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	runner, err := jobs.NewRunner(jobs.New(store), jobs.Config{
		Name: *name, Queues: map[string]int{jobs.DefaultQueue: *slots},
		// The demo's end reports every failed job, so only faults of the worker itself are printed.
		Logger: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	parseFile.Handle(runner, handler(*folder, notes))
	return runner.Drain(ctx)
}

// handler parses a file and keeps the journal. A syntax error, or an unreadable file, fails the next time too: the job
// fails at once.
func handler(folder string, notes *journal) jobs.Handler[file] {
	return func(_ context.Context, job jobs.Job, args file) error {
		if err := notes.record(began, job); err != nil {
			return err
		}
		found, err := parse(folder, args.Path)
		if err != nil {
			err = jobs.Discard(err)
		} else {
			err = job.SetResult(found)
		}
		return errors.Join(err, notes.record(returned, job))
	}
}
