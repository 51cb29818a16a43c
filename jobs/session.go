package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/queue/stats"
)

// session is one call of Run. Five goroutines share it: the pump, which claims and records; the housekeeper, which keeps
// leases alive and looks after jobs whose worker is gone; the pruner; what adds up counts; what hurries a stop. Others run the
// attempts (slots.go), or add a job that is claimed already (handover.go).
type session struct {
	store    Store
	observer *Observer
	client   *Client
	config   Config
	log      *slog.Logger
	handlers map[string]handler
	kinds    string // the handlers' names as a JSON list
	drain    bool

	stop     context.CancelFunc // as the caller's context does
	values   context.Context    // those of the caller's, for the handlers; it does not end
	settled  chan struct{}      // a signal to the pump: an outcome waits, or an attempt has ended
	next     chan *attempt      // to a goroutine that is free
	finished chan struct{}      // closed when the pump has returned
	crowd    atomic.Int64       // how many workers there were when the housekeeper looked

	mu       sync.Mutex
	worker   worker
	running  map[fence]*attempt // claimed: those whose handlers have not returned, and outcomes that are not recorded
	outcomes []outcome          // to be recorded
	patience bool               // the pump waits for more outcomes
	lanes    map[string]*lane   // by queue
	closing  bool               // nothing is claimed ahead any more
	back     *time.Timer        // when jobs that were claimed ahead are given back; nil when none waits
	fatal    error              // what the housekeeper found that must end the run
	schema   error              // what it found that must stop it
	ending   error              // why the contexts of all handlers ended
	turns    uint64             // how many have begun
	open     []uint64           // the numbers of those whose handlers have not, in their order
	resting  bool               // the pump waits for a notification
	engaged  bool               // a job is being handed over
	refused  map[fence]struct{} // attempts whose end the database does not take
	spans    stats.Durations    // how long jobs waited and ran, not yet in the history
	noted    bool               // there may be notes to be added up
}

// fence names an attempt: no two have the same.
type fence struct {
	job     int64
	attempt int64
}

func newSession(r *Runner, kinds string, drain bool) *session {
	return &session{
		store: r.client.store, observer: r.client.store.Observer(), client: r.client, config: r.config, log: callback.Logger(r.config.Logger), handlers: r.handlers,
		kinds: kinds, drain: drain, settled: make(chan struct{}, 1), next: make(chan *attempt), finished: make(chan struct{}),
		running: map[fence]*attempt{}, lanes: newLanes(r.config), refused: map[fence]struct{}{},
		spans: stats.Durations{}, noted: true,
	}
}

func (s *session) run(ctx context.Context) error {
	if err := s.reach(ctx, func(ctx context.Context) error { return checkSchema(ctx, s.store) }); err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	s.values = context.WithoutCancel(ctx)
	defer s.endHandlers(context.Canceled)

	// What keeps the worker alive goes on until the last outcome is recorded, so it does not end with ctx.
	keep, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopKeeping()
	if err := s.reach(ctx, s.register); err != nil {
		return err
	}
	if err := s.reach(ctx, s.mark); err != nil {
		return errors.Join(err, s.unregister(keep))
	}
	if err := s.reach(ctx, s.boot); err != nil {
		return errors.Join(err, s.unregister(keep))
	}
	s.log.Info("worker started", "worker", s.config.Name, "queues", s.config.Queues, "kinds", slices.Sorted(maps.Keys(s.handlers)))

	var helpers sync.WaitGroup
	helpers.Go(func() { s.keepHouse(keep) })
	helpers.Go(func() { s.prune(keep) })
	helpers.Go(func() { s.foldOften(keep) })
	helpers.Go(func() { s.hurry(ctx) })
	s.client.desk.open(s)
	err := s.pump(ctx)
	s.client.desk.close(s)
	close(s.finished)
	stopKeeping()
	helpers.Wait()
	last, stopLast := context.WithTimeout(context.WithoutCancel(ctx), foldLast)
	if fault := s.fold(last); fault != nil {
		s.log.Warn("adding up counts failed at the end: how long the last jobs took is not in the history", "error", fault)
	}
	stopLast()
	err = errors.Join(err, s.schemaFault(), s.unregister(context.WithoutCancel(ctx)))
	s.log.Info("worker stopped", "worker", s.config.Name)
	return err
}

// mark marks the sensitive fields of the kinds that have handlers.
func (s *session) mark(ctx context.Context) error {
	fields := map[string][]string{}
	for kind, h := range s.handlers {
		if len(h.sensitive) > 0 {
			fields[kind] = h.sensitive
		}
	}
	return s.client.mark(ctx, fields)
}

