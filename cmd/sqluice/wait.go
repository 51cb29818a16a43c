package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

func (a *app) waitCommand() *cobra.Command {
	var timeout time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait until a job has ended, and print its result",
		Long: "wait prints the job's result, or its status if it has none. It exits with 0 if the job is done, and with 1 if it\n" +
			"failed, was cancelled or deleted, or has not ended in time. With --json it prints the job, whatever its status.",
		GroupID: groupJobs,
		Args:    argCount(1, 1, "ID"),
	}
	flags := cmd.Flags()
	flags.Var(&durationValue{value: &timeout, least: time.Millisecond}, "timeout", "wait at most this long (default: for ever)")
	jsonFlag(flags, &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		id, err := parseID(args[0])
		if err != nil {
			return err
		}
		return a.withClient(ctx, func(c *jobs.Client) error { return a.wait(ctx, c, id, timeout, asJSON) })
	})
	return cmd
}

func (a *app) wait(ctx context.Context, c *jobs.Client, id int64, timeout time.Duration, asJSON bool) error {
	waiting := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	job, err := c.Wait(waiting, id)
	// The error of a server that cannot be reached may be a timeout too.
	if timeout > 0 && errors.Is(err, context.DeadlineExceeded) && waiting.Err() != nil && ctx.Err() == nil {
		return notEnded(ctx, c, id, timeout)
	}
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		err = a.printJSON(job)
	case job.Result != nil:
		err = a.printJSON(job.Result)
	default:
		a.print("%s", job.Status)
	}
	switch {
	case err != nil || job.Status == jobs.StatusDone:
		return err
	case job.LastError != "":
		return fmt.Errorf("job %d %s: %s", id, verb(job.Status), job.LastError)
	default:
		return fmt.Errorf("job %d %s", id, verb(job.Status))
	}
}

// notEnded returns the error of a job that has not ended in time, with its status if that can be read within a second.
func notEnded(ctx context.Context, c *jobs.Client, id int64, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	job, err := c.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("job %d has not ended after %s; its status cannot be read: %w", id, timeout, err)
	}
	return fmt.Errorf("job %d has not ended after %s: it is %s", id, timeout, job.Status)
}

// verb returns "failed" or "was cancelled".
func verb(s jobs.Status) string {
	if s == jobs.StatusCancelled {
		return "was cancelled"
	}
	return string(s)
}
