package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/internal/queue/runner"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// OnBoot says what a starting runner does with jobs whose worker is gone.
type OnBoot int

const (
	// OnBootPending makes them pending again.
	OnBootPending OnBoot = iota
	// OnBootFailed fails them, for people to look at.
	OnBootFailed
)

// Forever, as a retention, keeps jobs until a caller deletes them.
const Forever = prune.Forever

// Nothing, as [Kind.Keep], removes a job in the transaction in which it is done.
const Nothing time.Duration = -2

// Retention sets how long ended jobs are kept, by status, and their audit and history rows. 0 means the default, [Forever] keeps them for
// ever. The shortest of the database's runners applies. A rule of the database that matches a job replaces it, for all runners: see
// [Kind.Keep], and SetRetention of package jobs/inspect.
type Retention struct {
	Done      time.Duration // 24 hours when 0
	Cancelled time.Duration // 24 hours when 0
	Failed    time.Duration // Forever when 0: they wait for people
	Audit     time.Duration // entries of changes by people, not of jobs: 90 days when 0
	History   time.Duration // history by quarters of an hour: 30 days when 0, which is the most; at least an hour
	Minutes   time.Duration // history by minutes: 6 hours when 0, which is the most; at least a quarter of one
}

// Config configures a runner. The zero value of every field is its default.
type Config struct {
	// Queues holds the queues to claim from, each with its number of slots, which is the number of jobs that run at
	// once; 10 of [DefaultQueue] when empty. [Runner.SetQueue] changes them later.
	Queues map[string]int

	// Ahead is the largest number of jobs of each queue to claim, where jobs are short, before a slot is free for them, so
	// that no slot waits for the database; at most 1000, and none when 0. More of them make a worker's transactions longer.
	// A job that has waited for 100 ms is released, and its claim does not count.
	Ahead int

	// Name is the worker's name among the live ones; host, process id and a random part when empty.
	Name string

	// Version is the program's version, shown in the list of workers.
	Version string

	// Grace is the time that a stopping runner gives handlers before it cancels them: 10 seconds when 0, none when
	// negative.
	Grace time.Duration

	// StopTimeout is the longest time, after Grace, that a stopping runner waits for handlers to heed the end of their
	// context and for the database to record how attempts ended, whatever the database does: 15 seconds when 0. Attempts not
	// recorded by then are released: the job runs again, the attempt does not count, and not as a crash.
	StopTimeout time.Duration

	// Lease is the time for which a claim is valid without renewal; renewals come at a third of it. 30 seconds when 0,
	// at least one second. It matters only for workers that are stopped or on another host: a dead process is detected
	// by its lock.
	Lease time.Duration

	// Timeout is the timeout of attempts whose job and kind have none; none when 0.
	Timeout time.Duration

	// StuckAfter is the time that a handler may take after its context ended before it is reported, and its attempt is
	// ended without it: 5 seconds when 0. Its slot stays taken until it returns.
	StuckAfter time.Duration

	// OnBoot says what to do at the start with jobs whose worker is gone.
	OnBoot OnBoot

	// MaxCrashes is the number of crashes after which a job fails that was running when its worker's process died; 3 when 0. Crashes add up
	// over a job's life, and attempts that went well between them, such as snoozes, reset nothing. A manual retry does.
	MaxCrashes int

	// Retention sets how long ended jobs are kept.
	Retention Retention

	// HistoryNames bounds the history, whose rows grow with the names of queues and kinds: it is the number of queues, of kinds, and of
	// pairs of the two with their own rows in each quarter of an hour; 500 when 0. Names that end jobs first take precedence, and within a
	// few seconds those that end most. All others are added up as the queue, or kind, _other. Sums over all are exact. Each runner uses its
	// own bound: give all of a database the same.
	HistoryNames int

	// Undeclared makes the runner declare nothing about its kinds: their handlers are for jobs of other programs, which declare their
	// attempts and their retention. `sqluice work` is such a program. Give such kinds the Version [AnyVersion], or a version: without
	// one they take only payloads of version 0.
	Undeclared bool

	// Middleware wraps every handler, the first one outermost.
	Middleware []RunMiddleware

	// Logger is the logger for the runner's messages; slog.Default when nil. A separate goroutine calls the logger's handler, which may
	// block, panic or call runtime.Goexit without holding up the runner. While 10,000 messages wait, later ones are dropped, and standard
	// error gives their number. A runner that stops waits up to two seconds for the handler.
	Logger *slog.Logger
}

