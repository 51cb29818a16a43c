package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	safe "github.com/sqluice/sqluice/internal/printable"
	"github.com/sqluice/sqluice/jobs"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// app is one run of the command line.
type app struct {
	stdin  io.Reader
	out    *bufio.Writer // standard output; flushed when the command has ended
	stdout io.Writer     // below out; it may be a terminal
	stderr io.Writer
	env    []string // in the form of os.Environ

	db    address.Database // the value of --db; zero without the flag
	keys  string           // the value of --keys
	began bool             // the command's own function was called: the command line is valid
}

// run runs one command line, without the program's name, and returns the exit code. It never exits the process, and stops
// gracefully when ctx ends.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	a := &app{stdin: stdin, out: bufio.NewWriter(stdout), stdout: stdout, stderr: stderr, env: env}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(a.out)
	root.SetErr(stderr)
	addCompletion(root)
	cmd, err := root.ExecuteContextC(ctx)
	switch flushErr := a.out.Flush(); {
	case flushErr == nil:
	case err == nil:
		err = fmt.Errorf("the command succeeded, but writing to standard output failed: %w", flushErr)
	default:
		err = errors.Join(err, fmt.Errorf("write to standard output: %w", flushErr))
	}
	if err == nil {
		return exitOK
	}
	if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", cause, err) // the cause may be a signal
	}
	a.report(err)
	// An error before the command's own function is cobra's, and always a fault of the command line.
	if usage := (*usageError)(nil); a.began && !errors.As(err, &usage) {
		return exitFailure
	}
	a.printError("run '%s --help' for usage", cmd.CommandPath())
	return exitUsage
}

// report prints an error; each of joined errors gets a line.
func (a *app) report(err error) {
	if several := joined(err); several != nil {
		for _, one := range several {
			a.report(one)
		}
		return
	}
	a.printError("%s", err.Error())
}

// joined returns the errors that errors.Join joined to err. fmt.Errorf with several %w has parts too, but its own text.
func joined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var texts []string
	for _, one := range several.Unwrap() {
		texts = append(texts, one.Error())
	}
	if err.Error() != strings.Join(texts, "\n") {
		return nil
	}
	return several.Unwrap()
}

// printError prints a line on standard error: progress, warnings and errors go there, the command's answer to standard output.
func (a *app) printError(format string, args ...any) {
	text := strings.TrimRight(safe.Lines(fmt.Sprintf(format, args...)), "\n")
	// An error of standard error itself cannot be reported.
	_, _ = fmt.Fprintf(a.stderr, "sqluice: %s\n", text)
}

// do turns a function that does not need cobra into a command's function.
func (a *app) do(fn func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.began = true
		return fn(jobs.WithActor(cmd.Context(), actor()), args)
	}
}

// getenv returns the last value of a variable, or "".
func (a *app) getenv(name string) string {
	for i := len(a.env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(a.env[i], name+"="); ok {
			return value
		}
	}
	return ""
}
