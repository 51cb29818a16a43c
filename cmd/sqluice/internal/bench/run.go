package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

// Load is the size of a run, and its form of output.
type Load struct {
	Jobs        int
	Concurrency int // the number of concurrent handlers of a process
	Payload     int // bytes
	Processes   int
	Durability  string // the durability of SQLite: normal or full
	AsJSON      bool
}

// Host holds the functions and settings of the command for a run.
type Host struct {
	Version string          // the version of the program
	Options []sqlite.Option // the options for the durability
	Log     *slog.Logger

	// Open opens a database that exists.
	Open func(context.Context, address.Database, *slog.Logger, ...sqlite.Option) (jobs.Store, error)
	// Child returns a command, not started, whose process runs a [Process] on the database.
	Child func(ctx context.Context, d address.Database, role string) (*exec.Cmd, error)
	// Status shows a line about the running step; an empty line removes it.
	Status func(line string)
	// Print writes a line of the answer.
	Print func(format string, args ...any) error
}

// run is one run of the measurements.
type run struct {
	host    *Host
	load    *Load
	scratch *scratchQueue
	client  *jobs.Client
	engine  string

	base Line // the result of the first measurement: one flush to disk, or one round trip
}

// Run measures a queue of its own beside the database d and prints a line for each measurement. It removes the queue at the end, also
// after an error or the end of ctx.
func Run(ctx context.Context, d address.Database, load *Load, host *Host) (err error) {
	defer host.Status("")
	place, err := makeScratchQueue(ctx, d, host)
	if err != nil {
		return err
	}
	defer func() {
		host.Status("removing the bench's database")
		err = errors.Join(err, place.remove(ctx))
	}()
	r := &run{host: host, load: load, scratch: place, client: jobs.New(place.store)}
	if err := r.describe(ctx, d); err != nil {
		return err
	}
	for _, m := range r.measurements() {
		host.Status("measuring: " + m.name)
		line, note, err := m.run(ctx)
		if ctx.Err() != nil {
			err = ctx.Err() // a runner returns no error after a stop
		}
		host.Status("")
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		line.Workload = m.name
		if err := r.print(line, note); err != nil {
			return err
		}
	}
	return nil
}

// measurement is one step of a run. note names the limit of the result.
type measurement struct {
	name string
	run  func(context.Context) (line Line, note string, err error)
}

func (r *run) measurements() []measurement {
	first, drain := measurement{"flush to disk", r.flush}, "drain"
	if r.scratch.database.Postgres() {
		first = measurement{"round trip", r.roundTrip}
	}
	if r.load.Processes > 1 {
		drain = fmt.Sprintf("drain by %d processes", r.load.Processes)
	}
	list := []measurement{
		first, {"insert one by one", r.insertOne}, {"insert by 64 callers", r.insertMany}, {"bulk insert", r.bulk},
		{drain, r.drain}, {"latency, same process", r.latencyHere},
	}
	if r.load.Processes > 1 {
		list = append(list, measurement{"latency, other process", r.latencyThere})
	}
	return list
}