// maxSlots is the largest number of running jobs of one queue in one runner.
const maxSlots = 100_000

// withDefaults fills in zero values and returns all faults together.
func (c Config) withDefaults() (Config, error) {
	if len(c.Queues) == 0 {
		c.Queues = map[string]int{DefaultQueue: 10}
	}
	c.Queues, c.Middleware = maps.Clone(c.Queues), slices.Clone(c.Middleware)
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	c.StopTimeout = cmp.Or(c.StopTimeout, 15*time.Second)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.StuckAfter = cmp.Or(c.StuckAfter, 5*time.Second)
	c.MaxCrashes = cmp.Or(c.MaxCrashes, 3)
	c.Retention.Done = cmp.Or(c.Retention.Done, 24*time.Hour)
	c.Retention.Cancelled = cmp.Or(c.Retention.Cancelled, 24*time.Hour)
	c.Retention.Failed = cmp.Or(c.Retention.Failed, Forever)
	c.Retention.Audit = cmp.Or(c.Retention.Audit, 90*24*time.Hour)
	c.Retention.History = cmp.Or(c.Retention.History, stats.KeepCoarse)
	c.Retention.Minutes = cmp.Or(c.Retention.Minutes, stats.KeepFine)
	c.HistoryNames = cmp.Or(c.HistoryNames, stats.NamesMost)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, errors.Join(append(c.nameFaults(), c.valueFaults()...)...)
}

// nameFaults returns the errors for invalid queues and an invalid worker's name.
func (c Config) nameFaults() []error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(c.Queues)) {
		faults = append(faults, ValidateName("queue", name))
		if n := c.Queues[name]; n < 1 || n > maxSlots {
			faults = append(faults, jobtype.NewInvalidError("concurrency of queue "+strconv.Quote(name), fmt.Sprint(n), fmt.Sprintf("be from 1 to %d", maxSlots)))
		}
	}
	if c.Name != "" {
		faults = append(faults, ValidateName("worker name", c.Name))
	}
	return faults
}

// valueFaults returns the errors for other fields whose values are out of bounds.
func (c Config) valueFaults() []error {
	kept := c.Retention
	var faults []error
	for _, check := range []struct {
		ok                 bool
		field, value, must string
	}{
		{c.Lease >= time.Second && c.Lease <= 24*time.Hour, "Lease", c.Lease.String(), "be from 1s to 24h"},
		{c.StopTimeout >= 0, "StopTimeout", c.StopTimeout.String(), "not be negative"},
		{c.Timeout >= 0, "Timeout", c.Timeout.String(), "not be negative"},
		{c.StuckAfter >= 0, "StuckAfter", c.StuckAfter.String(), "not be negative"},
		{c.Ahead >= 0 && c.Ahead <= runner.ClaimMost, "Ahead", fmt.Sprint(c.Ahead), fmt.Sprintf("be between 0 and %d", runner.ClaimMost)},
		{c.MaxCrashes >= 0, "MaxCrashes", fmt.Sprint(c.MaxCrashes), "not be negative"},
		{c.OnBoot == OnBootPending || c.OnBoot == OnBootFailed, "OnBoot", fmt.Sprint(int(c.OnBoot)), "be OnBootPending or OnBootFailed"},
		{isRetention(kept.Done), "Retention.Done", kept.Done.String(), "be positive or Forever"},
		{isRetention(kept.Cancelled), "Retention.Cancelled", kept.Cancelled.String(), "be positive or Forever"},
		{isRetention(kept.Failed), "Retention.Failed", kept.Failed.String(), "be positive or Forever"},
		{isRetention(kept.Audit), "Retention.Audit", kept.Audit.String(), "be positive or Forever"},
		{kept.History >= time.Hour && kept.History <= stats.KeepCoarse, "Retention.History", kept.History.String(), "be from 1h to 720h, or 0 for that"},
		{kept.Minutes >= 15*time.Minute && kept.Minutes <= stats.KeepFine, "Retention.Minutes", kept.Minutes.String(), "be from 15m to 6h, or 0 for that"},
		{c.HistoryNames >= 0, "HistoryNames", fmt.Sprint(c.HistoryNames), "not be negative"},
	} {
		if !check.ok {
			faults = append(faults, jobtype.NewInvalidError(check.field, check.value, check.must))
		}
	}
	return faults
}

