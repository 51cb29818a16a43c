package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) whyCommand() *cobra.Command {
	var asJSON bool
	var name string
	cmd := &cobra.Command{
		Use:   "why ID | --schedule NAME",
		Short: "Say why a job does not run, or why a schedule enqueues none",
		Long: "why prints the reasons why a job does not run, or why a schedule enqueues no job at this moment, one a line. The first one must be\n" +
			"fixed first.",
		GroupID: groupJobs,
		Args:    argCount(0, 1, "ID"),
	}
	textFlag(cmd.Flags(), &name, "schedule", "the `name` of a schedule")
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		if (len(args) == 1) == (name != "") {
			return usagef("why takes the ID of a job, or --schedule")
		}
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			diagnosis, findings, err := whyOf(ctx, inspect.New(c), ids, name)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(diagnosis)
			}
			for _, finding := range findings {
				a.print("%s: %s", finding.Reason, printable(finding.Text))
			}
			return nil
		})
	})
	return cmd
}

// whyOf asks about a job, or without one about a schedule.
func whyOf(ctx context.Context, in *inspect.Inspector, ids []int64, name string) (diagnosis any, findings []inspect.Finding, err error) {
	if len(ids) == 0 {
		of, err := in.WhySchedule(ctx, name)
		return of, of.Findings, err
	}
	of, err := in.Why(ctx, ids[0])
	return of, of.Findings, err
}
