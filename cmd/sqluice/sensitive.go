package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) sensitiveCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sensitive",
		Short: "List sensitive fields of jobs; mark and unmark them",
		Long: "sensitive lists the fields that are marked as sensitive, by kind. Only handlers get them. card.number is a field of\n" +
			"the payload, items.*.token a field of each element of a list, and * the whole payload. result:token is a field of the\n" +
			"result; metadata: and progress: work alike. Programs in Go mark the fields that their kinds declare. Unmarking a field\n" +
			"lasts until such a program starts again.",
		GroupID: groupJobs,
		Args:    takesCommand(),
		RunE:    a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error { return a.sensitive(ctx, c, asJSON) }),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.AddCommand(
		a.markCommand("mark", "Show fields of a kind's jobs only to handlers", func(ctx context.Context, c *jobs.Client, kind string, paths []string) error {
			if err := inspect.New(c).MarkSensitive(ctx, kind, paths...); err != nil {
				return err
			}
			a.print("kind %s: marked", printable(kind))
			return nil
		}),
		a.markCommand("unmark", "Show fields of a kind's jobs again", func(ctx context.Context, c *jobs.Client, kind string, paths []string) error {
			n, err := inspect.New(c).UnmarkSensitive(ctx, kind, paths...)
			if err != nil {
				return err
			}
			a.print("kind %s: %d unmarked", printable(kind), n)
			return nil
		}),
	)
	return cmd
}

func (a *app) sensitive(ctx context.Context, c *jobs.Client, asJSON bool) error {
	fields, err := inspect.New(c).SensitiveFields(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(fields)
	}
	t := newTable(a.out, "KIND", "FIELD")
	for _, kind := range slices.Sorted(maps.Keys(fields)) {
		for _, path := range fields[kind] {
			t.row(kind, path)
		}
	}
	return t.close()
}

func (a *app) markCommand(name, short string, set func(ctx context.Context, c *jobs.Client, kind string, paths []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   name + " KIND FIELD...",
		Short: short,
		Args:  argCount(2, 1+jobs.MaxSensitive, "KIND", "FIELD"),

		ValidArgsFunction: a.completesFirst(kindNames),
		RunE: a.onClient(func(ctx context.Context, c *jobs.Client, args []string) error {
			if _, err := a.unknownNames(ctx, c, args[0], ""); err != nil {
				return err
			}
			return nameFlags(set(ctx, c, args[0], args[1:]), map[string]string{"kind": "KIND", "sensitive field": "FIELD"})
		}),
	}
}
