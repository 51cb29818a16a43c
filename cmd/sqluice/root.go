package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `sqluice is a job queue in a database file.

The database is the file named by --db or SQLUICE_DB, as PATH or sqlite:PATH; jobs.db by default. "up" makes it, and
so do "enqueue" and "work" when there is no file yet. Every other command needs one.

Answers go to standard output; progress, logs and errors to standard error. Commands that read take --json and then
print one JSON document. Durations are written as 90s, 10m, 1h30m or 7d. What follows -- is never read as a flag.

Exit codes: 0 success, 1 failure, 2 the command line is wrong.`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "sqluice COMMAND",
		Short:         "A job queue in a database file",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("a command is missing")
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.PersistentFlags().Var(&databaseValue{&a.db}, "db", "database file (default $"+databaseVariable+" or "+defaultDatabase+")")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand(root))
	root.AddGroup(
		&cobra.Group{ID: groupJobs, Title: "Jobs:"},
		&cobra.Group{ID: groupRun, Title: "Workers and queues:"},
		&cobra.Group{ID: groupDatabase, Title: "Database:"},
	)
	root.AddCommand(
		a.enqueueCommand(), a.listCommand(), a.showCommand(), a.failedCommand(), a.waitCommand(),
		a.retryCommand(), a.cancelCommand(), a.deleteCommand(), a.pruneCommand(),
		a.workCommand(), a.workersCommand(), a.queuesCommand(), a.statsCommand(),
		a.upCommand(), a.downCommand(), a.statusCommand(), a.backupCommand(), a.versionCommand(),
	)
	return root
}

const (
	groupJobs     = "jobs"
	groupRun      = "run"
	groupDatabase = "database"
)

// helpCommand is cobra's but for an unknown command, which is an error here.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q", name)
	if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usagef("%s", text)
}

// flagError words pflag's errors like the rest: the flag, the value and what is allowed.
func flagError(_ *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		return usagef("--%s %q must %w", value.GetFlag().Name, value.GetValue(), value.Unwrap())
	}
	return usagef("%w", err)
}
