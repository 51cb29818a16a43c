package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// callbacks returns the table of the functions, and methods of values, that a program gives to package jobs.
func callbacks() []callback {
	list := append(observerCallbacks(), attemptCallbacks()...)
	return append(list, programCallbacks()...)
}

func observerCallbacks() []callback {
	return []callback{
		{name: "Observer.Enqueued", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Enqueued = func(jobs.Enqueued) { bad() }
			s.provoke = func(f *fixture, c *jobs.Client) {
				_, err := c.Enqueue(f.ctx, "other", json.RawMessage("{}"))
				f.must(err)
			}
		}},
		{name: "Observer.Started", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Started = func(jobs.Started) { bad() }
		}},
		{name: "Observer.Finished", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Finished = func(jobs.Finished) { bad() }
		}},
		{name: "Observer.Rescued", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Rescued = func(jobs.Rescued) { bad() }
			s.provoke = func(f *fixture, _ *jobs.Client) { f.ghost("dead", time.Hour).die() }
		}},
		{name: "Observer.Expired", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Expired = func(jobs.Expired) { bad() }
			s.provoke = func(f *fixture, _ *jobs.Client) { f.insert("queue, start_by", "'nowhere', 100000000000000") }
		}},
		{name: "Observer.Turned", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Turned = func(jobs.Turned) { bad() }
		}},
		{name: "Observer.Committed", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Committed = func(int, time.Duration) { bad() }
		}},
		{name: "Observer.Queried", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Queried = func(string, time.Duration, error) { bad() }
		}},
		{name: "Observer.Failed", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Failed = func(error) { bad() }
			s.wrap = func(store Store) jobs.Store { return engine.SealStore(faultyReads{store}) }
			s.provoke = func(f *fixture, c *jobs.Client) {
				if _, err := c.Get(context.WithValue(f.ctx, faultyReads{}, true), 1); !errors.Is(err, errFaultyRead) {
					f.Errorf("Get gives %v", err)
				}
			}
		}},
		{name: "Observer.Woken", caller: callerQueue, set: func(s *site, bad func()) {
			s.observer.Woken = func(jobs.WakeSource) { bad() }
		}},
		{name: "Config.Logger Enabled", caller: callerQueue, set: func(s *site, bad func()) {
			s.config.Logger = slog.New(hookedLog{slog.DiscardHandler, bad, func() {}})
		}},
		{name: "Config.Logger Handle", caller: callerQueue, set: func(s *site, bad func()) {
			s.config.Logger = slog.New(hookedLog{slog.DiscardHandler, func() {}, bad})
		}},
	}
}

func attemptCallbacks() []callback {
	fails := func(err error) func(context.Context, jobs.Job) error {
		return func(context.Context, jobs.Job) error { return err }
	}
	return []callback{
		{name: "Handler", caller: callerAttempt, set: func(s *site, bad func()) {
			s.handle = func(context.Context, jobs.Job) error { bad(); return errors.New("broken") }
		}},
		{name: "Config.Middleware", caller: callerAttempt, set: func(s *site, bad func()) {
			s.config.Middleware = []jobs.RunMiddleware{func(next jobs.RunFunc) jobs.RunFunc {
				return func(ctx context.Context, job jobs.Job) error {
					if job.Kind == "victim" {
						bad()
					}
					return next(ctx, job)
				}
			}}
		}},
		{name: "Kind.RetryDelay", caller: callerAttempt, set: func(s *site, bad func()) {
			s.attempts = 2 // it is asked only while attempts are left
			s.delay = func(jobs.Job, error) time.Duration { bad(); return time.Hour }
		}},
		{name: "Kind.Upgrade", caller: callerAttempt, set: func(s *site, bad func()) {
			s.upgrade = func(_ int, payload json.RawMessage) (json.RawMessage, error) {
				bad()
				return payload, errors.New("broken")
			}
		}},
		{name: "Kind.RetryDelay of a stuck handler", caller: callerAttempt, set: func(s *site, bad func()) {
			s.attempts = 2
			s.delay = func(jobs.Job, error) time.Duration { bad(); return time.Hour }
			s.handle = func(context.Context, jobs.Job) error {
				<-s.release
				return nil
			}
		}, stuck: true},
		{name: "Error of a handler's error", caller: callerAttempt, set: func(s *site, bad func()) { s.handle = fails(hookedError{onError: bad}) }},
		{name: "Unwrap of a handler's error", caller: callerAttempt, set: func(s *site, bad func()) { s.handle = fails(hookedError{onUnwrap: bad}) }},
		{name: "As of a handler's error", caller: callerAttempt, set: func(s *site, bad func()) { s.handle = fails(hookedError{onAs: bad}) }},
		{name: "Format of a handler's error", caller: callerAttempt, set: func(s *site, bad func()) {
			s.handle = fails(jobs.Discard(hookedFormat{hookedError{}, bad}))
		}},
		{name: "String of a panic value", caller: callerAttempt, set: func(s *site, bad func()) {
			s.handle = func(context.Context, jobs.Job) error { panic(hookedString{bad}) }
		}},
		{name: "UnmarshalJSON of a payload", caller: callerAttempt, set: func(s *site, bad func()) { s.dial = serveMisuse(bad) }},
		{name: "MarshalJSON of a result", caller: callerAttempt, set: func(s *site, bad func()) {
			s.handle = func(_ context.Context, job jobs.Job) error { return job.SetResult(hookedJSON{bad}) }
		}},
		{name: "MarshalJSON of progress", caller: callerAttempt, set: func(s *site, bad func()) {
			s.handle = func(ctx context.Context, job jobs.Job) error { return job.SetProgress(ctx, hookedJSON{bad}) }
		}},
		{name: "MarshalJSON of CompleteTx's result", caller: callerAttempt, set: func(s *site, bad func()) {
			s.handle = func(ctx context.Context, job jobs.Job) error { return jobs.CompleteTx(ctx, nil, job, hookedJSON{bad}) }
		}},
	}
}

