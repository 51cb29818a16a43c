package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqluice/sqluice/internal/uniquemode"
	"github.com/sqluice/sqluice/jobs"
)

const enqueueHelp = `enqueue adds a job and prints its id. PAYLOAD is JSON, {} when left out; - reads one from standard input.

If a job with the same --unique or --request-id exists, no job is added: the printed id is that of the existing job, and
standard error says so. --unique-mode replace gives that job the new payload and options unless it runs; again does so too, and adds
one job beside a running one, which runs when that has ended; replace-running also asks the running one to end. --debounce runs the
job when no enqueue with its key has come for a time, and with --at-most no later than a time after the first one. --unique-for adds
nothing for a time after a job was added, whatever becomes of it.

With --stdin each line of standard input is the payload of a job (NDJSON). All jobs are added in one transaction, or none
if a line is invalid; the error names its number. Blank lines are skipped. The whole input is held in memory. The ids are
printed one a line, or only the first and the last if standard output is a terminal.

With --items each line is a whole job, in the form of the HTTP API's POST jobs: any kinds and options, such as
{"kind": "mail", "payload": {"to": "ann"}, "priority": 5, "unique_key": "ann"}. All are added in one transaction, or none.
What the queue refuses is named by its place among the jobs, counted from 0.

enqueue makes the SQLite file if there is none. In PostgreSQL, "sqluice up" makes the tables.`

// enqueueFlags holds the flags of the enqueue command.
type enqueueFlags struct {
	queue       string
	priority    int
	in          time.Duration
	at          time.Time
	maxAttempts int
	timeout     time.Duration
	startBy     startByValue
	unique      uniquemode.Choice
	requestID   string
	limitKey    string
	userID      string
	tags        []string
	stdin       bool
	items       bool
	asJSON      bool
	durability  durabilityFor
}

// enqueueFields maps the library's fields to flags.
var enqueueFields = map[string]string{
	"kind": "KIND", "payload": "PAYLOAD", "queue": "--queue", "priority": "--priority", "delay": "--in",
	"run-after time": "--at", "start-by time": "--start-by", "start-within time": "--start-by", "max attempts": "--max-attempts", "timeout": "--timeout", "unique key": "--unique",
	"unique mode": "--unique-mode", "debounce time": "--debounce", "longest debounce": "--at-most", "unique period": "--unique-for",
	"request id": "--request-id", "limit key": "--limit-key", "user id": "--user-id", "tag": "--tag", "number of tags": "number of --tag",
}

func (a *app) enqueueCommand() *cobra.Command {
	var f enqueueFlags
	cmd := &cobra.Command{
		Use:     "enqueue KIND [PAYLOAD] | enqueue --items",
		Short:   "Add a job, or one for each line of standard input",
		Long:    enqueueHelp,
		GroupID: groupJobs,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.items {
				if len(args) > 0 {
					return usagef("arguments are not expected with --items: standard input has the kinds and payloads")
				}
				return nil
			}
			return argCount(1, 2, "KIND", payloadName)(cmd, args)
		},

		ValidArgsFunction: a.completesFirst(kindNames),
	}
	flags := cmd.Flags()
	f.common(flags)
	flags.Var(&durationValue{value: &f.in}, "in", "run not before this delay")
	flags.Var(&timeValue{&f.at}, "at", "run not before this time, in the form of RFC 3339")
	flags.Var(&f.startBy, "start-by", "cancel the job if it has not started by this `TIME`, or within DURATION after it is due")
	flags.StringVar(&f.unique.Key, "unique", "", "add nothing if a live job of this kind has the same `KEY`")
	flags.StringVar(&f.unique.Mode, "unique-mode", "", "what becomes of a live job with the key: `MODE` is keep, replace, again or replace-running")
	flags.Var(&durationValue{value: &f.unique.Debounce, least: time.Microsecond}, "debounce", "run `DURATION` after the last enqueue with the key")
	flags.Var(&durationValue{value: &f.unique.AtMost, least: time.Microsecond}, "at-most", "with --debounce: run at most `DURATION` after the first enqueue")
	flags.Var(&durationValue{value: &f.unique.For, least: time.Microsecond}, "unique-for", "add nothing for `DURATION` after a job with the key was added")
	flags.StringVar(&f.requestID, "request-id", "", "add nothing if a job of this kind with the same `ID` is still kept")
	flags.StringVar(&f.limitKey, "limit-key", "", "obey the limits of the kind under this `KEY`; under an empty one with all jobs that have an empty one")
	flags.BoolVar(&f.stdin, "stdin", false, "read one payload a line from standard input")
	flags.BoolVar(&f.items, "items", false, "read one job a line from standard input, with its kind and options")
	f.durability = durabilityFlag(flags)
	jsonFlag(flags, &f.asJSON)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		if f.items {
			if err := onlyItems(cmd); err != nil {
				return err
			}
			return a.enqueueItems(ctx, &f)
		}
		opts, err := f.options(flags.Changed)
		if err != nil {
			return err
		}
		if err := jobs.ValidateName("kind", args[0]); err != nil {
			return nameFlags(err, enqueueFields) // before a database is made
		}
		if f.stdin {
			if len(args) > 1 {
				return usagef("PAYLOAD is not expected with --stdin, which reads the payloads")
			}
			return a.enqueueLines(ctx, args[0], &f, opts)
		}
		return a.enqueueOne(ctx, args, &f, opts)
	})
	return cmd
}

