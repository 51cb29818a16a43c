package runner

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/clock"
	"github.com/sqluice/sqluice/internal/queue/declare"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/jobrow"
	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// Options holds the parts of a run that do not belong to its Config.
type Options struct {
	Scope    *engine.Scope
	Registry *Registry
	Queues   *Queues
	Handlers map[string]*Handler             // the handlers by kind
	Prepare  func(ctx context.Context) error // called before the worker claims; retried during an outage

	Sources []Source // further sources of claimable jobs

	Declared  []declare.Declaration // the declarations of the program
	Schedules string                // a JSON list of the names of the schedules that the worker declares
	Settings  *jobrow.Declared      // the declared settings of kinds; the run reads them when it starts, and its heartbeat when they may have changed
}

// run is one call of Run: the connected parts of a worker. Its loop is created when it has started.
type run struct {
	env       *env
	ledger    *ledger
	slots     *slots
	executor  *executor
	committer *committer
	presence  *presence

	rescuer  *maintenance.Rescuer
	rollup   *maintenance.Rollup
	receiver *receiver
	registry *Registry
	scope    *engine.Scope
	prepare  func(context.Context) error
	giveUp   context.CancelCauseFunc // ends the context writing
}

// Run claims jobs and runs them until ctx ends, or, with Config.Drain, until no job is left. Then it stops claiming, lets
// handlers finish for Config.Grace, cancels the rest, and gives unfinished jobs back. Its error says why it could not start
// or work. It waits a while for the observer and the logger.
func Run(ctx context.Context, config Config, o Options) error {
	kinds, err := json.Marshal(slices.Sorted(maps.Keys(o.Handlers)))
	if err != nil {
		return err
	}
	log := callback.Logger(config.Log)
	e := &env{
		store: o.Scope.Store, observer: o.Scope.Store.Observer(), config: config, log: log, handlers: o.Handlers,
		kinds: string(kinds), notes: &refusal.Notes{Log: log}, values: context.WithoutCancel(ctx), finished: make(chan struct{}), inTx: make(chan struct{}, 1),
		cipher: o.Scope.Cipher, sources: o.Sources, schedules: o.Schedules, served: o.Queues,
		declared: &declare.Enforcer{Scope: o.Scope, Log: log, Declared: o.Declared}, settings: o.Settings,
	}
	var giveUp context.CancelCauseFunc
	e.writing, giveUp = context.WithCancelCause(e.values)
	defer giveUp(nil)
	defer callback.Flush(e.observer, e.log, "the runner")
	r := newRun(e, o)
	defer e.served.attach(nil, nil)
	r.giveUp = giveUp
	return r.work(ctx)
}

func newRun(e *env, o Options) *run {
	l := newLedger()
	e.mu = &l.mu
	p := &presence{env: e, name: e.config.Name}
	rollup := maintenance.NewRollup(o.Scope, e.log, e.notes, e.config.HistoryNames)
	p.rescuer = &maintenance.Rescuer{
		Store: e.store, Log: e.log, MaxCrashes: e.config.MaxCrashes, FailAll: e.config.FailOnBoot, Self: p.workerID, Rescued: rollup.Note,
		Notes: e.notes,
	}
	s := &slots{env: e, ledger: l, queues: map[string]*queueSlots{}}
	x := &executor{env: e, ledger: l, slots: s, next: make(chan *Attempt)}
	r := &run{
		env: e, ledger: l, slots: s, executor: x, presence: p, rescuer: p.rescuer, rollup: rollup,
		committer: &committer{env: e, ledger: l, presence: p, completer: &completer{env: e, ledger: l, rollup: rollup}, steps: allSteps(e, l)},
		receiver:  &receiver{env: e, ledger: l, slots: s, executor: x, presence: p},
		registry:  o.Registry, scope: o.Scope, prepare: o.Prepare,
	}
	e.served.attach(s.reset, x.setSlots)
	return r
}

