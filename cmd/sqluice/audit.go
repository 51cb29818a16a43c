package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// auditFields maps the library's fields to flags.
var auditFields = map[string]string{"actor": "--actor", "action": "--action", "job": "--job", "limit": "--limit", "cursor": "--after"}

func (a *app) auditCommand() *cobra.Command {
	var f inspect.AuditFilter
	var action, job string
	var within time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List who changed what, newest first",
		Long: "audit lists the changes that people made through the HTTP API, this command or a service. Each entry is one\n" +
			"transaction. ACTOR is the user's name from the service; token or local for other users of the API; and cli: with the\n" +
			"user's name for this command. If there may be more, standard error names the --after of the next page. With --json it\n" +
			"prints an array, with the ids of all jobs that were changed together and the filter that selected them.",
		GroupID: groupJobs,
		Args:    noArgs(),
	}
	flags := cmd.Flags()
	textFlag(flags, &f.Actor, "actor", "only changes by this `ACTOR`")
	flags.Var(actionValue(&action), "action", "only changes by this `ACTION`, such as delete")
	textFlag(flags, &job, "job", "only changes of the job with this `ID`, alone or with others")
	flags.Var(&durationValue{value: &within}, "since", "only changes within this time")
	f.Limit = 100
	flags.Var(&intValue{&f.Limit, 1, inspect.MaxPage}, "limit", "the most entries to list")
	flags.Var(&cursorValue{&f.After}, "after", "the last id of the previous page")
	jsonFlag(flags, &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		f.Action = inspect.Action(action)
		if job != "" {
			id, err := parseID(job)
			if err != nil {
				return err
			}
			f.Job = id
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			if flags.Changed("since") {
				f.Since = inspect.New(c).Now().Add(-within)
			}
			return a.audit(ctx, c, f, asJSON)
		})
	})
	return cmd
}

// actionValue returns a flag's value that must be an action.
func actionValue(value *string) *choiceValue {
	choices := make([]string, len(inspect.Actions()))
	for i, action := range inspect.Actions() {
		choices[i] = string(action)
	}
	return &choiceValue{value, choices}
}

func (a *app) audit(ctx context.Context, c *jobs.Client, f inspect.AuditFilter, asJSON bool) error {
	list, err := inspect.New(c).Audit(ctx, f)
	if err != nil {
		return nameFlags(err, auditFields)
	}
	if asJSON {
		return a.printJSON(list)
	}
	t := newTable(a.out, "ID", "WHEN", "ACTOR", "ACTION", "OF", "DETAIL")
	for _, e := range list {
		t.row(strconv.FormatInt(e.ID, 10), e.At.Local().Format(time.DateTime), e.Actor, string(e.Action), changed(e), human.Shorten(string(e.Detail), 100))
	}
	if err := t.close(); err != nil {
		return err
	}
	if len(list) == f.Limit {
		a.printError("there may be more: --after %d", list[len(list)-1].ID)
	}
	return nil
}

// changed returns the subject of an audit entry.
func changed(e inspect.AuditEntry) string {
	var parts []string
	switch {
	case e.JobID != 0:
		parts = append(parts, fmt.Sprintf("job %d", e.JobID))
	case e.Jobs > 0:
		parts = append(parts, fmt.Sprintf("%d jobs", e.Jobs))
	}
	if e.Kind != "" {
		parts = append(parts, "kind "+e.Kind)
	}
	if e.Queue != "" {
		parts = append(parts, "queue "+e.Queue)
	}
	return strings.Join(parts, ", ")
}
