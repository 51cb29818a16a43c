package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

const (
	completeWithin = 2 * time.Second // a shell waits for the answer
	completeMost   = 1000
)

// completion returns the completions for the word before the cursor of a shell.
type completion = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// names is a sort of names that the database knows.
type names func(ctx context.Context, c *jobs.Client) ([]string, error)

// completes returns a completion of the first argument of a command, or the value of a flag, by names of the database. An error goes to
// cobra's debug file only: on the terminal it would spoil the line that is typed.
func (a *app) completes(list names) completion {
	return func(cmd *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		err := a.withClient(ctx, func(c *jobs.Client) (err error) {
			found, err = list(ctx, c)
			return err
		})
		if err != nil {
			cobra.CompErrorln(err.Error())
			return nil, cobra.ShellCompDirectiveError
		}
		found = slices.DeleteFunc(found, func(name string) bool { return !strings.HasPrefix(name, typed) || printable(name) != name })
		return found[:min(len(found), completeMost)], cobra.ShellCompDirectiveNoFileComp
	}
}

// completesFirst is completes for a command whose other arguments are no names.
func (a *app) completesFirst(list names) completion {
	first := a.completes(list)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return first(cmd, args, typed)
	}
}

// completeFlags adds completions for the values of --queue and --kind to a command and its subcommands.
func (a *app) completeFlags(cmd *cobra.Command) {
	for flag, list := range map[string]names{"queue": queueNames, "kind": kindNames} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(flag, a.completes(list)); err != nil {
			panic(err) // the command has registered one itself
		}
	}
	for _, sub := range cmd.Commands() {
		a.completeFlags(sub)
	}
}

func queueNames(ctx context.Context, c *jobs.Client) ([]string, error) {
	queues, err := inspect.New(c).Queues(ctx)
	list := make([]string, len(queues))
	for i, q := range queues {
		list[i] = q.Name
	}
	return list, err
}

func kindNames(ctx context.Context, c *jobs.Client) ([]string, error) {
	counts, err := inspect.New(c).Counts(ctx)
	kinds := map[string]bool{}
	for _, count := range counts {
		kinds[count.Kind] = true
	}
	return slices.Sorted(maps.Keys(kinds)), err
}

func scheduleNames(ctx context.Context, c *jobs.Client) (list []string, err error) {
	err = eachSchedule(ctx, c, func(s jobs.ScheduleInfo) error {
		list = append(list, s.Name)
		return nil
	})
	return list, err
}