func isRetention(d time.Duration) bool { return d >= 0 || d == Forever }

// Runner claims jobs and runs them: make one with [NewRunner], give it handlers with [Kind.Handle], and call Run.
// It claims only kinds that it has handlers for.
type Runner struct {
	client   *Client
	config   Config
	queues   *runner.Queues
	handlers map[string]runner.Handler
	marks    map[string][]string // of the kinds that have handlers
	settings map[string]declare.Settings
	started  atomic.Bool

	schedules []Schedule // declared by the runner
	queued    []handler  // of kinds that name a queue
}

// NewRunner returns a runner, or all faults of the config together.
func NewRunner(client *Client, config Config) (*Runner, error) {
	config, err := config.withDefaults()
	if client.scope().Tx != nil {
		err = errors.Join(err, errors.New("the client works inside a transaction"))
	}
	if err != nil {
		return nil, fmt.Errorf("new runner: %w", err)
	}
	return &Runner{
		client: client, config: config, queues: runner.NewQueues(config.Queues), handlers: map[string]runner.Handler{}, marks: map[string][]string{},
		settings: map[string]declare.Settings{},
	}, nil
}

// handler is a runner's handler of a kind, with the kind's settings.
type handler struct {
	kind       string
	queue      string // of the kind; empty if it names none
	settings   jobrow.Settings
	declares   declare.Settings // all except the time for which its jobs are kept
	retryDelay func(Job, error) time.Duration
	sensitive  []string
	keep       time.Duration
	version    int
	run        func(context.Context, *Job) error // it copies the job
}

func (r *Runner) handle(h handler) {
	if r.started.Load() {
		panic("jobs: Handle after Run")
	}
	if err := ValidateName("kind", h.kind); err != nil {
		panic("jobs: Handle: " + err.Error())
	}
	if err := redact.Check(h.sensitive); err != nil {
		panic("jobs: Handle: " + err.Error())
	}
	if err := prune.CheckKeep(h.keep); err != nil && h.keep != 0 && h.keep != Nothing {
		panic("jobs: Handle: kind " + strconv.Quote(h.kind) + ": " + err.Error() + ", Nothing, or 0 for what Config.Retention says")
	}
	if h.version < AnyVersion {
		panic("jobs: Handle: kind " + strconv.Quote(h.kind) + ": Version must be from 0 on, or AnyVersion")
	}
	if _, there := r.handlers[h.kind]; there {
		panic("jobs: Handle: kind " + strconv.Quote(h.kind) + " has a handler already")
	}
	r.settings[h.kind] = h.declared()
	if h.retryDelay == nil {
		h.retryDelay = DefaultRetryDelay
	}
	r.handlers[h.kind] = runner.Handler{
		Settings: h.settings, RetryDelay: h.retryDelay, Version: h.version, Drop: h.keep == Nothing, Run: r.config.around(h.run),
	}
	if h.queue != "" {
		r.queued = append(r.queued, h)
	}
	if len(h.sensitive) > 0 {
		r.marks[h.kind] = h.sensitive
	}
}

