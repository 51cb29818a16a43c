package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/limits"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/internal/queue/runner"
	"github.com/sqluice/sqluice/internal/queue/stats"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// OnBoot selects the action of a starting runner on jobs whose worker is gone.
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
	History   time.Duration // history by the quarter of an hour: from an hour to 30 days; 0 means 30 days
	Minutes   time.Duration // history by the minute: from 15 minutes to 6 hours; 0 means 6 hours
}

// Config configures a runner. The zero value of every field is its default.
type Config struct {
	// Queues holds the queues to claim from, each with its number of slots, which is the number of jobs that run at
	// once; 10 of [DefaultQueue] when empty. [Runner.SetQueue] changes them later.
	Queues map[string]int

	// QueueLimits holds the limits of whole queues that the runner declares, each for all jobs of its queue together, in all processes and
	// of all kinds, as [Client.SetQueueLimit] sets one: with a depth too, but without a weight and an order. What the newest live worker
	// declares of a queue counts, or else what was declared last; the zero value declares that there is none. A limit that SetQueueLimit
	// has set counts before it. The queues may be others than the runner's.
	QueueLimits map[string]LimitValues

	// Ahead is the largest number of jobs of each queue to claim, where jobs are short, before a slot is free for them, so that no slot
	// waits for the database: 4 for each slot, but at most 1000, when 0, and none when negative. More of them make a worker's transactions
	// longer. A job that has waited for 100 ms is released, and its claim does not count. Nor does the first end of a process count as an
	// attempt of a job that was claimed with more jobs than free slots. No job waits with OnBootFailed, or with MaxCrashes 1.
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

	// OnBoot is the action at the start on jobs whose worker is gone.
	OnBoot OnBoot

	// MaxCrashes is the number of crashes after which a job fails that was running when its worker's process died; 3 when 0. Crashes add up
	// over a job's life, and attempts that went well between them, such as snoozes, reset nothing. A manual retry does.
	MaxCrashes int

	// Retention sets how long ended jobs are kept.
	Retention Retention

	// HistoryNames bounds the history, whose rows grow with the names of queues and kinds: it is the number of queues, of kinds, and of
	// pairs of the two with their own rows in each quarter of an hour; 500 when 0. Names that end jobs first take precedence, and within a
	// few seconds the names that end the most jobs. All others are added up as the queue, or kind, _other. Sums over all are exact. Each
	// runner uses its own bound: give all of a database the same.
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
	c.Queues, c.QueueLimits, c.Middleware = maps.Clone(c.Queues), maps.Clone(c.QueueLimits), slices.Clone(c.Middleware)
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
	for _, name := range slices.Sorted(maps.Keys(c.QueueLimits)) {
		faults = append(faults, ValidateName("queue of a limit", name))
		if err := limits.CheckDeclared(core.ScopeQueue, c.QueueLimits[name]); err != nil {
			faults = append(faults, fmt.Errorf("queue %s: %w", strconv.Quote(name), err))
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
		{c.Ahead <= runner.ClaimMost, "Ahead", fmt.Sprint(c.Ahead), fmt.Sprintf("be at most %d", runner.ClaimMost)},
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

// internal returns the config in the form of package runner.
func (c Config) internal(drain bool) runner.Config {
	return runner.Config{
		Prefetch: c.Ahead, Name: c.Name, Version: c.Version, Grace: c.Grace, Stop: c.StopTimeout, Lease: c.Lease, Timeout: c.Timeout,
		StuckAfter: c.StuckAfter, FailOnBoot: c.OnBoot == OnBootFailed, MaxCrashes: c.MaxCrashes,
		Retention: prune.Retention(c.Retention), HistoryNames: c.HistoryNames, Log: c.Logger, Drain: drain,
	}
}
