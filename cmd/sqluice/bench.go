package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

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

// benchFlags holds the flags of the bench command.
type benchFlags struct {
	jobs        int
	concurrency int
	payload     int
	processes   int
	durability  durabilityFor
	level       func() string // of the durability
	asJSON      bool
}

const (
	maxBenchJobs      = 10_000_000
	maxBenchProcesses = 64
)

func (a *app) benchCommand() *cobra.Command {
	f := benchFlags{jobs: 20_000, concurrency: 200, payload: 100, processes: 1}
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure the queue on this machine and database",
		Long:    benchHelp,
		GroupID: groupDatabase,
		Args:    takesNothing(),
		RunE:    a.do(func(ctx context.Context, _ []string) error { return a.bench(ctx, &f) }),
	}
	flags := cmd.Flags()
	flags.Var(&intValue{&f.jobs, 1, maxBenchJobs}, "jobs", "how many jobs to insert and to run")
	flags.Var(&intValue{&f.concurrency, 1, maxConcurrency}, "concurrency", "jobs at once in a process")
	flags.Var(&intValue{&f.payload, minBenchPayload, jobs.MaxPayload}, "payload", "the size of a payload in bytes")
	flags.Var(&intValue{&f.processes, 1, maxBenchProcesses}, "processes", "how many processes drain together")
	f.durability = durabilityFlag(flags)
	f.level = func() string { return flags.Lookup("durability").Value.String() }
	flags.BoolVar(&f.asJSON, "json", false, "print a line of JSON for each measure")
	return cmd
}

func (a *app) bench(ctx context.Context, f *benchFlags) (err error) {
	d, err := a.database()
	if err != nil {
		return err
	}
	opts, err := f.durability(d)
	if err != nil {
		return err
	}
	progress := a.progress()
	defer progress.end()
	place, err := makeBenchPlace(ctx, d, newLogger(progress, "text", "warn"), opts)
	if err != nil {
		return err
	}
	defer func() {
		progress.force("removing the bench's database")
		err = errors.Join(err, place.remove(ctx))
	}()
	b := &bench{app: a, flags: f, place: place, client: jobs.New(place.store), progress: progress}
	if err := b.describe(ctx, d); err != nil {
		return err
	}
	for _, measure := range b.measures() {
		progress.force("measuring: " + measure.name)
		line, note, err := measure.run(ctx)
		if ctx.Err() != nil {
			err = ctx.Err() // a runner that is stopped returns no error
		}
		progress.end()
		if err != nil {
			return fmt.Errorf("%s: %w", measure.name, err)
		}
		line.Workload = measure.name
		if err := b.print(line, note); err != nil {
			return err
		}
	}
	return nil
}

// bench is one run of the command.
type bench struct {
	app      *app
	flags    *benchFlags
	place    *benchPlace
	client   *jobs.Client
	progress *progress
	engine   string
	version  string

	base benchLine // the first measure: what every commit waits for
}

// measure is one measurement; note says what limits it.
type measure struct {
	name string
	run  func(context.Context) (line benchLine, note string, err error)
}

func (b *bench) measures() []measure {
	first := measure{"flush to disk", b.flush}
	if b.place.database.postgres() {
		first = measure{"round trip", b.roundTrip}
	}
	list := []measure{
		first, {"insert one by one", b.insertOne}, {"insert by 64 callers", b.insertMany}, {"bulk insert", b.bulk},
		{b.drainName(), b.drain}, {"latency, same process", b.latencyHere},
	}
	if b.flags.processes > 1 {
		list = append(list, measure{"latency, other process", b.latencyThere})
	}
	return list
}

func (b *bench) drainName() string {
	if b.flags.processes == 1 {
		return "drain"
	}
	return fmt.Sprintf("drain by %d processes", b.flags.processes)
}
