package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) whyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "why ID",
		Short:   "Say why a job does not run",
		Long:    "why prints the reasons why a job does not run, one a line. The first one must be fixed first.",
		GroupID: groupJobs,
		Args:    takes(1, 1, "ID"),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			diagnosis, err := inspect.New(c).Why(ctx, ids[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(diagnosis)
			}
			for _, finding := range diagnosis.Findings {
				a.print("%s: %s", finding.Reason, printable(finding.Text, oneLine))
			}
			return nil
		})
	})
	return cmd
}
