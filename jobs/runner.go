package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/audit"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/limits"
	"github.com/sqluice/sqluice/internal/queue/prune"
	"github.com/sqluice/sqluice/internal/queue/redact"
	"github.com/sqluice/sqluice/internal/queue/runner"
	"github.com/sqluice/sqluice/internal/queue/schedule"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Runner claims jobs and runs them: make one with [NewRunner], give it handlers with [Kind.Handle], and call Run.
// It claims only kinds that it has handlers for.
type Runner struct {
	client   *Client
	config   Config
	queues   *runner.Queues
	handlers map[string]*runner.Handler
	marks    map[string][]string // the sensitive fields of the kinds that have handlers
	settings map[string]declare.Settings
	started  atomic.Bool

	schedules []Schedule // declared by the runner
	queued    []handler  // the handlers of kinds that name a queue
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
		client: client, config: config, queues: runner.NewQueues(config.Queues), handlers: map[string]*runner.Handler{}, marks: map[string][]string{},
		settings: map[string]declare.Settings{},
	}, nil
}

// handler is a runner's handler of a kind, with the kind's settings.
type handler struct {
	kind       string
	queue      string // the queue of the kind; empty if it names none
	settings   jobrow.Settings
	declares   declare.Settings // all except the time for which its jobs are kept
	retryDelay func(Job, error) time.Duration
	sensitive  []string
	keep       time.Duration
	version    int
	limit      error                             // the fault of the kind's limit
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
	if h.limit != nil {
		panic("jobs: Handle: kind " + strconv.Quote(h.kind) + ": " + h.limit.Error())
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
	r.handlers[h.kind] = &runner.Handler{
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
		return errors.New("run: the runner has run already, and runs only once: make a new one")
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
		Sources: []runner.Source{&limits.Source{}},
		Prepare: r.prepare, Settings: r.client.kinds,
	})
	return core.Wrap(err, "run")
}
