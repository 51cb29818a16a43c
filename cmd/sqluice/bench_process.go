package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/bench"
	"github.com/sqluice/sqluice/jobs"
)

// benchProcessCommand returns the hidden command that benchChild starts.
func (a *app) benchProcessCommand() *cobra.Command {
	concurrency := 0
	cmd := &cobra.Command{
		Use:    "bench-process ROLE",
		Short:  "A process that bench has started",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] != bench.RoleDrain && args[0] != bench.RoleLatency {
				return usagef("ROLE %q must be %s or %s", shown(args[0]), bench.RoleDrain, bench.RoleLatency)
			}
			return argCount(1, 1, "ROLE")(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.Var(&intValue{&concurrency, 1, maxConcurrency}, "concurrency", "jobs at once")
	durability := durabilityFlag(flags)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		d, err := a.database()
		if err != nil {
			return err
		}
		opts, err := durability(d)
		if err != nil {
			return err
		}
		store, err := openDatabase(ctx, d, nil, opts...)
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop() // ends the reading of the input
		process := bench.Process{
			Client: jobs.New(store), Concurrency: concurrency, In: newInterruptible(ctx, a.stdin), Print: a.printAndFlush,
			Log: newLogger(a.progress(), "text", "warn"),
		}
		return errors.Join(process.Run(ctx, args[0]), closeStore(store))
	})
	return cmd
}
