package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/metrics"
)

const workHelp = `work takes jobs and runs a program for each, until SIGINT or SIGTERM, or with --drain until nothing of its kinds and
queues is pending, due or running. Kinds without an --exec are left alone.

--exec KIND=CMD ARG... names the program for a kind; it may be repeated. CMD is looked up in PATH at the start. Words
are split at blanks; single quotes, double quotes and backslashes keep blanks in a word as in a shell, but there is no
shell: no variables, patterns or pipes. For those, write --exec "KIND=sh -c '...'".

The program gets the payload on standard input, and SQLUICE_JOB_ID, SQLUICE_KIND, SQLUICE_QUEUE, SQLUICE_ATTEMPT and
SQLUICE_MAX_ATTEMPTS in its environment. Of the worker's environment it gets PATH, HOME, LANG, LC_*, TZ, TMPDIR, USER,
LOGNAME and SHELL, and what --env NAME names. It does not get SQLUICE_DB: a program that runs sqluice needs
--env SQLUICE_DB. Name no variable that holds a secret which the program does not need.

Exit code 0 means done, 65 failed for good; anything else is retried while attempts are left, and the last 2 KiB of
standard error are the error's text. Standard output becomes the result: JSON as it is, other text as a JSON string;
64 KiB of it are kept.

A program whose job has timed out, lost its lease or been cancelled gets SIGTERM, with all of its process group, and
SIGKILL 3 seconds later. The same happens when --grace after the worker was told to stop is over; such a job goes back
to the queue, and the attempt does not count. A second SIGINT or SIGTERM ends the worker at once.

Makes the SQLite file when there is none; in PostgreSQL "sqluice up" must have made the tables. A PostgreSQL server that
is away is waited for, at the start and later.

--metrics serves this worker's metrics, and those of the queue, to Prometheus: on an address of this machine, or on any
with a token; "sqluice serve --help" says how it is sent.`

// maxConcurrency bounds the programs of one queue: each is a process.
const maxConcurrency = 10_000

// workFlags are the flags of the work command.
type workFlags struct {
	programs    []*program
	env         []string       // names of variables that programs get
	queues      map[string]int // 0 means concurrency
	concurrency int
	drain       bool
	grace       time.Duration
	lease       time.Duration
	name        string
	onBoot      string
	logFormat   string
	logLevel    string
	durability  durabilityFor
	metrics     metricsFlags
}

// workFields names the flags that the library's fields come from.
var workFields = map[string]string{"queue": "--queue", "worker name": "--name", "Lease": "--lease"}

func (a *app) workCommand() *cobra.Command {
	f := workFlags{
		queues: map[string]int{}, concurrency: 10, grace: 10 * time.Second, lease: 30 * time.Second,
		onBoot: "pending", logFormat: "text",
	}
	cmd := &cobra.Command{
		Use:     "work --exec 'KIND=CMD ARG...'",
		Short:   "Run a program for each job",
		Long:    workHelp,
		GroupID: groupRun,
	}
	flags := cmd.Flags()
	flags.Var(&execValue{&f.programs}, "exec", "run a program for jobs of a kind; may be repeated")
	flags.Var(&envValue{&f.env}, "env", "pass this environment variable to the programs; may be repeated")
	flags.Var(&queueValue{f.queues}, "queue", "take jobs of this queue, N at once; may be repeated (default "+jobs.DefaultQueue+")")
	flags.Var(&intValue{&f.concurrency, 1, maxConcurrency}, "concurrency", "jobs at once of a queue without a number of its own")
	flags.BoolVar(&f.drain, "drain", false, "end when nothing is pending, due or running")
	flags.Var(&durationValue{value: &f.grace}, "grace", "how long jobs may go on after a stop")
	flags.Var(&durationValue{&f.lease, time.Second, 24 * time.Hour}, "lease", "how long a job is held without a sign of life")
	flags.Var(&nameValue{&f.name}, "name", "the worker's `NAME` among the live ones (default: from host and process)")
	flags.Var(&choiceValue{&f.onBoot, []string{"pending", "failed"}}, "on-boot", "what becomes of jobs whose worker is gone")
	flags.Var(&choiceValue{&f.logFormat, []string{"text", "json"}}, "log-format", "how to log")
	flags.Var(&choiceValue{&f.logLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "what to log (default: info, warn on a terminal)")
	f.durability = durabilityFlag(flags)
	f.metrics.add(flags)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(f.programs) == 0:
			return usagef("--exec KIND=CMD is missing: which program runs which jobs?")
		case flags.Changed("name") && f.name == "":
			return usagef(`--name "" must not be empty`)
		}
		if err := f.metrics.check(); err != nil {
			return err
		}
		return takesNothing()(cmd, args)
	}
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		progress := newProgress(a.stderr)
		if f.logLevel == "" {
			f.logLevel = "info"
			if progress.terminal {
				f.logLevel = "warn" // the progress line says the rest
			}
		}
		return a.work(ctx, &f, progress)
	})
	return cmd
}

