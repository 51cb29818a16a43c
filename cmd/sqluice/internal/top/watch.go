package top

import (
	"context"
	"fmt"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Options configures Watch.
type Options struct {
	Name        string        // the database as the first line shows it
	Interval    time.Duration // between two reads
	ReadOnly    bool          // refuse to pause and resume queues
	Terminal    io.Writer
	Environment []string // in the form of os.Environ
}

// Watch shows frames on the terminal until the user quits or ctx ends. It returns an error only if the terminal fails.
func Watch(ctx context.Context, source *Source, o Options) error {
	// The end of the view also ends running reads and changes.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	model := newModel(o.Name, o.Interval, o.ReadOnly, operations{
		read:   func() (Frame, error) { return source.Read(ctx) },
		change: func(queue string, pause bool) (bool, error) { return source.Change(ctx, queue, pause) },
	})
	program := tea.NewProgram(model, tea.WithoutSignalHandler(), tea.WithOutput(o.Terminal), tea.WithEnvironment(o.Environment))
	// Quit instead of tea.WithContext: after the end of its context the program closes the terminal while it still reads from it.
	defer context.AfterFunc(ctx, program.Quit)()
	if _, err := program.Run(); err != nil {
		return fmt.Errorf("show on the terminal: %w", err)
	}
	return nil
}

// Text returns a frame as lines of at most width characters, with the busiest queues and workers if there are many; width 0 means no limit.
func Text(name string, frame Frame, width int) []string {
	v := &view{database: name, frame: frame, paint: unpainted}
	v.bound()
	return v.lines(width, 0)
}
