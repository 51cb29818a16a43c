package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// listFields maps the library's fields to flags.
var listFields = map[string]string{"status": "--status", "limit": "--limit", "cursor": "--after", "user id": "--user-id", "tag filter": "--tag", "text": "--search"}

func (a *app) listCommand() *cobra.Command {
	var f inspect.Filter
	var status string

	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, newest first",
		Long: "list prints a page of jobs, newest first. If there may be more, standard error names the --after of the next\n" +
			"page, which is the last id of this one. With --json it prints an array.",
		GroupID: groupJobs,
		Args:    takesNothing(),
		RunE: a.do(func(ctx context.Context, _ []string) error {
			f.Status = jobs.Status(status)
			return a.withClient(ctx, func(c *jobs.Client) error { return a.list(ctx, c, f, asJSON) })
		}),
	}
	flags := cmd.Flags()
	flags.Var(statusValue(&status, jobs.Statuses()), "status", "only jobs with this status")
	flags.Var(&nameValue{&f.Kind}, "kind", "only jobs of this `KIND`")
	flags.Var(&nameValue{&f.Queue}, "queue", "only jobs of the queue with this `NAME`")
	textFlag(flags, &f.UserID, "user-id", "only jobs of the user with this `ID`")
	textFlag(flags, &f.Tag, "tag", "only jobs with this `TAG`")
	textFlag(flags, &f.Text, "search", "only jobs with this `TEXT` in their kind, payload, last error, request id, unique key or user id, or with this id")
	f.Limit = 100
	flags.Var(&intValue{&f.Limit, 1, inspect.MaxPage}, "limit", "the most jobs to list")
	flags.Var(&cursorValue{&f.After}, "after", "the last id of the previous page")
	jsonFlag(flags, &asJSON)
	return cmd
}

// statusValue returns a flag's value that must be one of some statuses.
func statusValue(value *string, allowed []jobs.Status) *choiceValue {
	choices := make([]string, len(allowed))
	for i, s := range allowed {
		choices[i] = string(s)
	}
	return &choiceValue{value, choices}
}

func (a *app) list(ctx context.Context, c *jobs.Client, f inspect.Filter, asJSON bool) error {
	page, err := inspect.New(c).List(ctx, f)
	if err != nil {
		return nameFlags(err, listFields)
	}
	if asJSON {
		return a.printJSON(page)
	}
	now := inspect.New(c).Now()
	t := newTable(a.out, "ID", "STATUS", "KIND", "QUEUE", "PRIORITY", "ATTEMPT", "WHEN", "ERROR")
	for _, job := range page {
		t.row(strconv.FormatInt(job.ID, 10), string(job.Status), job.Kind, job.Queue, strconv.Itoa(job.Priority),
			attempts(job), when(now, job), shorten(job.LastError, 60))
	}
	if err := t.end(); err != nil {
		return err
	}
	if len(page) == f.Limit {
		a.complain("there may be more: --after %d", page[len(page)-1].ID)
	}
	return nil
}

// attempts returns the counted attempts and their maximum, as "2/25".
func attempts(job jobs.Job) string {
	return fmt.Sprintf("%d/%d", job.Attempt-job.Uncounted, job.MaxAttempts)
}

// when returns the time that matters most for a job's status.
func when(now time.Time, job jobs.Job) string {
	switch job.Status {
	case jobs.StatusScheduled, jobs.StatusPending:
		return "due " + age(now, job.RunAfter)
	case jobs.StatusRunning:
		return "started " + age(now, job.StartedAt)
	default:
		return age(now, job.FinishedAt)
	}
}
