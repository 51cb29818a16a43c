package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
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
		Args:    takesNothing(),
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
	source := &topSource{database: d}
	defer func() { err = errors.Join(err, source.close()) }()
	if f.asJSON || f.once || !a.draws(a.stdout) {
		return a.topOnce(ctx, source, f.asJSON)
	}
	return a.topLive(ctx, source, f)
}

// topOnce prints one frame, with up to maxRows rows of a table. It does not cut lines if the output is not a terminal.
func (a *app) topOnce(ctx context.Context, source *topSource, asJSON bool) error {
	frame, err := source.read(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(frame)
	}
	width := 0
	if isTerminal(a.stdout) {
		width = terminalWidth(a.stdout)
	}
	view := &topView{database: source.database.String(), frame: frame, paint: unpainted}
	view.bound()
	for _, line := range view.lines(width, 0) {
		a.print("%s", line)
	}
	return nil
}

// topLive shows frames until the user quits or a signal arrives.
func (a *app) topLive(ctx context.Context, source *topSource, f *topFlags) error {
	// Reads and changes that still run end with the view.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	model := newTopModel(source.database.String(), f.interval, f.readOnly, topEffects{
		read:   func() (topFrame, error) { return source.read(ctx) },
		change: func(queue string, pause bool) (bool, error) { return source.change(ctx, queue, pause) },
	})
	program := tea.NewProgram(model, tea.WithoutSignalHandler(), tea.WithOutput(a.stdout), tea.WithEnvironment(a.env))
	// The program is asked to quit: if its context ends, it closes the terminal while it still reads from it.
	defer context.AfterFunc(ctx, program.Quit)()
	if _, err := program.Run(); err != nil {
		return fmt.Errorf("show on the terminal: %w", err)
	}
	return nil
}
