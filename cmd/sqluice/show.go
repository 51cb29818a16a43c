package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/cmd/sqluice/internal/human"
	safe "github.com/sqluice/sqluice/internal/printable"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// jobDetails is the answer of the show command: the job and its attempts.
type jobDetails struct {
	jobs.Job
	Errors     []inspect.AttemptEnd   `json:"errors"`
	Others     []inspect.AttemptEnd   `json:"other_attempts,omitempty"`      // snoozed, released and cancelled ones
	Unrecorded []inspect.AttemptRange `json:"unrecorded_attempts,omitempty"` // attempts without a row
	Last       *inspect.Attempt       `json:"last_attempt,omitempty"`        // the running attempt, or the one that ended the job
}

func (a *app) showCommand() *cobra.Command {
	var reveal, asJSON bool
	var by lookUp
	cmd := &cobra.Command{
		Use:   "show [ID]",
		Short: "Show all columns of a job, and its attempts",
		Long: "show shows all columns of a job, and its attempts. Without an ID, --kind and --unique find the live job that holds a\n" +
			"unique key, or the job that has taken it for a time, --kind and --request-id the job that was enqueued with a request id.\n" +
			"With --keys, --reveal decrypts the errors of the attempts; payload, progress and result stay hidden.",
		GroupID: groupJobs,
		Args:    argCount(0, 1, "[ID]"),
		RunE: a.do(func(ctx context.Context, args []string) error {
			get, err := by.find(args)
			if err := cmp.Or(err, a.checkReveal(reveal)); err != nil {
				return err
			}
			return a.withClient(ctx, func(c *jobs.Client) error {
				job, err := get(ctx, c)
				if err != nil {
					return err
				}
				if reveal {
					if c, err = c.RevealErrors(ctx, job.ID); err != nil {
						return err
					}
					if job, err = c.Get(ctx, job.ID); err != nil {
						return err
					}
				}
				return a.show(ctx, c, job, reveal, asJSON)
			})
		}),
	}
	flags := cmd.Flags()
	textFlag(flags, &by.kind, "kind", "the kind of the job to find")
	textFlag(flags, &by.unique, "unique", "the unique key that the job holds")
	textFlag(flags, &by.request, "request-id", "the request id that the job was enqueued with")
	revealFlag(flags, &reveal)
	jsonFlag(flags, &asJSON)
	return cmd
}

// lookUp names a job without its id.
type lookUp struct{ kind, unique, request string }

// find returns a function that reads the job of the arguments or the flags.
func (l *lookUp) find(args []string) (func(context.Context, *jobs.Client) (jobs.Job, error), error) {
	switch byKey := l.kind != "" && (l.unique == "") != (l.request == ""); {
	case len(args) == 1 && *l == lookUp{}:
		id, err := parseID(args[0])
		return func(ctx context.Context, c *jobs.Client) (jobs.Job, error) { return c.Get(ctx, id) }, err
	case len(args) == 1 || !byKey:
		return nil, usagef("ID is missing or given beside other names of a job: give an ID, or --kind and either --unique or --request-id")
	case l.unique != "":
		return func(ctx context.Context, c *jobs.Client) (jobs.Job, error) {
			return c.GetByUniqueKey(ctx, l.kind, l.unique)
		}, nil
	default:
		return func(ctx context.Context, c *jobs.Client) (jobs.Job, error) {
			return c.GetByRequestID(ctx, l.kind, l.request)
		}, nil
	}
}

// show prints a job that was read by the client. With reveal the client decrypts errors.
func (a *app) show(ctx context.Context, c *jobs.Client, job jobs.Job, reveal, asJSON bool) error {
	attempts, err := everyAttempt(ctx, c, job.ID)
	if err != nil {
		return err
	}
	if reveal {
		hidden := 0
		for _, e := range attempts.Ends() {
			if hiddenError(e.Message) || hiddenError(e.Stack) {
				hidden++
			}
		}
		a.warnOfHidden(hidden)
	}
	last, err := inspect.New(c).LastAttempt(ctx, job)
	if err != nil {
		return err
	}
	d := jobDetails{job, attempts.Failed, attempts.Others, attempts.Unrecorded, last}
	if asJSON {
		return a.printJSON(d)
	}
	now := inspect.New(c).Now()
	if err := showJob(a.out, now, job); err != nil {
		return err
	}
	a.showAttempts(now, d, attempts.Ends())
	return nil
}

// everyAttempt returns all attempts of a job as one page.
func everyAttempt(ctx context.Context, c *jobs.Client, id int64) (all inspect.AttemptPage, err error) {
	for before := int64(0); ; before = all.Next {
		page, err := inspect.New(c).Attempts(ctx, id, before, inspect.MaxPage)
		if err != nil {
			return all, err
		}
		all.Failed, all.Others = append(page.Failed, all.Failed...), append(page.Others, all.Others...)
		all.Unrecorded, all.Next = append(page.Unrecorded, all.Unrecorded...), page.Next
		if all.Next == 0 {
			return all, nil
		}
	}
}

