package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/top"
	"github.com/sqluice/sqluice/jobs"
)

const topHelp = `top shows the queues, the workers, the rates of enqueued and ended jobs, and the latest failures. It reads the database
every --interval. If the database is unreachable, top says so and tries again.

  up, down, tab    choose a queue        p, r    pause or resume it, after a question
  /                show only the rows with a text; escape shows all again
  ?                help                  q       quit

RUNNING is how many jobs run, of how many that the live workers can run at the same time. IN counts jobs that were
enqueued or retried. If standard output is not a terminal, or with --once, top prints one frame as text and ends, with up
to 100 queues and workers: those with the most jobs. With --json it prints one JSON document, with all of them.`

// topFlags holds the flags of the top command.
type topFlags struct {
	interval time.Duration
	once     bool
	asJSON   bool
	readOnly bool
}

func (a *app) topCommand() *cobra.Command {
	f := topFlags{interval: time.Second}
	cmd := &cobra.Command{
		Use:     "top",
		Short:   "Watch queues, workers, rates and failures",
		Long:    topHelp,
		GroupID: groupRun,
		Args:    noArgs(),
		RunE:    a.do(func(ctx context.Context, _ []string) error { return a.top(ctx, &f) }),
	}
	flags := cmd.Flags()
	flags.Var(&durationValue{&f.interval, 200 * time.Millisecond, time.Hour}, "interval", "how often to read the database")
	flags.BoolVar(&f.once, "once", false, "print one frame as text and end")
	flags.BoolVar(&f.readOnly, "read-only", false, "refuse to pause and resume queues")
	jsonFlag(flags, &f.asJSON)
	return cmd
}

func (a *app) top(ctx context.Context, f *topFlags) (err error) {
	d, err := a.database()
	if err != nil {
		return err
	}
	source := top.NewSource(func(ctx context.Context) (jobs.Store, error) {
		store, err := openDatabase(ctx, d, nil)
		return store, hintMissing(err)
	})
	defer func() { err = errors.Join(err, source.Close()) }()
	if !f.asJSON && !f.once && a.draws(a.stdout) {
		return top.Watch(ctx, source, top.Options{
			Name: d.String(), Interval: f.interval, ReadOnly: f.readOnly, Terminal: a.stdout, Environment: a.env,
		})
	}
	frame, err := source.Read(ctx)
	if err != nil {
		return err
	}
	if f.asJSON {
		return a.printJSON(frame)
	}
	width := 0 // lines are cut only for a terminal
	if isTerminal(a.stdout) {
		width = terminalWidth(a.stdout)
	}
	for _, line := range top.Text(d.String(), frame, width) {
		a.print("%s", line)
	}
	return nil
}
