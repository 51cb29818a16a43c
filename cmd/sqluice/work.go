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
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/metrics"
)

const workHelp = `work claims jobs and runs a program for each, until SIGINT or SIGTERM, or with --drain until no job of its kinds and
queues is pending, due or running. It does not claim jobs of other kinds.

--exec KIND=CMD ARG... names the program for a kind; it may be repeated. CMD is looked up in PATH at the start. Blanks
separate words; single quotes, double quotes and backslashes work as in a shell. But no shell runs: there are no
variables, patterns or pipes. For those, write --exec "KIND=sh -c '...'".

The program gets the payload on standard input, and SQLUICE_JOB_ID, SQLUICE_KIND, SQLUICE_QUEUE, SQLUICE_ATTEMPT,
SQLUICE_MAX_ATTEMPTS and SQLUICE_PAYLOAD_VERSION in its environment. Of the worker's environment it gets PATH, HOME,
LANG, LC_*, TZ, TMPDIR, USER, LOGNAME and SHELL, and what --env NAME names. It does not get SQLUICE_DB: a program that
runs sqluice needs --env SQLUICE_DB. Name no variable that holds a secret which the program does not need.

Exit code 0 means done, and 65 means failed for good. After any other code the job is retried while attempts are left;
the last 2 KiB of standard error are the error's text. Standard output becomes the result: JSON unchanged, other text as
a JSON string; 64 KiB of it are kept. If the program cannot be started, for want of descriptors, processes or memory or
because it is gone, the attempt does not count, and the job is put off for other workers.

If the job times out, loses its lease or is cancelled, the program and its process group get SIGTERM, and SIGKILL 3
seconds later. The same happens --grace after the worker was told to stop; then the job is released, and the attempt
does not count. Whatever the database does, work ends at most --stop-timeout after that. A later SIGINT (Ctrl-C) ends the
worker at once; SIGTERM never does, and repeats within a second are one signal. When the worker itself is killed, so is the
program's process group. A process that has left its group, as by setsid, goes on.

work makes the SQLite file if there is none. In PostgreSQL, "sqluice up" makes the tables. If the PostgreSQL server is
unreachable, work waits for it, at the start and later.

--post KIND=URL sends the payload to a URL in place of a program: a POST with the headers webhook-id, webhook-timestamp and
webhook-signature of the Standard Webhooks specification, by the secret in SQLUICE_WEBHOOK_SECRET or --post-secret-file: whsec_
and 24 to 64 bytes in base64. A file may have several secrets, of which receivers need one. The id is the same in each attempt
with the same payload. An answer of 2xx means done, and its body becomes the result; 410 means failed for good. With 429 or 503
and Retry-After the attempt does not count, and for as long, at most a day, no worker starts a job of the same limit key. If the
job has none, its kind is paused in its queue: the job waits with the others, and "queues resume" ends that. After any other
answer, or none within --post-timeout, the job is retried. Redirects by 307 and 308 are followed, to private addresses and by
the proxy of HTTP_PROXY only with --post-private.

--metrics serves this worker's metrics, and those of the queue, to Prometheus: on a loopback address, or on any address
with a token; "sqluice serve --help" says how to send it. --probes answers /healthz and /readyz without one. The worker
is ready while it can use the database and does not stop.`

// maxConcurrency bounds the programs of one queue: each is a process.
const maxConcurrency = 10_000

// workFlags holds the flags of the work command.
type workFlags struct {
	programs    []*program
	receivers   []*receiver
	post        postFlags
	env         []string       // names of variables that programs get
	queues      map[string]int // 0 means concurrency
	concurrency int
	ahead       int
	drain       bool
	grace       time.Duration
	stop        time.Duration
	retry       retryValue
	lease       time.Duration
	name        string
	onBoot      string
	logFormat   string
	logLevel    string
	durability  durabilityFor
	metrics     metricsFlags
	probes      string
}

// workFields maps the library's fields to flags.
var workFields = map[string]string{"queue": "--queue", "worker name": "--name", "Lease": "--lease"}

