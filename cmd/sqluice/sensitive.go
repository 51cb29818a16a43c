package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
)

func (a *app) sensitiveCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sensitive",
		Short: "List what of jobs is not shown; mark and unmark it",
		Long: "sensitive lists the fields that are marked as sensitive, by kind: nobody but a handler gets them. card.number is a\n" +
			"field of the payload, items.*.token one of each element of a list, * the whole payload; result:token is a field of\n" +
			"the result, and metadata: and progress: are likewise. Programs mark what their kinds say; marks stay until they are\n" +
			"taken away here, and come back when such a program starts again.",
		GroupID: groupJobs,
		Args:    takesNothing(),
		RunE: a.do(func(ctx context.Context, _ []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error { return a.sensitive(ctx, c, asJSON) })
		}),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.AddCommand(
		a.markCommand("mark", "Show fields of a kind's jobs to nobody but handlers", func(ctx context.Context, c *jobs.Client, kind string, paths []string) error {
			if err := c.MarkSensitive(ctx, kind, paths...); err != nil {
				return err
			}
			a.print("kind %s: marked", printable(kind, oneLine))
			return nil
		}),
		a.markCommand("unmark", "Show fields of a kind's jobs again", func(ctx context.Context, c *jobs.Client, kind string, paths []string) error {
			n, err := c.UnmarkSensitive(ctx, kind, paths...)
			if err != nil {
				return err
			}
			a.print("kind %s: %d unmarked", printable(kind, oneLine), n)
			return nil
		}),
	)
	return cmd
}

func (a *app) sensitive(ctx context.Context, c *jobs.Client, asJSON bool) error {
	fields, err := c.SensitiveFields(ctx)
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
	return t.end()
}

func (a *app) markCommand(name, short string, set func(ctx context.Context, c *jobs.Client, kind string, paths []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   name + " KIND FIELD...",
		Short: short,
		Args:  takes(2, 1+jobs.MaxSensitive, "KIND", "FIELD"),
		RunE: a.do(func(ctx context.Context, args []string) error {
			return a.withClient(ctx, func(c *jobs.Client) error {
				return nameFlags(set(ctx, c, args[0], args[1:]), map[string]string{"kind": "KIND", "sensitive field": "FIELD"})
			})
		}),
	}
}
