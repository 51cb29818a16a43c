package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// retentionFields maps the library's fields to flags.
var retentionFields = map[string]string{"queue": "--queue", "kind": "--kind", "status": "--status", "keep": "KEEP"}

func (a *app) retentionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "retention",
		Short: "List how long ended jobs of kinds and queues are kept; set and remove such rules",
		Long: "retention lists the rules for how long ended jobs are kept. All workers obey them. Of several rules for a job, one for\n" +
			"its kind and queue counts before one for its kind, that before one for its queue, and that before one for all jobs. Of two\n" +
			"for the same jobs one that was set counts before one that a program brings along. Where no rule fits, each worker goes by\n" +
			"its own configuration: done and cancelled jobs are kept for a day, failed ones for ever.",
		GroupID: groupJobs,
		Args:    takesCommand(),
		RunE:    a.onClient(func(ctx context.Context, c *jobs.Client, _ []string) error { return a.retention(ctx, c, asJSON) }),
	}
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.AddCommand(a.retentionSetCommand(), a.retentionRemoveCommand())
	return cmd
}

func (a *app) retention(ctx context.Context, c *jobs.Client, asJSON bool) error {
	rules, err := inspect.New(c).Retentions(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(rules)
	}
	t := newTable(a.out, "STATUS", "KIND", "QUEUE", "KEEP", "SET BY")
	for _, r := range rules {
		by := r.By
		switch {
		case r.Code && r.Hidden:
			by = "a program, and does not count"
		case r.Code:
			by = "a program"
		}
		t.row(string(r.Status), cmp.Or(r.Kind, "(all)"), cmp.Or(r.Queue, "(all)"), prune.KeepText(r.Keep), by)
	}
	return t.close()
}

// keepOf parses a retention: a duration, or forever.
func keepOf(text string) (time.Duration, error) {
	if strings.EqualFold(text, "forever") {
		return jobs.Forever, nil
	}
	d, err := parseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("be positive")
	}
	if err != nil {
		return 0, usagef("KEEP %q must %v, or forever", shown(text), err)
	}
	return d, nil
}

// ruleFlags adds the flags that choose the jobs of a rule.
func ruleFlags(flags *pflag.FlagSet, rule *inspect.RetentionRule) {
	rule.Status = jobs.StatusDone
	flags.Var(statusValue((*string)(&rule.Status), finalStatuses()), "status", "jobs that ended with this status")
	flags.Var(&nameValue{&rule.Kind}, "kind", "only jobs of this `KIND`")
	flags.Var(&nameValue{&rule.Queue}, "queue", "only jobs of the queue with this `NAME`")
}

func (a *app) retentionSetCommand() *cobra.Command {
	var rule inspect.RetentionRule
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "set KEEP",
		Short: "Set how long ended jobs are kept: a duration, such as 30d, or forever",
		Args:  argCount(1, 1, "KEEP"),
		RunE: a.do(func(ctx context.Context, args []string) (err error) {
			if rule.Keep, err = keepOf(args[0]); err != nil {
				return err
			}
			return a.changeRetention(ctx, rule, asJSON, "set", "no change", (*inspect.Inspector).SetRetention)
		}),
	}
	ruleFlags(cmd.Flags(), &rule)
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func (a *app) retentionRemoveCommand() *cobra.Command {
	var rule inspect.RetentionRule
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Remove the rule for these jobs; what a program says of its kind comes back when it starts",
		Args:  noArgs(),
		RunE: a.do(func(ctx context.Context, _ []string) error {
			return a.changeRetention(ctx, rule, asJSON, "removed", "there is none", (*inspect.Inspector).RemoveRetention)
		}),
	}
	ruleFlags(cmd.Flags(), &rule)
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// changeRetention sets or removes a rule. Repeating it is not an error.
func (a *app) changeRetention(
	ctx context.Context, rule inspect.RetentionRule, asJSON bool, done, same string,
	change func(*inspect.Inspector, context.Context, inspect.RetentionRule) (bool, error),
) error {
	return a.withClient(ctx, func(c *jobs.Client) error {
		if _, err := a.unknownNames(ctx, c, rule.Kind, rule.Queue); err != nil {
			return err
		}
		changed, err := change(inspect.New(c), ctx, rule)
		if err != nil {
			return nameFlags(err, retentionFields)
		}
		if asJSON {
			return a.printJSON(struct {
				Changed bool `json:"changed"` // the name in the API's answer
			}{changed})
		}
		if !changed {
			done = same
		}
		a.print("rule for %s: %s", printable(rule.String()), done)
		return nil
	})
}
