// Command sqluice works with a job queue in a SQLite file or a PostgreSQL database. It enqueues and inspects jobs, runs programs
// as their handlers, serves the dashboard and the API, and migrates the schema.
//
// It exits with 0 after success, 1 after a failure and 2 if the command line is wrong. `sqluice help` describes its commands.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Go ignores SIGXFSZ, so that a write beyond the file size limit fails with an error, which the database reports.
func main() {
	ctx, stop := stopOnSignal(context.Background())
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	stop()
	os.Exit(code)
}

// stopOnSignal returns a context that the first SIGINT or SIGTERM ends, so that the command can stop gracefully. A later SIGINT ends
// the process: see [stopper]. stop undoes both.
func stopOnSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		var s stopper
		for {
			select {
			case got := <-signals:
				switch s.on(got, time.Now()) {
				case stopGently:
					cancel(&interruptedError{got})
				case sayStopping:
					fmt.Fprintf(os.Stderr, "sqluice: %s: stopping already; interrupt (Ctrl-C) again to end at once\n", got)
				case endNow:
					fmt.Fprintf(os.Stderr, "sqluice: %s again: ending at once\n", got)
					os.Exit(exitFailure)
				}
			case <-ended:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(ended)
		cancel(nil)
	}
}

// sameStop is the time within which a second signal belongs to the same stop, which often arrives twice: from a terminal and from npm,
// or from timeout, which sends its signal to the process and then to its group.
const sameStop = time.Second

// stopper maps signals to actions. Only a SIGINT more than sameStop after the first signal, from an impatient user, ends the process at once:
// a service manager that repeats SIGTERM sends SIGKILL in the end.
type stopper struct{ since time.Time }

type stopAction int

const (
	stopGently stopAction = iota
	ignoreSignal
	sayStopping
	endNow
)

func (s *stopper) on(got os.Signal, now time.Time) stopAction {
	switch {
	case s.since.IsZero():
		s.since = now
		return stopGently
	case now.Sub(s.since) < sameStop:
		return ignoreSignal
	case got == os.Interrupt:
		return endNow
	default:
		return sayStopping
	}
}

// interruptedError is the cause of a context that a signal ended.
type interruptedError struct{ signal os.Signal }

func (e *interruptedError) Error() string { return "stopped by signal: " + e.signal.String() }
