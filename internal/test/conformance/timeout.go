package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var timeoutTests = []test{
	{"OfTheRunner", func(f *fixture) { testTimeout(f, jobs.Config{Timeout: time.Millisecond}, 0) }},
	{"OfTheKind", func(f *fixture) { testTimeout(f, jobs.Config{Timeout: time.Hour}, time.Millisecond) }},
	{"OfTheJob", func(f *fixture) {
		testTimeout(f, jobs.Config{Timeout: time.Hour}, time.Hour, jobs.Timeout(time.Millisecond))
	}},
	{"DoneAllTheSame", testDoneAfterTimeout},
	{"IgnoredContext", testIgnoredContext},
}

func testTimeout(f *fixture, config jobs.Config, ofKind time.Duration, opts ...jobs.EnqueueOption) {
	kind := jobs.Kind[json.RawMessage]{Name: "k", Timeout: ofKind}
	id := f.enqueue("k", append(opts, jobs.MaxAttempts(1))...)
	f.drain(config, onKind(kind, func(ctx context.Context, _ jobs.Job) error {
		if _, ok := ctx.Deadline(); !ok {
			f.Error("the handler's context has no deadline")
		}
		<-ctx.Done()
		if cause := context.Cause(ctx); cause != jobs.ErrTimeout {
			f.Errorf("the cause is %v", cause)
		}
		return ctx.Err()
	}))
	want(f, "status", f.get(id).Status, jobs.StatusFailed)
	f.wantError(id, jobs.CauseTimeout, context.DeadlineExceeded.Error())
}

func testDoneAfterTimeout(f *fixture) {
	job := f.one(func(ctx context.Context, _ jobs.Job) error {
		<-ctx.Done()
		return nil
	}, jobs.Timeout(time.Millisecond))
	want(f, "status of a job whose work is done", job.Status, jobs.StatusDone)
}

// testIgnoredContext runs a handler that continues after its context ended: its attempt is ended without it and
// reported, and its slot stays taken until it returns.
func testIgnoredContext(f *fixture) {
	log := &journal{}
	release, returned := make(chan struct{}), make(chan struct{})
	id := f.enqueue("deaf", jobs.Timeout(time.Millisecond), jobs.MaxAttempts(1))
	r := f.start(jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: 1}, StuckAfter: 100 * time.Millisecond, Logger: slog.New(log),
	}, on("k", nothing), on("deaf", func(context.Context, jobs.Job) error {
		defer close(returned)
		<-release
		return errors.New("too late to count")
	}))
	job := f.ended(id)
	want(f, "status", job.Status, jobs.StatusFailed)
	f.wantError(id, jobs.CauseTimeout, "the handler went on")
	f.eventually("the handler is reported", func() bool { return log.holds("handler ignores the end of its context") })

	waiting := f.enqueue("k")
	// Another worker's job makes the runner check; with its slot taken it leaves the job alone.
	engine.StoreOf(f.elsewhere().Store()).Announce(core.WorkReady)
	workers, err := inspect.New(f.client).Workers(f.ctx)
	f.must(err)
	want(f, "jobs that the worker holds", workers[0].Running, 0)
	want(f, "status of a job while the slot is taken", f.get(waiting).Status, jobs.StatusPending)

	close(release)
	receive(f, "the handler's return", returned)
	want(f, "status of a job when the slot is free", f.ended(waiting).Status, jobs.StatusDone)
	job = f.get(id)
	want(f, "status after the late return", job.Status, jobs.StatusFailed)
	want(f, "errors after the late return", len(f.errors(id)), 1)
	f.must(r.stop())
}

// journal keeps the log.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, r.Message)
	return nil
}

func (j *journal) holds(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.lines {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}
