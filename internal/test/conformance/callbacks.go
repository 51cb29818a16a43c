package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/receipts"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// callbackTests run each function that an application gives to package jobs with a panic, with runtime.Goexit and with a
// wait that lasts as long as the test; in the short form with one of these each. docs/callbacks.md says the same as this table.
func callbackTests() []test {
	tests := []test{{"AreAllInTheTable", testCallbacksListed}, {"PayloadsAreMarshaledOnce", testMarshaledOnce}, {"WritesGoOn", testWritesGoOn}}
	for i, c := range callbacks() {
		for j, m := range misuses() {
			if testing.Short() && i%len(misuses()) != j {
				continue
			}
			tests = append(tests, test{testName(c.name, m.name), func(f *fixture) { testCallback(f, c, m) }})
		}
	}
	return tests
}

// testName joins the words of texts to a name such as ErrorOfAHandlersErrorPanic.
func testName(texts ...string) string {
	var name strings.Builder
	separators := strings.NewReplacer("'", "", ".", " ")
	for word := range strings.FieldsSeq(separators.Replace(strings.Join(texts, " "))) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// misuse is an action of a callback in place of its work.
type misuse struct {
	name string
	do   func(release <-chan struct{})
}

func misuses() []misuse {
	return []misuse{
		{"Panic", func(<-chan struct{}) { panic("broken") }},
		{"Goexit", func(<-chan struct{}) { runtime.Goexit() }},
		{"Block", func(release <-chan struct{}) { <-release }},
	}
}

// caller says which goroutine calls a callback.
type caller int

const (
	callerQueue   caller = iota // a separate one of the callback
	callerAttempt               // the attempt's
	callerProgram               // the one on which the program calls the library
)

// callback is one row of the table.
type callback struct {
	name   string // as in docs/callbacks.md
	caller caller
	set    func(s *site, bad func())
	stuck  bool // the victim's handler does not return either
}

// staysStuck reports whether the victim's handler runs to the end of the test.
func (c callback) staysStuck(m misuse) bool {
	return c.stuck || m.name == "Block" && c.caller == callerAttempt
}

// site holds the functions and values that a program gives to the library in one test.
type site struct {
	observer jobs.Observer
	config   jobs.Config
	options  []jobs.ClientOption
	delay    func(jobs.Job, error) time.Duration // the victim's RetryDelay
	upgrade  func(int, json.RawMessage) (json.RawMessage, error)
	attempts int           // the victim's
	timeout  time.Duration // the victim's
	handle   func(ctx context.Context, job jobs.Job) error
	program  func(ctx context.Context, c *jobs.Client) error
	provoke  func(f *fixture, c *jobs.Client) // makes the runner call the callback, beside the victim
	wrap     func(Store) jobs.Store
	release  <-chan struct{}
	dial     string // the victim's payload: see remoteArgs
}

// testCallback runs a victim, whose callback is bad, beside a neighbour and other jobs.
func testCallback(f *fixture, c callback, m misuse) {
	release := make(chan struct{})
	called := make(chan struct{})
	var once sync.Once
	s := &site{
		attempts: 1, dial: "{}", release: release,
		config: jobs.Config{Lease: time.Second, StuckAfter: time.Nanosecond, Grace: -1, Queues: map[string]int{jobs.DefaultQueue: 2}},
		handle: func(context.Context, jobs.Job) error { return errors.New("broken") },
		wrap:   func(store Store) jobs.Store { return store },
	}
	c.set(s, func() {
		once.Do(func() { close(called) })
		m.do(release)
	})
	if c.staysStuck(m) {
		s.config.Queues[jobs.DefaultQueue] += s.attempts // the slot of a handler that does not return stays taken,
		s.timeout = 100 * time.Millisecond               // and its attempt ends when it ignores the end of its context
	}
	store := s.wrap(f.open(f.T, &s.observer))
	client := jobs.New(store, s.options...)
	stopped := make(chan struct{})
	f.Cleanup(func() { <-stopped })
	f.Cleanup(sync.OnceFunc(func() { close(release) }))

	neighbour := f.enqueue("neighbour", jobs.Priority(1), jobs.MaxAttempts(1))
	started, end := make(chan struct{}), make(chan struct{})
	runner := f.runner(client, s.config,
		on("neighbour", runsUntil(started, end)),
		on("other", nothing),
		func(r *jobs.Runner) {
			kind := jobs.Kind[remoteArgs]{Name: "victim", RetryDelay: s.delay, Upgrade: s.upgrade}
			if s.upgrade != nil {
				kind.Version = 1
			}
			kind.Handle(r, func(ctx context.Context, job jobs.Job, _ remoteArgs) error {
				return s.handle(ctx, job)
			})
		})
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer close(stopped)
		ended <- runner.Run(ctx)
	}()
	receive(f, "the neighbour's start", started)

	victim := f.enqueueVictim(s)
	program := make(chan any, 1)
	if s.program != nil {
		go func() {
			var outcome any = "Goexit"
			defer func() { program <- outcome }()
			defer func() {
				if p := recover(); p != nil {
					outcome = p
				}
			}()
			outcome = s.program(ctx, client)
		}()
	}
	if s.provoke != nil {
		s.provoke(f, client)
	}
	receive(f, "the call of "+c.name, called)

	f.wantRenewed(neighbour)
	plain := jobs.New(store)
	for range 3 {
		receipt, err := plain.Enqueue(f.ctx, "other", json.RawMessage("{}"))
		f.must(err)
		want(f, "status of another job", f.ended(receipt.ID).Status, jobs.StatusDone)
	}
	f.wantOutcome(victim, c, m)
	close(end)
	job := f.ended(neighbour)
	want(f, "status of the neighbour", job.Status, jobs.StatusDone)
	want(f, "attempts of the neighbour", job.Attempt, 1)
	if s.program != nil {
		f.wantProgram(program, m)
	}

	cancel()
	err := receive(f, "the runner's end", ended)
	if c.staysStuck(m) {
		if err == nil || !strings.Contains(err.Error(), "did not return") {
			f.Errorf("Run gives %v beside a handler that does not return", err)
		}
	} else {
		f.must(err)
	}
}

