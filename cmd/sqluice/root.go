package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
)

const rootHelp = `sqluice is a job queue in a database: a SQLite file, or PostgreSQL when one machine is not enough.

The database is named by --db or SQLUICE_DB; it is the file jobs.db by default.

  PATH, sqlite:PATH                         a SQLite file
  postgres://USER:PASSWORD@HOST:5432/NAME   a PostgreSQL database

"up" makes a SQLite file, and so do "enqueue", "work" and "schedules put" if there is none. All other commands need an
existing one. Make a PostgreSQL database with the server's own commands; then "up" makes the tables.

A PostgreSQL URL may have the server's parameters, such as sslmode=require and connect_timeout=5, and these:
schema=NAME for tables in another schema than the first of the search_path; pgbouncer=true behind a pooler in transaction
mode; notify=false to send no notifications; poll=500ms for how often to look for jobs without a notification. PGHOST,
PGUSER and similar variables replace missing parts. Passwords are never printed. But all users of the machine can see a
command line, so keep them in SQLUICE_DB, in PGPASSWORD or in ~/.pgpass.

Jobs are encrypted with the first key of the file that --keys or SQLUICE_KEYS names, and decrypted with any of them: a key
a line, its id, a blank and 32 bytes in base64. Programs of "work" get payloads decrypted; other commands show none.

Answers go to standard output; progress, logs and errors to standard error. So does a warning that nothing knows the name
of a kind or a queue, with the most similar one. Commands that read, and many that change something, take --json and then
print one JSON document. Durations are written as 90s, 10m, 1h30m or 7d. Arguments after -- are never flags.

Exit codes: 0 success, 1 failure, 2 the command line is wrong.`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "sqluice COMMAND",
		Short:         "A job queue in SQLite or PostgreSQL",
		Long:          rootHelp,
		Version:       programVersion(),
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
	root.SetCompletionCommandGroupID(groupDatabase)
	root.SetVersionTemplate("sqluice {{.Version}}\n")
	root.PersistentFlags().Var(&databaseValue{&a.db}, "db",
		address.Forms+" (default $"+databaseVariable+" or "+defaultDatabase+")")
	textFlag(root.PersistentFlags(), &a.keys, "keys", "`FILE` of keys to encrypt jobs with (default $"+keysVariable+")")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand(root))
	root.AddGroup(
		&cobra.Group{ID: groupJobs, Title: "Jobs:"},
		&cobra.Group{ID: groupRun, Title: "Workers and queues:"},
		&cobra.Group{ID: groupDatabase, Title: "Database:"},
	)
	root.AddCommand(
		a.guardCommand(),
		a.enqueueCommand(), a.listCommand(), a.showCommand(), a.whyCommand(), a.failedCommand(), a.waitCommand(),
		a.retryCommand(), a.cancelCommand(), a.updateCommand(), a.deleteCommand(), a.forgetCommand(), a.pruneCommand(), a.retentionCommand(), a.recountCommand(), a.auditCommand(), a.sensitiveCommand(),
		a.workCommand(), a.workersCommand(), a.queuesCommand(), a.limitsCommand(), a.schedulesCommand(), a.statsCommand(), a.topCommand(), a.serveCommand(),
		a.upCommand(), a.downCommand(), a.statusCommand(), a.backupCommand(), a.restoreCommand(), a.versionCommand(),
		a.copyCommand(), a.reopenCommand(), a.rekeyCommand(), a.benchCommand(), a.benchProcessCommand(),
	)
	a.completeFlags(root)
	return root
}

const (
	groupJobs     = "jobs"
	groupRun      = "run"
	groupDatabase = "database"
)

// addCompletion adds cobra's completion command, which writes to the root's output. An argument that names no shell is an error, for which
// cobra prints the help.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		}
	}
}

// helpCommand is cobra's help command, except that an unknown command is an error.
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
	text := fmt.Sprintf("unknown command %q", shown(name))
	if similar := suggestions(cmd, name); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usagef("%s", text)
}

// removing lists the commands that remove something or show hidden values: no error suggests them.
var removing = []string{"delete", "prune", "down", "restore", "unmark", "remove", "forget"}

// suggestions returns the commands with a name below a group, or else the commands with a similar name.
func suggestions(cmd *cobra.Command, name string) (similar []string) {
	var exact []string
	for _, group := range cmd.Commands() {
		for _, sub := range group.Commands() {
			if sub.Name() == name {
				exact = append(exact, group.Name()+" "+name)
			}
		}
		group.SuggestionsMinimumDistance = 2
		for _, sub := range group.SuggestionsFor(name) {
			similar = append(similar, group.Name()+" "+sub)
		}
	}
	if exact != nil {
		similar = exact
	} else {
		cmd.SuggestionsMinimumDistance = 2
		similar = append(cmd.SuggestionsFor(name), similar...)
	}
	return slices.DeleteFunc(similar, func(s string) bool { return slices.Contains(removing, s[strings.LastIndexByte(s, ' ')+1:]) })
}

// takesCommand returns the check of arguments for a command that lists something and has subcommands. It allows the word list.
func takesCommand() cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && !slices.Equal(args, []string{"list"}) {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
}

// flagError rewords pflag's errors: they name the flag, the value and the allowed values.
func flagError(_ *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		if value.GetFlag().Value.Type() == "bool" {
			return usagef("--%s %q must be true or false", value.GetFlag().Name, shown(value.GetValue()))
		}
		return usagef("--%s %q must %w", value.GetFlag().Name, shown(value.GetValue()), value.Unwrap())
	}
	what, text, _ := strings.Cut(err.Error(), ": ")
	text = what + ": " + shown(text)
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && strings.IndexAny(unknown.GetSpecifiedShortnames(), "0123456789") == 0 {
		return usagef("an argument that begins with - is not a flag, such as a negative number as a payload: give it after --")
	}
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedShortnames()) > 1 {
		text += "; a flag of more than one letter begins with --"
	}
	return usagef("%s", text)
}