func (r *run) work(ctx context.Context) error {
	if err := r.reach(ctx, func(ctx context.Context) error { return engine.CheckSchema(ctx, r.env.store) }); err != nil {
		return startFault(ctx, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer r.ledger.cancelHandlers(context.Canceled)
	defer r.limitStop(ctx)()

	// The parts that keep the worker alive go on until the last outcome is recorded, so this context does not end with ctx.
	keep, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopKeeping()
	if err := r.reach(ctx, r.presence.register); err != nil {
		return startFault(ctx, err)
	}
	for _, step := range []func(context.Context) error{r.prepare, r.declare, r.readSettings, r.rescuer.Boot, r.settleOverdue} {
		if err := r.reach(ctx, step); err != nil {
			return errors.Join(startFault(ctx, err), r.unregisterWorker())
		}
	}
	queues, _ := r.env.served.Slots()
	r.env.log.Info("worker started", "worker", r.presence.name, "queues", forLog(queues), "kinds", slices.Sorted(maps.Keys(r.env.handlers)))

	var beside sync.WaitGroup
	for _, service := range r.services(stop) {
		beside.Go(func() { maintenance.Serve(keep, service, r.env.log) })
	}
	beside.Go(func() { r.hurryStop(ctx) })
	r.registry.addReceiver(r.receiver)
	err := r.newLoop().produce(ctx)
	r.registry.removeReceiver(r.receiver)
	close(r.env.finished)
	stopKeeping()
	beside.Wait()
	r.rollup.Finish(r.env.writing)
	_, schema := r.ledger.faults()
	err = errors.Join(err, schema, r.unregisterWorker())
	r.env.log.Info("worker stopped", "worker", r.presence.name)
	return err
}

// allSteps returns the steps of a cycle. A new step is a line here.
func allSteps(e *env, l *ledger) steps {
	q := quarantine{e, l}
	return steps{q.onlyFreeSlots(), q.oneLastChance(), noRisk()}
}

// newLoop returns the loop of a run that has started.
func (r *run) newLoop() *loop {
	l := &loop{
		env: r.env, ledger: r.ledger, slots: r.slots, executor: r.executor, committer: r.committer, trouble: outage.New(r.env.log), batch: batchSlots,
		lookout: lookout{
			env: r.env, served: subscription{unlisten: func() {}}, alarm: clock.NewAlarm(r.env.store.Now), claimable: map[string]bool{},
			further: further{noPending: map[string]time.Time{}}, backoff: r.env.store.Claims().Backoff(r.rescuer.Workers),
		},
	}
	l.refusals = refusals{env: r.env, ledger: r.ledger, slots: r.slots, committer: r.committer, commitOne: l.commitOne}
	return l
}

// readSettings reads the settings of kinds, which the heartbeat renews.
func (r *run) readSettings(ctx context.Context) error {
	return r.env.store.Read(ctx, r.env.settings.Read)
}

// declare puts the program's declarations in force.
func (r *run) declare(ctx context.Context) error {
	return r.env.declared.Start(ctx, declare.Worker{ID: r.presence.workerID(), Name: r.presence.name})
}

// startFault returns the error of a start, and nil if the start was only stopped.
func startFault(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return nil
	}
	return err
}

// settleOverdue does for a drain the work of the scheduler of other runs: pauses may have ended while no worker was there, successors
// may have been left, and jobs may not have been started in time.
func (r *run) settleOverdue(ctx context.Context) error {
	if !r.env.config.Drain {
		return nil
	}
	return r.newUpkeep().SettleOverdue(ctx)
}

// services returns the services beside the loop. A new service is a line here.
func (r *run) services(stop context.CancelFunc) []maintenance.Service {
	services := []maintenance.Service{
		newHeartbeat(r.executor, r.presence, stop),
		&maintenance.Pruner{Scope: r.scope, Retention: r.env.config.Retention, Log: r.env.log, Notes: r.env.notes, Pruned: r.rollup.Note},
		r.rollup,
		&maintenance.CommittedEnds{Store: r.env.store, Log: r.env.log, Began: r.env.inTx, List: r.ledger.pendingEnds},
	}
	if !r.env.config.Drain {
		services = append(services, r.newUpkeep())
	}
	return services
}

func (r *run) newUpkeep() *maintenance.Upkeep {
	return &maintenance.Upkeep{Store: r.env.store, Log: r.env.log, Declared: r.env.schedules, Notes: r.env.notes, Changed: r.rollup.Note}
}

// reach runs a step of the start, and retries while the database is not ready, as when a server starts with the machine
// or is a standby that has not been promoted yet.
func (r *run) reach(ctx context.Context, step func(context.Context) error) error {
	trouble := outage.New(r.env.log)
	for {
		err := step(ctx)
		if err == nil {
			trouble.Over("the database is ready")
		}
		if !outage.Passing(err) || ctx.Err() != nil {
			return err
		}
		pause := outage.Backoff(trouble.Failures() + 1)
		trouble.Failed(slog.LevelWarn, "the database is not ready; trying again", "error", err, "pause", pause)
		if !outage.Sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// loggedQueues is the largest number of queues that a log line names.
const loggedQueues = 50

// forLog returns queues for the log: the first by name, and the number of the others.
func forLog(queues map[string]int) map[string]int {
	if len(queues) <= loggedQueues {
		return queues
	}
	shown := make(map[string]int, loggedQueues+1)
	for _, name := range slices.Sorted(maps.Keys(queues))[:loggedQueues] {
		shown[name] = queues[name]
	}
	shown["(other queues)"] = len(queues) - loggedQueues
	return shown
}

// hurryStop cancels the handlers when the grace of a stop is over, and wakes the loop for each step of a stop.
func (r *run) hurryStop(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-r.env.finished:
		return
	}
	r.slots.close()
	r.ledger.signal()
	if r.env.config.Grace > 0 && !r.goesOnFor(r.env.config.Grace) {
		return
	}
	r.ledger.cancelHandlers(jobtype.ErrStopping)
	if r.goesOnFor(min(r.env.config.StuckAfter, r.env.config.Stop/2)) {
		r.abandon()
	}
}

// limitStop gives up on the database when a stop has taken its time. The caller calls over when the run has ended.
func (r *run) limitStop(ctx context.Context) (over func()) {
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		timer := time.NewTimer(max(r.env.config.Grace, 0) + r.env.config.Stop)
		defer timer.Stop()
		select {
		case <-timer.C:
			r.giveUp(errStopTimeout)
			r.ledger.signal()
		case <-ended:
		}
	}()
	return func() { close(ended) }
}

// errStopTimeout says why a stopping run no longer waits for the database.
var errStopTimeout = errors.New("StopTimeout is over")

// unregisterWorker removes the worker after the run. It leaves a goodbye when ends of attempts could not be recorded, or its row not changed.
func (r *run) unregisterWorker() error {
	if len(r.ledger.attempts()) > 0 {
		return r.presence.sayGoodbye()
	}
	ctx, cancel := context.WithTimeoutCause(r.env.writing, r.env.config.Stop, errStopTimeout)
	defer cancel()
	return r.presence.unregister(ctx)
}

// abandon gives back the jobs of handlers that do not return, so that the run can stop without them.
func (r *run) abandon() {
	var left []*Attempt
	r.ledger.do(func() {
		for _, a := range r.ledger.running {
			if !a.over {
				left = append(left, a)
				r.ledger.addEnd(a, lifecycle.End{Job: &a.job, Fate: lifecycle.FateRelease}, time.Since(a.claimed))
			}
		}
	})
	for _, a := range left {
		r.env.log.Error("handler does not return: its job is given back without it", a.attrs()...)
	}
	r.ledger.signal()
}

// goesOnFor waits for d. It returns false when the run ends before.
func (r *run) goesOnFor(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.env.finished:
		return false
	}
}