// reach takes a step of the start, and waits for a database that is not ready yet, as when a server starts with the machine
// or is a standby until the one before it is given up.
func (s *session) reach(ctx context.Context, step func(context.Context) error) error {
	trouble := newOutage(s.log)
	for {
		err := step(ctx)
		if err == nil {
			trouble.over("the database is ready")
		}
		if !passing(err) || ctx.Err() != nil {
			return err
		}
		pause := backoff(trouble.failures + 1)
		trouble.failed(slog.LevelWarn, "the database is not ready; trying again", "error", err, "pause", pause)
		if !s.pause(ctx, pause) {
			return ctx.Err()
		}
	}
}

// passing reports whether an error is a state of the database that a starting runner waits out. A fault that a person has to
// fix, such as a wrong password or a file without write permission, ends the runner.
func passing(err error) bool {
	for _, state := range []error{ErrUnavailable, ErrReadOnly, ErrBusy, ErrFull, ErrDisk, ErrUnknownOutcome} {
		if errors.Is(err, state) {
			return true
		}
	}
	return false
}

// pause reports whether ctx still goes on after d.
func (s *session) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// begin marks the beginning of a turn, and end that its handlers have begun, or that there are none. Callers hold mu.
func (s *session) begin() (number uint64) {
	s.turns++
	s.open = append(s.open, s.turns)
	return s.turns
}

func (s *session) end(number uint64) {
	s.open = slices.DeleteFunc(s.open, func(n uint64) bool { return n == number })
}

// hurry cancels the handlers when the grace of a stop is over, and wakes the pump for each step of a stop.
func (s *session) hurry(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.finished:
		return
	}
	s.closeLanes()
	s.signal()
	if s.config.Grace > 0 && !s.wait(s.config.Grace) {
		return
	}
	s.endHandlers(ErrStopping)
	if s.wait(s.config.StuckAfter) {
		s.abandon()
	}
}

// endHandlers ends the contexts of all handlers, now and later. A parent of these contexts would do the same, but would keep a list
// of them, which is a tenth of what a job that does nothing costs this process.
func (s *session) endHandlers(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != nil {
		return
	}
	s.ending = cause
	for _, a := range s.running {
		a.cancel(cause)
	}
}

// wait reports whether the session still goes on after d.
func (s *session) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.finished:
		return false
	}
}

// signal makes the pump look at what has changed.
func (s *session) signal() {
	select {
	case s.settled <- struct{}{}:
	default: // it will look anyway
	}
}

// abandon gives back the jobs of handlers that do not return, so that the runner can stop without them.
func (s *session) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.running {
		if !a.over {
			s.log.Error("handler does not return: its job is given back without it", a.attrs()...)
			s.settle(a, outcome{attempt: a, fate: fateRelease}, time.Since(a.claimed))
		}
	}
	s.signal()
}

// settle notes an attempt's outcome and how long it took, the first time only. It returns true when the lease was lost: the
// attempt is then forgotten, and the caller tells the observer. Callers hold mu.
func (s *session) settle(a *attempt, o outcome, took time.Duration) (lost bool) {
	if a.over {
		return false
	}
	a.over, a.took = true, took
	if o.fate == fateLost {
		s.forget(a)
		return true
	}
	o.apart = a.completed
	s.outcomes = append(s.outcomes, o)
	return false
}

// forget takes an attempt off the list of those that run. Its place may be another's: see dispatch. Callers hold mu.
func (s *session) forget(a *attempt) {
	if s.running[a.fence()] == a {
		delete(s.running, a.fence())
	}
}

// giveUp makes the pump end the run. When the schema has become another one, it ends as if it was stopped: what runs may
// end, and is recorded or given back. Each version of the schema can take that from the program of the one before.
func (s *session) giveUp(err error) {
	var schema *SchemaError
	s.mu.Lock()
	if errors.As(err, &schema) {
		s.schema = err
		s.log.Error("the schema has changed: stopping", "error", err)
		s.stop()
	} else {
		s.fatal = err
	}
	s.mu.Unlock()
	s.signal()
}

func (s *session) schemaFault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.schema
}

func (s *session) fatalError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fatal
}

// stuck is the error for handlers that had not returned when the runner stopped.
func (s *session) stuck() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.lanes {
		n += l.active
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("handlers that did not return after their context was cancelled: %d", n)
}
