package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
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
			"page, which is the last id of this one. With --json it prints an array.\n\n" +
			"A search reads the jobs that it must: those of a user, a status, or a status in a queue are found by an index, other\n" +
			"filters look at each job. Every few seconds standard error says down to which id a long search has looked. When it is\n" +
			"interrupted, list prints the jobs that it has found, and the --after with which to go on.",
		GroupID: groupJobs,
		Args:    noArgs(),
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
	in := inspect.New(c)
	progress := a.progress()
	found, after, err := search(ctx, in, f, progress.report)
	progress.clear()
	if err != nil && (ctx.Err() == nil || after == 0) {
		return nameFlags(err, listFields)
	}
	if err := a.printList(in.Now(), found, asJSON); err != nil {
		return err
	}
	if err != nil {
		a.printError("%s; to go on: --after %d", searchPosition(after, len(found)), after)
		return err
	}
	if len(found) == 0 {
		if _, err := a.unknownNames(ctx, c, f.Kind, f.Queue); err != nil {
			return err
		}
	}
	if len(found) == f.Limit {
		a.printError("there may be more: --after %d", found[len(found)-1].ID)
	}
	return nil
}

// search returns the page of jobs that the filter selects, and calls note with its position. With an error it also returns the jobs that it
// has found, and the cursor to continue with.
func search(
	ctx context.Context, in *inspect.Inspector, f inspect.Filter, note func(line func() string),
) (found []jobs.Job, after int64, err error) {
	found = []jobs.Job{}
	for {
		page, err := in.ListPage(ctx, f)
		if err != nil {
			return found, f.After, err
		}
		found = append(found, page.Jobs...)
		f.After = page.Next
		f.Limit -= len(page.Jobs)
		if page.Next == 0 || f.Limit == 0 {
			return found, 0, nil
		}
		note(func() string { return searchPosition(page.Next, len(found)) })
	}
}

// searchPosition returns the position of a search as text.
func searchPosition(after int64, found int) string {
	return fmt.Sprintf("looked at the jobs down to %d: %d found", after, found)
}

func (a *app) printList(now time.Time, list []jobs.Job, asJSON bool) error {
	if asJSON {
		return a.printJSON(list)
	}
	t := newTable(a.out, "ID", "STATUS", "KIND", "QUEUE", "PRIORITY", "ATTEMPT", "WHEN", "ERROR")
	for _, job := range list {
		t.row(strconv.FormatInt(job.ID, 10), string(job.Status), job.Kind, job.Queue, strconv.Itoa(job.Priority),
			human.Attempts(job), mainTime(now, job), human.Shorten(job.LastError, 60))
	}
	return t.close()
}

// mainTime returns the most important time of a job, by its status.
func mainTime(now time.Time, job jobs.Job) string {
	switch job.Status {
	case jobs.StatusScheduled, jobs.StatusWaiting, jobs.StatusPending:
		return "due " + human.Age(now, job.RunAfter)
	case jobs.StatusRunning:
		return "started " + human.Age(now, job.StartedAt)
	default:
		return human.Age(now, job.FinishedAt)
	}
}