// onlyItems refuses flags that --items has no use for.
func onlyItems(cmd *cobra.Command) (err error) {
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && !slices.Contains([]string{"items", "json", "durability"}, flag.Name) {
			err = usagef("--%s cannot be given with --items: each line has its own options", flag.Name)
		}
	})
	return err
}

// common adds the flags of jobs that are enqueued at once or by a schedule.
func (f *enqueueFlags) common(flags *pflag.FlagSet) {
	flags.Var(&nameValue{&f.queue}, "queue", "`NAME` of the queue to put the job on (default: that of its kind)")
	flags.Var(&intValue{&f.priority, jobs.MinPriority, jobs.MaxPriority}, "priority", "higher runs first (default: that of its kind)")
	flags.Var(&intValue{&f.maxAttempts, 0, jobs.MaxAttemptsLimit}, "max-attempts", "attempts before the job fails; 0 for the number of its kind")
	flags.Var(&durationValue{value: &f.timeout, least: time.Millisecond}, "timeout", "of one attempt (default: the worker's)")
	flags.StringVar(&f.userID, "user-id", "", "the `ID` of the user on whose behalf the job runs")
	flags.StringArrayVar(&f.tags, "tag", nil, "label the job with this `TAG`; may be repeated")
}

// commonOptions returns the options for the flags of common.
func (f *enqueueFlags) commonOptions(given func(string) bool) ([]jobs.EnqueueOption, error) {
	if given("user-id") && f.userID == "" {
		return nil, emptyFlag("user-id")
	}
	if slices.Contains(f.tags, "") {
		return nil, emptyFlag("tag")
	}
	opts := []jobs.EnqueueOption{jobs.Queue(f.queue), jobs.MaxAttempts(f.maxAttempts), jobs.Tags(f.tags...)}
	if given("priority") {
		opts = append(opts, jobs.Priority(f.priority))
	}
	if given("timeout") {
		opts = append(opts, jobs.Timeout(f.timeout))
	}
	if given("user-id") {
		opts = append(opts, jobs.UserID(f.userID))
	}
	return opts, nil
}

// emptyFlag is the error of an empty text, which the library takes for none: here it is most likely a variable of a script that is
// not set.
func emptyFlag(flag string) error {
	return usagef("--%s must not be empty: leave it out for none", flag)
}

// options returns the options for the flags that were given; the library has the other defaults.
func (f *enqueueFlags) options(given func(string) bool) ([]jobs.EnqueueOption, error) {
	if given("in") && given("at") {
		return nil, usagef("--in and --at exclude each other")
	}
	if f.stdin && (given("unique") || given("request-id")) {
		return nil, usagef("--unique and --request-id name one job: they cannot be given with --stdin")
	}
	for _, text := range []struct{ flag, value string }{{"unique", f.unique.Key}, {"unique-mode", f.unique.Mode}, {"request-id", f.requestID}} {
		if given(text.flag) && text.value == "" {
			return nil, emptyFlag(text.flag)
		}
	}
	opts, err := f.commonOptions(given)
	if err != nil {
		return nil, err
	}
	for _, o := range []struct {
		flag   string
		option jobs.EnqueueOption
	}{
		{"in", jobs.In(f.in)}, {"at", jobs.At(f.at)}, {"start-by", f.startBy.option()}, {"request-id", jobs.RequestID(f.requestID)},
		{"limit-key", jobs.LimitKey(f.limitKey)},
	} {
		if given(o.flag) {
			opts = append(opts, o.option)
		}
	}
	unique, err := f.unique.Option()
	if err != nil {
		return nil, nameFlags(err, enqueueFields)
	}
	if unique != nil {
		opts = append(opts, unique)
	}
	return opts, nil
}

func (a *app) enqueueOne(ctx context.Context, args []string, f *enqueueFlags, opts []jobs.EnqueueOption) error {
	kind, payload := args[0], json.RawMessage("{}")
	if len(args) > 1 {
		var err error
		if payload, err = a.payloadOf(ctx, args[1], enqueueFields); err != nil {
			return err
		}
	}
	if err := a.beforeMaking(jobs.NewItem(kind, payload, opts...).Validate, enqueueFields); err != nil {
		return err
	}
	return a.withCreatedClient(ctx, f.durability, func(c *jobs.Client) error {
		a.hintUnknown(ctx, c, []string{kind}, []string{f.queue})
		receipt, err := c.Enqueue(ctx, kind, payload, opts...)
		if err != nil {
			return nameFlags(err, enqueueFields)
		}
		if f.asJSON {
			answer := map[string]any{"id": receipt.ID, "existed": receipt.Existed}
			if receipt.Replaced {
				answer["replaced"] = true
			}
			if receipt.Dropped {
				answer["dropped"] = true
			}
			return a.printJSON(answer)
		}
		if receipt.Dropped {
			a.printError("the backlog of the limit key or queue is full: no job was added")
			return nil
		}
		a.print("%d", receipt.ID)
		switch {
		case receipt.Replaced:
			a.printError("job %d has this unique key already: it has the new payload and options now, and no job was added", receipt.ID)
		case receipt.Existed:
			a.printError("job %d has this unique key or request id already: no job was added", receipt.ID)
		}
		return nil
	})
}