func (a *app) work(ctx context.Context, f *workFlags, progress *progress) error {
	defer progress.end()
	defer outliveReaders()()
	log := newLogger(progress, f.logFormat, f.logLevel)
	starter := newStarter()
	defer starter.close()
	var m *metrics.Metrics
	var observer *jobs.Observer
	if f.metrics.address != "" {
		m = metrics.New()
		observer = m.Observer()
	}
	return a.withCreatedObservedClient(ctx, f.durability, log, observer, func(c *jobs.Client) error {
		if m != nil {
			stop, err := a.serveMetrics(ctx, &f.metrics, m, c, log)
			if err != nil {
				return err
			}
			defer stop()
		}
		runner, err := jobs.NewRunner(c, f.config(log))
		if err != nil {
			return nameFlags(err, workFields)
		}
		tally := newTally(progress)
		for _, name := range unsetVariables(a.env, f.env) {
			log.Warn("a variable of --env is not set", "name", name)
		}
		environment := programEnvironment(a.env, f.env)
		for _, p := range f.programs {
			p.env, p.starter, p.log = environment, starter, log
			jobs.Kind[json.RawMessage]{Name: p.kind}.Handle(runner, tally.around(p.handle, log))
		}
		defer tally.keepShowing()()
		if f.drain {
			err = drain(ctx, runner, c, log)
		} else {
			err = runner.Run(ctx)
		}
		if errors.Is(err, jobs.ErrWorkerName) {
			return fmt.Errorf("%w: choose another with --name", err)
		}
		return err
	})
}

// drain says at its end what it did not wait for.
func drain(ctx context.Context, runner *jobs.Runner, c *jobs.Client, log *slog.Logger) error {
	if err := runner.Drain(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	stats, err := c.Stats(ctx)
	if err != nil {
		return err
	}
	log.Info("drained", "left_scheduled", stats.Jobs[jobs.StatusScheduled], "left_pending", stats.Jobs[jobs.StatusPending])
	return nil
}

// outliveReaders keeps a worker or a server alive when whoever reads its log goes away: a lost line must not cost running
// jobs an attempt, nor requests their answer. The signal is taken and not ignored, because programs that a worker starts inherit what is ignored.
func outliveReaders() (undo func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

// config is the runner's. A handler may use up killAfter after its context ended, so it is not stuck before that.
func (f *workFlags) config(log *slog.Logger) jobs.Config {
	config := jobs.Config{
		Queues: map[string]int{}, Name: f.name, Version: programVersion(), Grace: f.grace, Lease: f.lease,
		StuckAfter: 2*killAfter + 5*time.Second, Logger: log,
	}
	for queue, n := range f.queues {
		if n == 0 {
			n = f.concurrency
		}
		config.Queues[queue] = n
	}
	if len(config.Queues) == 0 {
		config.Queues[jobs.DefaultQueue] = f.concurrency
	}
	if f.grace == 0 {
		config.Grace = -1 // none; the zero value means the default
	}
	if f.onBoot == "failed" {
		config.OnBoot = jobs.OnBootFailed
	}
	return config
}
