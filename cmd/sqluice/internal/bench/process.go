package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// Process is one of the other processes of a run: see [Host.Child].
type Process struct {
	Client      *jobs.Client
	Concurrency int       // the number of concurrent handlers in a drain
	In          io.Reader // a line starts the process, and the end of the input ends it
	Print       func(format string, args ...any) error
	Log         *slog.Logger
}

// report is the part of one process in a drain.
type report struct {
	Ran, Again int64 // the number of attempts, and of second and later attempts of a job
	LastEnd    int64 // when its last handler returned, in Unix nanoseconds
	CPU        float64
	PeakRSS    float64
}

// Run does the work of a role, [RoleDrain] or [RoleLatency], until it is done or the input or ctx ends.
func (p *Process) Run(ctx context.Context, role string) error {
	if err := p.Client.CheckSchema(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in := bufio.NewReader(p.In)
	if err := p.Print("ready"); err != nil {
		return err
	}
	if _, err := in.ReadString('\n'); err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	// The end of the input ends the process, also after the parent was killed.
	go func() {
		_, _ = io.Copy(io.Discard, in) // an error is an end too
		stop()
	}()
	if role == RoleLatency {
		return waitForJobs(ctx, p.Client, p.Log, func(d time.Duration) {
			if p.Print("%d", d.Nanoseconds()) != nil {
				stop() // the parent has closed the pipe
			}
		})
	}
	before := cpuTime()
	report, err := drainQueue(ctx, p.Client, p.Concurrency, p.Log)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	report.CPU = rounded((cpuTime() - before).Seconds(), 3)
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	return p.Print("%s", text)
}
