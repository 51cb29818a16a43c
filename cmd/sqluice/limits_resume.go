package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
)

func (a *app) limitsResumeCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "resume KIND KEY",
		Short: "Start the jobs behind a failed one of a key, whose jobs run in order",
		Long: "resume lets the jobs of a kind and a key go on that a failed one holds, because their limit has --ordered and --on-fail hold. The failed job\n" +
			"stays as it is. An empty KEY is the one of the jobs without a key of their own.",
		Args: argCount(2, 2, "KIND", "KEY"),

		ValidArgsFunction: a.completesFirst(kindNames),
		RunE: a.onClient(func(ctx context.Context, c *jobs.Client, args []string) error {
			place := limitPlace{}
			place.Kind, place.Key = args[0], args[1]
			resumed, err := c.ResumeSequence(ctx, place.Kind, place.Key)
			switch {
			case err != nil:
				return nameFlags(err, limitFields)
			case asJSON:
				return a.printJSON(limitAnswer{Changed: resumed})
			case resumed:
				a.print("sequence of %s: resumed", &place)
			default:
				a.print("sequence of %s: no failed job holds it", &place)
			}
			return nil
		}),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}
