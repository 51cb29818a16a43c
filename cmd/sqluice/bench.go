package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/bench"
	"github.com/sqluice/sqluice/jobs"
)

const benchHelp = `bench measures the queue on this machine with this database: how many jobs a second it enqueues and runs, and how long a
job waits from its enqueue to its start. It takes some seconds.

It does not touch your jobs. For SQLite it makes a folder sqluice-bench-* with a database beside the file, on the same
disk; for PostgreSQL a schema sqluice_bench_*, for which the role needs the right to make schemas. It removes them at the
end, also after SIGINT or SIGTERM; after a second signal or SIGKILL delete them by hand. It keeps the machine, and a
PostgreSQL server, busy.

  flush to disk, round trip   what each commit waits for: the disk with --durability full, a PostgreSQL server
  insert one by one           one caller, one transaction for each job; at most --jobs jobs and 5 seconds
  insert by 64 callers        the same with 64 concurrent callers
  bulk insert                 --jobs jobs in one transaction
  drain                       run them with empty handlers, --concurrency at the same time in each process
  latency                     from before the enqueue to the start of the handler, 50 jobs a second, in an idle worker

With --processes N this process and N-1 others drain together, and the latency to another process is measured too.`

const (
	maxBenchJobs      = 10_000_000
	maxBenchProcesses = 64
)

func (a *app) benchCommand() *cobra.Command {
	load := bench.Load{Jobs: 20_000, Concurrency: 200, Payload: 100, Processes: 1}
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure the queue on this machine and database",
		Long:    benchHelp,
		GroupID: groupDatabase,
		Args:    noArgs(),
	}
	flags := cmd.Flags()
	flags.Var(&intValue{&load.Jobs, 1, maxBenchJobs}, "jobs", "how many jobs to insert and to run")
	flags.Var(&intValue{&load.Concurrency, 1, maxConcurrency}, "concurrency", "jobs at once in a process")
	flags.Var(&intValue{&load.Payload, bench.MinPayload, jobs.MaxPayload}, "payload", "the size of a payload in bytes")
	flags.Var(&intValue{&load.Processes, 1, maxBenchProcesses}, "processes", "how many processes drain together")
	durability := durabilityFlag(flags)
	flags.BoolVar(&load.AsJSON, "json", false, "print a line of JSON for each measure")
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		load.Durability = flags.Lookup("durability").Value.String()
		return a.bench(ctx, &load, durability)
	})
	return cmd
}

func (a *app) bench(ctx context.Context, load *bench.Load, durability durabilityFor) error {
	d, err := a.database()
	if err != nil {
		return err
	}
	opts, err := durability(d)
	if err != nil {
		return err
	}
	progress := a.progress()
	return bench.Run(ctx, d, load, &bench.Host{
		Version: programVersion(), Options: opts, Log: newLogger(progress, "text", "warn"),
		Open: openDatabase, Status: progress.force, Print: a.printAndFlush,
		Child: func(ctx context.Context, d address.Database, role string) (*exec.Cmd, error) {
			return a.benchChild(ctx, d, role, load)
		},
	})
}

// benchChild returns a command, not started, that runs a role on a database in another process.
func (a *app) benchChild(ctx context.Context, d address.Database, role string, load *bench.Load) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args, name := []string{"bench-process", role, "--concurrency", strconv.Itoa(load.Concurrency)}, d.URL
	if !d.Postgres() {
		args, name = append(args, "--durability", load.Durability), d.Path
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(a.env, databaseVariable+"="+name) // all users can see a command line, and a URL may hold a password
	return cmd, nil
}