func programCallbacks() []callback {
	return []callback{
		{name: "WithMiddleware", caller: callerProgram, set: func(s *site, bad func()) {
			s.options = []jobs.ClientOption{jobs.WithMiddleware(func(next jobs.EnqueueFunc) jobs.EnqueueFunc {
				return func(ctx context.Context, r *jobs.EnqueueRequest) error {
					bad()
					return next(ctx, r)
				}
			})}
			s.program = func(ctx context.Context, c *jobs.Client) error {
				_, err := c.Enqueue(ctx, "other", json.RawMessage("{}"))
				return err
			}
		}},
		{name: "MarshalJSON of a payload", caller: callerProgram, set: func(s *site, bad func()) {
			s.program = func(ctx context.Context, c *jobs.Client) error {
				_, err := jobs.Kind[hookedJSON]{Name: "other"}.Enqueue(ctx, c, hookedJSON{bad})
				return err
			}
		}},
		{name: "MarshalJSON of many payloads", caller: callerProgram, set: func(s *site, bad func()) {
			s.program = func(ctx context.Context, c *jobs.Client) error {
				list := []hookedJSON{{func() {}}, {bad}}
				_, err := jobs.Kind[hookedJSON]{Name: "other"}.EnqueueMany(ctx, c, list)
				return err
			}
		}},
		{name: "MarshalJSON of AuditDetail", caller: callerProgram, set: func(s *site, bad func()) {
			s.program = func(ctx context.Context, c *jobs.Client) error {
				_, err := inspect.New(c).CancelMany(jobs.WithActor(ctx, "ann"), []int64{1 << 40}, jobs.AuditDetail(hookedJSON{bad}))
				return err
			}
		}},
		{name: "MarshalJSON of metadata", caller: callerProgram, set: func(s *site, bad func()) {
			s.program = func(ctx context.Context, c *jobs.Client) error {
				_, err := c.Enqueue(ctx, "other", json.RawMessage("{}"), jobs.Metadata(hookedJSON{bad}))
				return err
			}
		}},
	}
}

// errFaultyRead is the error of faultyReads.
var errFaultyRead = errors.New("the read failed")

// faultyReads is a store that refuses reads whose context says so.
type faultyReads struct{ engine.Store }

func (s faultyReads) Read(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if ctx.Value(faultyReads{}) != nil {
		return errFaultyRead
	}
	return s.Store.Read(ctx, fn)
}

func (s faultyReads) Inspect(ctx context.Context, fn func(context.Context, db.Querier) error) error {
	if ctx.Value(faultyReads{}) != nil {
		return errFaultyRead
	}
	return s.Store.Inspect(ctx, fn)
}

// hookedLog is a log handler that calls functions first.
type hookedLog struct {
	slog.Handler
	onEnabled, onHandle func()
}

func (h hookedLog) Enabled(context.Context, slog.Level) bool {
	h.onEnabled()
	return true
}

func (h hookedLog) Handle(context.Context, slog.Record) error {
	h.onHandle()
	return nil
}

// hookedError is an error whose methods call functions.
type hookedError struct{ onError, onUnwrap, onAs func() }

func (e hookedError) call(fn func()) {
	if fn != nil {
		fn()
	}
}

func (e hookedError) Error() string {
	e.call(e.onError)
	return "broken"
}

func (e hookedError) Unwrap() error {
	e.call(e.onUnwrap)
	return nil
}

func (e hookedError) As(any) bool {
	e.call(e.onAs)
	return false
}

// hookedFormat is an error that is formatted by a function.
type hookedFormat struct {
	hookedError
	onFormat func()
}

func (e hookedFormat) Format(fmt.State, rune) { e.onFormat() }

// hookedString is a value that a function converts to a text.
type hookedString struct{ onString func() }

func (v hookedString) String() string {
	v.onString()
	return "broken"
}

// hookedJSON is a value that a function encodes as JSON.
type hookedJSON struct{ onMarshal func() }

func (v hookedJSON) MarshalJSON() ([]byte, error) {
	v.onMarshal()
	return []byte("{}"), nil
}

// largeArgs is a payload of almost the largest size that a function encodes as JSON.
type largeArgs struct{ onMarshal func() }

func (v largeArgs) MarshalJSON() ([]byte, error) {
	v.onMarshal()
	return json.Marshal(strings.Repeat("x", jobs.MaxPayload-2))
}

// UnmarshalJSON takes any JSON.
func (*hookedJSON) UnmarshalJSON([]byte) error { return nil }

// remoteArgs is a payload that asks a test for instructions while it is decoded: no value of it exists before that
// could get a function.
type remoteArgs struct{}

// serveMisuse calls bad at the end of a connection, and returns a payload whose remoteArgs does the same as bad.
func serveMisuse(bad func()) (payload string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Sprintf("%q", err.Error())
	}
	go func() {
		defer func() { _ = listener.Close() }()
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }() // after bad, if that blocks
		answer := "g"                       // bad calls runtime.Goexit unless it panics
		defer func() {
			if recover() != nil {
				answer = "p"
			}
			_, _ = io.WriteString(conn, answer)
		}()
		bad()
		answer = "b"
	}()
	return fmt.Sprintf("%q", listener.Addr())
}

func (*remoteArgs) UnmarshalJSON(data []byte) error {
	var address string
	if json.Unmarshal(data, &address) != nil || address == "" {
		return nil // no test answers
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	answer := make([]byte, 1)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	switch answer[0] {
	case 'p':
		panic("broken")
	case 'g':
		runtime.Goexit()
	}
	return nil
}