// runsUntil returns a handler that closes started and then runs until end is closed.
func runsUntil(started, end chan struct{}) func(context.Context, jobs.Job) error {
	return func(ctx context.Context, _ jobs.Job) error {
		close(started)
		select {
		case <-end:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *fixture) enqueueVictim(s *site) int64 {
	f.Helper()
	receipt, err := f.client.Enqueue(f.ctx, "victim", json.RawMessage(s.dial), jobs.MaxAttempts(s.attempts), jobs.Timeout(s.timeout))
	f.must(err)
	return receipt.ID
}

// wantRenewed waits until the lease of a running job was renewed once more.
func (f *fixture) wantRenewed(id int64) {
	f.Helper()
	before := f.get(id)
	f.eventually("the neighbour's lease is renewed", func() bool {
		job := f.get(id)
		if job.Status != jobs.StatusRunning || job.Attempt != 1 || job.WorkerID != before.WorkerID {
			f.Fatalf("the neighbour has lost its lease: status %s, attempt %d", job.Status, job.Attempt)
		}
		return job.LeaseUntil.After(before.LeaseUntil)
	})
}

// wantOutcome waits for the end of the victim's first attempt.
func (f *fixture) wantOutcome(id int64, c callback, m misuse) {
	f.Helper()
	var cause jobs.Cause
	f.eventually("the first attempt has an outcome", func() bool {
		for _, row := range f.errors(id) {
			if row.Attempt == 1 {
				cause = row.Cause
			}
		}
		return cause != ""
	})
	switch {
	case c.caller != callerAttempt:
		want(f, "cause", cause, jobs.CauseError)
	case c.staysStuck(m):
		want(f, "cause", cause, jobs.CauseTimeout)
	case strings.HasPrefix(c.name, "Format") && m.name == "Panic": // package fmt contains that
		want(f, "cause", cause, jobs.CauseError)
	default:
		want(f, "cause", cause, jobs.CausePanic)
	}
}

// wantProgram waits for the end of the program's own call, unless that is blocked.
func (f *fixture) wantProgram(program <-chan any, m misuse) {
	f.Helper()
	switch m.name {
	case "Panic":
		want(f, "what the call panics with", receive(f, "the panic", program), any("broken"))
	case "Goexit":
		want(f, "how the call ends", receive(f, "the end of its goroutine", program), any("Goexit"))
	}
}

// testMarshaledOnce: however large the payloads of many jobs are together, their marshalers are called before the
// transaction and not again in it.
func testMarshaledOnce(f *fixture) {
	const n = 20
	calls := 0
	list := make([]largeArgs, n)
	for i := range list {
		list[i].onMarshal = func() { calls++ }
	}
	ids, err := receipts.IDs(jobs.Kind[largeArgs]{Name: "k"}.EnqueueMany(f.ctx, f.client, list))
	f.must(err)
	want(f, "jobs", len(ids), n)
	want(f, "calls of MarshalJSON", calls, n)
}

// testWritesGoOn: a function of a transaction that does not return leaves no lock behind. Functions of the application
// never run there, but the engine copes with such functions too.
func testWritesGoOn(f *fixture) {
	for _, m := range misuses()[:2] { // nothing can be done about one that blocks
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				// Other callers in the transaction may fail with it.
				_ = f.store.Write(f.ctx, func(context.Context, db.Querier) error { m.do(nil); return nil })
			})
			callers.Go(func() {
				_ = f.store.Write(f.ctx, func(context.Context, db.Querier) error { return nil })
			})
		}
		callers.Wait()
		f.enqueue("k")
	}
}

// testCallbacksListed fails for a function, an interface or a logger in a public struct that the table lacks.
func testCallbacksListed(f *fixture) {
	known := map[string]bool{}
	for _, c := range callbacks() {
		known[strings.Fields(c.name)[0]] = true
	}
	for _, t := range []reflect.Type{
		reflect.TypeFor[jobs.Config](), reflect.TypeFor[jobs.Observer](), reflect.TypeFor[jobs.Kind[any]](),
		reflect.TypeFor[jobs.Retention](), reflect.TypeFor[inspect.Filter](),
	} {
		name, _, _ := strings.Cut(t.Name(), "[")
		for field := range t.Fields() {
			if field.IsExported() && isCallback(field.Type) && !known[name+"."+field.Name] {
				f.Errorf("callbacks() lacks %s.%s", name, field.Name)
			}
		}
	}
}

// isCallback reports whether a value of a type may have code of the application.
func isCallback(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Func, reflect.Interface, reflect.Chan:
		return true
	case reflect.Slice, reflect.Map, reflect.Array:
		return isCallback(t.Elem())
	case reflect.Pointer:
		return t.Elem().Kind() == reflect.Struct
	default:
		return false
	}
}
