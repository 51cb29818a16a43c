// Command demo runs the queue on real input: a job for every .go file of a folder, worker processes that parse them,
// one of which is killed meanwhile, and an audit of every job. `make demo` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// workerCommand, as the first argument, makes the process one of the demo's workers.
const workerCommand = "worker"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(exitCode(err))
	}
}

// errUsage marks errors of the command line.
var errUsage = errors.New("usage: demo [-workers N] [-slots N] [-keep] [FOLDER]")

func exitCode(err error) int {
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string, stdout io.Writer, stderr *os.File) error {
	if len(args) > 0 && args[0] == workerCommand {
		return runWorker(ctx, args[1:], stderr)
	}
	d, err := parseArgs(ctx, args, stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		_, err = fmt.Fprintln(stdout, errUsage)
		return err
	}
	if err != nil {
		return err
	}
	return d.run(ctx)
}

func parseArgs(ctx context.Context, args []string, stdout io.Writer, stderr *os.File) (*demo, error) {
	d := &demo{out: stdout, errors: stderr}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&d.workers, "workers", 3, "")
	flags.IntVar(&d.slots, "slots", 8, "")
	flags.BoolVar(&d.keep, "keep", false, "")
	if err := flags.Parse(args); err != nil {
		return nil, fmt.Errorf("%w; %w", err, errUsage)
	}
	switch {
	case d.workers < 2 || d.workers > 64:
		return nil, fmt.Errorf("-workers %d must be from 2, as one of them is killed, to 64; %w", d.workers, errUsage)
	case d.slots < 1 || d.slots > 1000:
		return nil, fmt.Errorf("-slots %d must be from 1 to 1000; %w", d.slots, errUsage)
	case flags.NArg() > 1:
		return nil, fmt.Errorf("%d folders given, at most one is taken; %w", flags.NArg(), errUsage)
	}
	folder := flags.Arg(0)
	if folder == "" {
		var err error
		if folder, err = toolchainSource(ctx); err != nil {
			return nil, err
		}
	}
	d.folder = folder
	return d, nil
}