// showAttempts prints the attempts of a job, in order.
func (a *app) showAttempts(now time.Time, d jobDetails, ends []inspect.AttemptEnd) {
	unrecorded := d.Unrecorded
	for _, f := range ends {
		for len(unrecorded) > 0 && unrecorded[0].Last < f.Attempt {
			a.showUnrecorded(unrecorded[0])
			unrecorded = unrecorded[1:]
		}
		a.print("\n%s: %s %s%s", attemptName(f), f.Cause, human.Moment(now, f.EndedAt), startedBy(now, f.StartedAt, f.Worker, f.Host))
		if f.Message != "" {
			a.print("%s", indent(f.Message))
		}
		if f.Stack != "" {
			a.print("%s", indent(f.Stack))
		}
	}
	for _, r := range unrecorded {
		a.showUnrecorded(r)
	}
	if last := d.Last; last != nil && !slices.ContainsFunc(ends, func(e inspect.AttemptEnd) bool { return e.Attempt == last.Attempt }) {
		end := string(d.Status)
		if !last.EndedAt.IsZero() {
			end += " " + human.Moment(now, last.EndedAt)
		}
		a.print("\nattempt %d: %s%s", last.Attempt, end, startedBy(now, last.StartedAt, last.Worker, last.Host))
	}
}

// showUnrecorded prints attempts that have no row.
func (a *app) showUnrecorded(r inspect.AttemptRange) {
	if r.First == r.Last {
		a.print("\nattempt %d: %s", r.First, unrecordedEnd)
		return
	}
	a.print("\nattempts %d to %d: %s", r.First, r.Last, unrecordedEnd)
}

// unrecordedEnd is printed as the end of attempts that have no row.
const unrecordedEnd = "not recorded"

// attemptName returns the name of an attempt. A waiting job that expired has no attempt.
func attemptName(e inspect.AttemptEnd) string {
	if e.Cause == jobs.CauseExpired && e.StartedAt.IsZero() {
		return "no attempt"
	}
	return fmt.Sprint("attempt ", e.Attempt)
}

// showJob prints the columns that have a value.
func showJob(w io.Writer, now time.Time, job jobs.Job) error {
	t := newTable(w)
	row := func(name, value string) {
		if value != "" && value != "-" {
			t.row(name, value)
		}
	}
	row("id", strconv.FormatInt(job.ID, 10))
	row("kind", job.Kind)
	row("queue", job.Queue)
	row("status", string(job.Status))
	row("priority", strconv.Itoa(job.Priority))
	row("attempts", attemptsInFull(job))
	row("payload", compact(job.Payload))
	row("result", compact(job.Result))
	row("progress", compact(job.Progress))
	row("last error", job.LastError)
	if job.Timeout > 0 {
		row("timeout", job.Timeout.String()+settingFrom(job.TimeoutFrom))
	}
	row("run after", human.Moment(now, job.RunAfter))
	row("start by", human.Moment(now, job.StartBy))
	row("created", human.Moment(now, job.CreatedAt))
	row("started", human.Moment(now, job.StartedAt))
	row("finished", human.Moment(now, job.FinishedAt))
	row("lease until", human.Moment(now, job.LeaseUntil))
	row("cancel requested", human.Moment(now, job.CancelRequested))
	row("unique key", job.UniqueKey)
	if job.Successor {
		row("waits for", "the end of the live job with its unique key")
	}
	if job.LimitKey != nil {
		row("limit key", strconv.Quote(*job.LimitKey))
	}
	row("request id", job.RequestID)
	row("user id", job.UserID)
	row("schedule", job.Schedule())
	row("tick", human.Moment(now, job.Tick()))
	row("tags", strings.Join(job.Tags, ", "))
	row("metadata", compact(job.Metadata))
	return t.close()
}

// attemptsInFull returns the attempts with the number that does not count, and the number of crashes.
func attemptsInFull(job jobs.Job) string {
	s := fmt.Sprintf("%d of %d%s", job.Attempt-job.Uncounted, job.MaxAttempts, settingFrom(job.MaxAttemptsFrom))
	if job.Uncounted > 0 {
		s += fmt.Sprintf(", %d uncounted", job.Uncounted)
	}
	if job.Crashes > 0 {
		s += fmt.Sprintf(", crashes: %d", job.Crashes)
	}
	return s
}

// settingFrom returns the origin of a setting as text, or "" if the job itself has the setting.
func settingFrom(source jobs.SettingSource) string {
	switch source {
	case jobs.SettingOfKind:
		return " (the kind's)"
	case jobs.SettingDefault:
		return " (the default)"
	}
	return ""
}

// maxShown is the maximum number of characters of a payload or result that show prints; --json prints all.
const maxShown = 1000

func compact(raw json.RawMessage) string { return human.Shorten(string(raw), maxShown) }

// startedBy returns the start of an attempt and its worker as text.
func startedBy(now, at time.Time, worker, host string) (text string) {
	if !at.IsZero() {
		text = ", started " + human.Moment(now, at)
	}
	if worker != "" {
		text += ", worker " + printable(worker)
	}
	if host != "" {
		text += ", host " + printable(host)
	}
	return text
}

func indent(text string) string {
	text = strings.TrimRight(safe.Lines(text), "\n")
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
