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
)

// Go ignores SIGXFSZ, so that a write beyond the file size limit fails with an error, which the database reports.
func main() {
	ctx, stop := stopOnSignal(context.Background())
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	stop()
	os.Exit(code)
}

// stopOnSignal returns a context that the first SIGINT or SIGTERM ends, so that the command can stop gracefully. The second
// signal ends the process. stop undoes both.
func stopOnSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			cancel(&interruptedError{s})
		case <-ended:
			return
		}
		select {
		case s := <-signals:
			fmt.Fprintf(os.Stderr, "sqluice: %s again: ending at once\n", s)
			os.Exit(exitFailure)
		case <-ended:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(ended)
		cancel(nil)
	}
}

// interruptedError is the cause of a context that a signal ended.
type interruptedError struct{ signal os.Signal }

func (e *interruptedError) Error() string { return "stopped by signal: " + e.signal.String() }