// SetQueue sets the number of slots of a queue in this runner: up to 100,000, and 0 removes it. It adds a queue that the runner does not
// have. It may be called at any time, before Run and during it, also by a handler, and concurrently. It does not access the database.
//
// The runner obeys when SetQueue returns: it claims no further jobs of a removed queue, and accepts none, except from a running claim.
// Running jobs continue, and prefetched ones are released. With fewer slots than running jobs, further ones start when enough have ended.
// The list of workers follows within about a second. A runner whose last queue was removed rests until it gets one. After an error, which
// is an [InvalidError], nothing has changed.
func (r *Runner) SetQueue(name string, slots int) error {
	err := ValidateName("queue", name)
	if err == nil && (slots < 0 || slots > maxSlots) {
		err = jobtype.NewInvalidError("slots of queue "+strconv.Quote(name), fmt.Sprint(slots), fmt.Sprintf("be from 0, which removes the queue, to %d", maxSlots))
	}
	if err != nil {
		return fmt.Errorf("set queue %s: %w", strconv.Quote(name), err)
	}
	r.queues.Set(name, slots)
	return nil
}

// Run claims and runs jobs until ctx ends. Then it stops claiming, lets handlers finish for [Config.Grace], cancels those that are
// left, and releases unfinished jobs without costing them an attempt. It returns within Grace and [Config.StopTimeout], also while
// the database is locked or away, and a moment for running calls. It returns nil after a clean stop, and otherwise the error that
// kept it from starting or working: [ErrWorkerName], a [SchemaError], a fault of the database, or handlers that did not return. A
// runner runs once.
func (r *Runner) Run(ctx context.Context) error { return r.start(ctx, false) }

// Drain does what Run does, and also ends, with nil, as soon as no job for its handlers is pending, due or running in its queues. Jobs
// that other runners run count too. It does not wait for jobs scheduled for later or for queues that are paused. When ctx ends first, it
// returns the cause, and jobs may be left.
func (r *Runner) Drain(ctx context.Context) error {
	if err := r.start(ctx, true); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("drain: jobs may be left: %w", context.Cause(ctx))
	}
	return nil
}

func (r *Runner) start(ctx context.Context, drain bool) error {
	if len(r.handlers) == 0 {
		return errors.New("run: the runner has no handlers")
	}
	if r.started.Swap(true) {
		return errors.New("run: a runner runs once: make a new one")
	}
	var schedules []db.PutScheduleParams
	if !drain {
		var err error
		if schedules, err = r.scheduleRows(r.client.store.NowWithin(ctx)); err != nil {
			return fmt.Errorf("run: %w", err)
		}
	}
	log := callback.Logger(r.config.Logger)
	queues, _ := r.queues.Slots()
	for _, h := range r.queued {
		if queues[h.queue] > 0 {
			continue
		}
		log.Warn("the kind's queue is not one of the runner's queues: only jobs of the kind that are enqueued on one of those run here", "kind", h.kind, "queue", h.queue)
	}
	declared, err := r.declarations(schedules)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	err = runner.Run(audit.Without(ctx), r.config.internal(drain), runner.Options{
		Scope: r.client.scope(), Registry: r.client.runners, Queues: r.queues, Handlers: r.handlers, Declared: declared, Schedules: schedule.Names(schedules),
		Prepare: r.prepare, Settings: r.client.kinds,
	})
	return core.Wrap(err, "run")
}

// internal returns the config in the form of package runner.
func (c Config) internal(drain bool) runner.Config {
	return runner.Config{
		Prefetch: c.Ahead, Name: c.Name, Version: c.Version, Grace: c.Grace, Stop: c.StopTimeout, Lease: c.Lease, Timeout: c.Timeout,
		StuckAfter: c.StuckAfter, FailOnBoot: c.OnBoot == OnBootFailed, MaxCrashes: c.MaxCrashes,
		Retention: prune.Retention(c.Retention), HistoryNames: c.HistoryNames, Log: c.Logger, Drain: drain,
	}
}
