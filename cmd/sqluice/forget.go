package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) forgetCommand() *cobra.Command {
	var user string
	var asJSON bool
	wait := 30 * time.Second
	cmd := &cobra.Command{
		Use:   "forget --user ID",
		Short: "Erase what the jobs of a user carry",
		Long: "forget cancels the live jobs of a user, deletes the schedules whose jobs are the user's, and then erases payloads, metadata,\n" +
			"tags, progress, results and errors of the user's jobs. It waits for those that run. Kinds, times, the user id, unique keys\n" +
			"and request ids stay. The audit log records it. It exits with 1 if jobs of the user still run.\n" +
			"It cannot reach backups, replicas, logs and what handlers have written elsewhere, nor what the database keeps of old rows\n" +
			"in its files: docs/security.md has the statements that remove that.",
		GroupID: groupJobs,
		Args:    noArgs(),
	}
	flags := cmd.Flags()
	textFlag(flags, &user, "user", "the user's `ID` (required)")
	flags.Var(&durationValue{value: &wait}, "wait", "how long to wait for jobs that run")
	jsonFlag(flags, &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		if user == "" {
			return usagef("--user is missing")
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			done, err := forgetAndRepeat(ctx, inspect.New(c), user, wait)
			if err != nil && done.Cancelled+done.Erased+done.Live+len(done.Schedules) == 0 {
				return nameFlags(err, map[string]string{"user id": "--user"})
			}
			if asJSON {
				err = errors.Join(err, a.printJSON(done))
			} else {
				a.print("cancelled: %d jobs", done.Cancelled)
				for _, name := range done.Schedules {
					a.print("schedule %s: deleted", printable(name))
				}
				a.print("erased: %d jobs", done.Erased)
				a.print("not reached: backups, replicas, logs, and old rows in the database's files (see forget --help)")
			}
			if err == nil && done.Live > 0 {
				err = fmt.Errorf("%d jobs of the user have not ended: run forget again when they have", done.Live)
			}
			return err
		})
	})
	return cmd
}

// forgetAndRepeat forgets a user, and repeats that while jobs of the user run, for at most wait.
func forgetAndRepeat(ctx context.Context, in *inspect.Inspector, user string, wait time.Duration) (sum inspect.Forgotten, err error) {
	const pause = 500 * time.Millisecond
	sum.Schedules = []string{}
	for until := time.Now().Add(wait); ; {
		done, err := in.Forget(ctx, user)
		sum.Cancelled += done.Cancelled
		sum.Erased += done.Erased
		sum.Schedules = append(sum.Schedules, done.Schedules...)
		sum.Live = done.Live
		if err != nil && !errors.As(err, new(*jobs.RefusedError)) || sum.Live == 0 || time.Now().After(until) {
			return sum, err
		}
		select {
		case <-ctx.Done():
			return sum, ctx.Err()
		case <-time.After(pause):
		}
	}
}
