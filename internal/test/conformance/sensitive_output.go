package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/sqluice/sqluice/jobs"
)

// A program's output is recorded with the attempt's error, without marked values and without the parts of them that a
// cut left. Middleware does not get it.
func testSensitiveOutput(f *fixture) {
	exit := errors.New("exit status 1")
	long := strings.Repeat("long-", 1000)
	program := func(output string, truncated bool) error {
		return &jobs.OutputError{Err: exit, Output: output, Truncated: truncated}
	}
	ends := []struct {
		name   string
		number string
		err    error
		status jobs.Status
		want   string // of the last error
	}{
		{"a value", hush, program("charge "+hush+"\n", false), jobs.StatusFailed, "exit status 1: charge [redacted]"},
		{"a long value", long, program("charge "+long+"\ndeclined\n", false), jobs.StatusFailed, "exit status 1: charge [redacted]\ndeclined"},
		{"the end of a value", long, program(long[2000:]+" is declined", true), jobs.StatusFailed, "exit status 1: [redacted] is declined"},
		{"the beginning of a value", long, program("charge "+long[:100], false), jobs.StatusFailed, "exit status 1: charge [redacted]"},
		{"the middle of a value", long, program(long[7:100], true), jobs.StatusFailed, "exit status 1: [redacted]"},
		{"nothing", hush, program(" \n", false), jobs.StatusFailed, "exit status 1"},
		{"a wrapped error", hush, fmt.Errorf("charge: %w", program(hush, false)), jobs.StatusFailed, "charge: exit status 1: [redacted]"},
		{"Discard", hush, jobs.Discard(program(hush, false)), jobs.StatusFailed, "exit status 1: [redacted]"},
		{"Cancel", hush, jobs.Cancel(program(hush, false)), jobs.StatusCancelled, "exit status 1: [redacted]"},
	}
	log := &lines{}
	ids := make([]int64, len(ends))
	for i, end := range ends {
		args := aPayment()
		args.Card.Number = end.number
		receipt, err := pay.Enqueue(f.ctx, f.client, args, jobs.MaxAttempts(1))
		f.must(err)
		ids[i] = receipt.ID
	}
	told := &lines{}
	f.drain(jobs.Config{
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Middleware: []jobs.RunMiddleware{func(next jobs.RunFunc) jobs.RunFunc {
			return func(ctx context.Context, job jobs.Job) error {
				err := next(ctx, job)
				text, unknown := job.Withhold(ctx, err.Error())
				f.must(unknown)
				fmt.Fprintln(told, err, text)
				return err
			}
		}},
	}, func(r *jobs.Runner) {
		pay.Handle(r, func(_ context.Context, job jobs.Job, _ payment) error { return ends[job.ID-ids[0]].err })
	})
	seen := bytes.NewBufferString(log.String() + told.String())
	for i, end := range ends {
		job := f.get(ids[i])
		want(f, "status after "+end.name, job.Status, end.status)
		want(f, "error after "+end.name, job.LastError, end.want)
		for _, e := range f.errors(ids[i]) {
			want(f, "message after "+end.name, e.Message, end.want)
		}
	}
	for _, part := range []string{hush, "long-", "declined"} {
		if of := told.String(); strings.Contains(of, part) {
			f.Errorf("middleware is told %s: %s", part, of)
		}
	}
	if strings.Contains(seen.String(), hush) || strings.Contains(seen.String(), "long-") {
		f.Errorf("a marked value is told: %s", seen)
	}
}
