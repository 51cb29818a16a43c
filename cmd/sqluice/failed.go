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

func (a *app) failedCommand() *cobra.Command {
	var kind string
	var within time.Duration
	var all, texts, reveal, asJSON bool
	cmd := &cobra.Command{
		Use:   "failed",
		Short: "Report the failed jobs, grouped by kind, cause and error",
		Long: fmt.Sprintf("failed groups the failed jobs by kind, cause and error, the most frequent first, with the first and last time and\n"+
			"an example's id for `sqluice show`. Errors that differ only by numbers, ids, hexadecimal digits or quoted words are one\n"+
			"group, with # and \"…\" in their place; --texts lists the errors of each group. It looks at the latest %d jobs. With\n"+
			"--all it lists every failed job instead, the latest first. With --keys, --reveal decrypts the errors.", inspect.MostReported),
		GroupID: groupJobs,
		Args:    noArgs(),
	}
	flags := cmd.Flags()
	flags.Var(&nameValue{&kind}, "kind", "only jobs of this `KIND`")
	flags.Var(&durationValue{value: &within}, "since", "only jobs that failed within this time")
	flags.BoolVar(&all, "all", false, "list each job")
	flags.BoolVar(&texts, "texts", false, "list the errors of each group")
	revealFlag(flags, &reveal)
	jsonFlag(flags, &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		if err := a.checkReveal(reveal); err != nil {
			return err
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			f := inspect.FailedFilter{Kind: kind, Limit: inspect.MaxPage}
			if flags.Changed("since") {
				f.Since = inspect.New(c).Now().Add(-within)
			}
			if reveal {
				var err error
				if c, err = revealFailed(ctx, c, f); err != nil {
					return err
				}
			}
			if all {
				return a.failedJobs(ctx, c, f, reveal, asJSON)
			}
			return a.failedReport(ctx, c, f, failedOutput{texts, reveal, asJSON})
		})
	})
	return cmd
}

// failedOutput configures the output of the report of failed jobs.
type failedOutput struct {
	texts  bool // print the errors of each group
	reveal bool // the client decrypts errors
	asJSON bool
}

func (a *app) failedReport(ctx context.Context, c *jobs.Client, f inspect.FailedFilter, o failedOutput) error {
	report, err := inspect.New(c).FailedReport(ctx, f)
	if err != nil {
		return err
	}
	if len(report.Groups) == 0 {
		if _, err := a.unknownNames(ctx, c, f.Kind, ""); err != nil {
			return err
		}
	}
	groups, hidden := report.Groups, 0
	for _, g := range groups {
		for _, text := range g.Texts {
			if o.reveal && hiddenError(text.Error) {
				hidden++
			}
		}
	}
	a.warnOfHidden(hidden)
	if report.Older {
		a.printError("only the %d latest failed jobs are reported: narrow it with --kind, or list all with --all", report.Jobs)
	}
	if len(groups) == f.Limit {
		a.printError("only the %d most frequent groups of errors are reported", f.Limit)
	}
	if o.asJSON {
		return a.printJSON(groups)
	}
	if len(groups) == 0 {
		a.print("no failed jobs")
		return nil
	}
	return a.failedGroups(inspect.New(c).Now(), groups, o.texts)
}

// failedGroups prints groups, and with texts the errors of each.
func (a *app) failedGroups(now time.Time, groups []inspect.FailedGroup, texts bool) error {
	t := newTable(a.out, "JOBS", "KIND", "CAUSE", "FIRST", "LAST", "EXAMPLE", "ERROR")
	for _, g := range groups {
		text, several := g.Error, len(g.Texts) > 1
		if several {
			text = g.Pattern
		}
		t.row(strconv.FormatInt(g.Jobs, 10), g.Kind, string(g.Cause), human.Age(now, g.FirstSeen), human.Age(now, g.LastSeen),
			strconv.FormatInt(g.ExampleID, 10), human.Shorten(text, 100))
		if !texts || !several {
			continue
		}
		for _, text := range g.Texts {
			t.row("  "+strconv.FormatInt(text.Jobs, 10), "", "", human.Age(now, text.FirstSeen), human.Age(now, text.LastSeen),
				strconv.FormatInt(text.ExampleID, 10), "  "+human.Shorten(text.Error, 100))
		}
	}
	return t.close()
}

// failedJobs prints all failed jobs, page by page.
func (a *app) failedJobs(ctx context.Context, c *jobs.Client, f inspect.FailedFilter, reveal, asJSON bool) error {
	now, hidden := inspect.New(c).Now(), 0
	list := jsonArray{app: a}
	for last := (jobs.Job{}); ; {
		page, err := inspect.New(c).ListFailed(ctx, f, last)
		if err != nil {
			return err
		}
		for _, job := range page {
			if reveal && hiddenError(job.LastError) {
				hidden++
			}
		}
		if asJSON {
			for _, job := range page {
				if err := list.add(job); err != nil {
					return err
				}
			}
		} else if err := a.failedPage(now, page, last.ID == 0); err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		last = page[len(page)-1]
	}
	a.warnOfHidden(hidden)
	if asJSON {
		list.close()
	}
	return nil
}

func (a *app) failedPage(now time.Time, page []jobs.Job, first bool) error {
	if len(page) == 0 {
		if first {
			a.print("no failed jobs")
		}
		return nil
	}
	t := newTable(a.out, "ID", "KIND", "QUEUE", "ATTEMPT", "FAILED", "ERROR")
	for _, job := range page {
		t.row(strconv.FormatInt(job.ID, 10), job.Kind, job.Queue, human.Attempts(job), human.Age(now, job.FinishedAt), human.Shorten(job.LastError, 100))
	}
	return t.close()
}
