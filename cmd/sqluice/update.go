package main

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// updateFields maps the library's fields to flags.
var updateFields = map[string]string{
	"payload": "--payload", "queue": "--queue", "priority": "--priority", "run-after time": "--at", "max attempts": "--max-attempts",
}

// updateFlags holds the flags of the update command.
type updateFlags struct {
	priority, maxAttempts int
	in                    time.Duration
	at                    time.Time
	payload, queue        string
}

func (a *app) updateCommand() *cobra.Command {
	var f updateFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "update ID...",
		Short: "Change scheduled and pending jobs",
		Long: "update changes scheduled and pending jobs. A running job cannot be changed, nor one that has ended.\n" +
			"Another payload has all attempts, whatever those with the old one have used up.\n" +
			"If it cannot change some of several jobs, it changes the others, says why not for each, and exits with 1.\n" +
			"With --json it prints a list of the changed jobs.",
		Example: "  sqluice update 42 --priority 9\n  sqluice update 42 --in 10m --payload '{\"width\": 200}'",
		GroupID: groupJobs,
		Args:    argCount(1, maxIDs, "ID"),
	}
	flags := cmd.Flags()
	flags.Var(&intValue{&f.priority, jobs.MinPriority, jobs.MaxPriority}, "priority", "higher runs first")
	flags.Var(&durationValue{value: &f.in}, "in", "run not before this delay; 0 means at once")
	flags.Var(&timeValue{&f.at}, "at", "run not before this time, in the form of RFC 3339")
	flags.StringVar(&f.payload, "payload", "", "another payload: `JSON`, - reads it from standard input")
	flags.Var(&nameValue{&f.queue}, "queue", "`NAME` of another queue")
	flags.Var(&intValue{&f.maxAttempts, 0, jobs.MaxAttemptsLimit}, "max-attempts", "attempts before the job fails; 0 for the number of its kind")
	jsonFlag(flags, &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		if flags.Changed("in") && flags.Changed("at") {
			return usagef("--in and --at exclude each other")
		}
		opts, err := f.options(ctx, a, flags.Changed)
		if err != nil {
			return err
		}
		fields := maps.Clone(updateFields)
		return a.withClient(ctx, func(c *jobs.Client) error {
			if flags.Changed("in") {
				fields["run-after time"] = "--in"
				opts = append(opts, jobs.SetRunAfter(inspect.New(c).Now().Add(f.in)))
			}
			if len(opts) == 0 {
				return usagef("give what to change, such as --priority 9")
			}
			changed := []jobs.Job{} // for --json
			fault := eachJob(ctx, ids, func(ctx context.Context, id int64) error {
				if err := c.Update(ctx, id, opts...); err != nil {
					return nameFlags(err, fields)
				}
				if !asJSON {
					a.print("job %d: changed", id)
					return nil
				}
				job, err := c.Get(ctx, id)
				if err == nil {
					changed = append(changed, job)
				}
				return err
			})
			if asJSON && !errors.As(fault, new(*usageError)) {
				return errors.Join(fault, a.printJSON(changed))
			}
			return fault
		})
	})
	return cmd
}

// options returns the options for the flags that were given, except --in, which needs the queue's clock.
func (f *updateFlags) options(ctx context.Context, a *app, given func(string) bool) ([]jobs.UpdateOption, error) {
	var opts []jobs.UpdateOption
	for _, o := range []struct {
		flag   string
		option jobs.UpdateOption
	}{
		{"priority", jobs.SetPriority(f.priority)}, {"at", jobs.SetRunAfter(f.at)}, {"queue", jobs.SetQueue(f.queue)},
		{"max-attempts", jobs.SetMaxAttempts(f.maxAttempts)},
	} {
		if given(o.flag) {
			opts = append(opts, o.option)
		}
	}
	if !given("payload") {
		return opts, nil
	}
	payload, err := a.payloadOf(ctx, f.payload, updateFields)
	if err != nil {
		return nil, err
	}
	return append(opts, jobs.SetPayload(payload)), nil
}