func (a *app) workCommand() *cobra.Command {
	f := workFlags{
		queues: map[string]int{}, concurrency: 10, grace: 10 * time.Second, stop: 15 * time.Second, lease: 30 * time.Second,
		onBoot: "pending", logFormat: "text", post: newPostFlags(),
	}
	cmd := &cobra.Command{
		Use:     "work --exec 'KIND=CMD ARG...' | --post KIND=URL",
		Short:   "Run a program, or post to a URL, for each job",
		Long:    workHelp,
		GroupID: groupRun,
	}
	flags := cmd.Flags()
	flags.Var(&execValue{&f}, "exec", "run a program for jobs of a kind; may be repeated")
	flags.Var(&postValue{&f}, "post", "post the payloads of jobs of a kind to a URL; may be repeated")
	f.post.add(flags)
	flags.Var(&envValue{&f.env}, "env", "pass this environment variable to the programs; may be repeated")
	flags.Var(&queueValue{f.queues}, "queue", "claim jobs of this queue, N at the same time; may be repeated (default "+jobs.DefaultQueue+")")
	flags.Var(&intValue{&f.concurrency, 1, maxConcurrency}, "concurrency", "jobs at the same time of a queue without its own number")
	flags.Var(&intValue{&f.ahead, -1, 1000}, "ahead", "short jobs of a queue to claim before a slot is free: 0 is four for each slot, -1 none")
	flags.BoolVar(&f.drain, "drain", false, "end when no job is pending, due or running")
	flags.Var(&durationValue{value: &f.grace}, "grace", "how long jobs may continue after a stop")
	flags.Var(&f.retry, "retry", "delays after failed attempts: 1s,1m,1h, the last one for all further ones; or doubled, 1s..1h (default: n^4 seconds)")
	flags.Var(&durationValue{value: &f.stop, least: time.Second}, "stop-timeout", "how long to wait for the database after --grace")
	flags.Var(&durationValue{&f.lease, time.Second, 24 * time.Hour}, "lease", "how long a claim is valid without renewal")
	flags.Var(&nameValue{&f.name}, "name", "the worker's `NAME`, unique among live workers (default: from host and process)")
	flags.Var(&choiceValue{&f.onBoot, []string{"pending", "failed"}}, "on-boot", "the new status of jobs whose worker is dead")
	flags.Var(&choiceValue{&f.logFormat, []string{"text", "json"}}, "log-format", "how to log")
	flags.Var(&choiceValue{&f.logLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "what to log (default: info, warn on a terminal)")
	f.durability = durabilityFlag(flags)
	f.metrics.add(flags)
	probeFlag(flags, &f.probes)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(f.programs)+len(f.receivers) == 0:
			return usagef("--exec KIND=CMD or --post KIND=URL is missing")
		case len(f.receivers) == 0 && f.post != newPostFlags():
			return usagef("--post-secret-file, --post-timeout and --post-private are for --post KIND=URL, which is missing")
		}
		if err := f.metrics.check(); err != nil {
			return err
		}
		return noArgs()(cmd, args)
	}
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		progress := a.progress()
		if f.logLevel == "" {
			f.logLevel = "info"
			if progress.terminal {
				f.logLevel = "warn" // the progress line shows the rest
			}
		}
		return a.work(ctx, &f, progress)
	})
	return cmd
}

func (a *app) work(ctx context.Context, f *workFlags, progress *progress) error {
	defer progress.clear()
	defer outliveReaders()()
	log := newLogger(progress, f.logFormat, f.logLevel)
	starter := newStarter(log)
	defer starter.close()
	post, err := a.poster(f)
	if err != nil {
		return err
	}
	defer post.Close()
	config, err := f.metrics.config(ctx, a, log)
	if err != nil {
		return err
	}
	if err := checkProbes(ctx, f.probes); err != nil {
		return err
	}
	var m *metrics.Metrics
	var observer *jobs.Observer
	if f.metrics.address != "" {
		m = metrics.New()
		observer = m.Observer()
	}
	return a.withCreatedObservedClient(ctx, f.durability, log, observer, func(c *jobs.Client) error {
		if m != nil {
			stop, err := a.serveMetrics(ctx, &f.metrics, config, m, c, log)
			if err != nil {
				return err
			}
			defer stop()
		}
		stop, err := a.serveProbes(ctx, f.probes, c, log)
		if err != nil {
			return err
		}
		defer stop()
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
			jobs.Kind[json.RawMessage]{Name: p.kind, Version: jobs.AnyVersion, RetryDelay: f.retry.delay}.Handle(runner, tally.around(p.handle, log))
		}
		for _, w := range f.receivers {
			w.poster, w.client, w.log = post, c, log
			jobs.Kind[json.RawMessage]{Name: w.kind, Version: jobs.AnyVersion, RetryDelay: f.retry.delay}.Handle(runner, tally.around(w.handle, log))
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

// drain runs until no work is left, and then logs the jobs that it did not wait for. A stop by a signal is no error.
func drain(ctx context.Context, runner *jobs.Runner, c *jobs.Client, log *slog.Logger) error {
	if err := runner.Drain(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			log.Info("the drain was stopped, and jobs may be left")
			return nil
		}
		return err
	}
	stats, err := inspect.New(c).Stats(ctx)
	if err != nil {
		return err
	}
	log.Info("drained", "left_scheduled", stats.Jobs[jobs.StatusScheduled], "left_waiting", stats.Jobs[jobs.StatusWaiting], "left_pending", stats.Jobs[jobs.StatusPending])
	return nil
}

// outliveReaders keeps a worker or a server alive when the reader of its log has gone: a lost log line must not cost running
// jobs an attempt, or requests their answer. It catches SIGPIPE and does not ignore it: programs inherit ignored signals.
func outliveReaders() (undo func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	return func() { signal.Stop(signals) }
}

// config returns the runner's config. A handler may take killAfter after the end of its context, and is not stuck before that.
func (f *workFlags) config(log *slog.Logger) jobs.Config {
	config := jobs.Config{
		Queues: map[string]int{}, Ahead: f.ahead, Name: f.name, Version: programVersion(), Grace: f.grace, StopTimeout: f.stop, Lease: f.lease,
		StuckAfter: 2*killAfter + 5*time.Second, Logger: log, Undeclared: true, // programs declare their own kinds
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
