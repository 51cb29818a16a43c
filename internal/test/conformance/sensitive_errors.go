package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

var sensitiveErrorTests = []test{
	{"Ends", testSensitiveEnds},
	{"MarkedElsewhere", testSensitiveMarkedElsewhere},
	{"LongErrors", testSensitiveLongErrors},
	{"ForMiddleware", testSensitiveForMiddleware},
	{"Output", testSensitiveOutput},
}

// lines is a log with concurrent writers.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// hushedPanic is an error whose Error method panics.
type hushedPanic struct{}

func (hushedPanic) Error() string { panic("no card " + hush) }

// However an attempt ends, and whatever its handler then reports, no sensitive value is in the job, the attempt's
// error, the log, the report or the audit.
func testSensitiveEnds(f *fixture) {
	ends := []struct {
		name   string
		run    func(ctx context.Context, job jobs.Job) error
		status jobs.Status
		errs   int
		want   string // of the last error
	}{
		{"an error", func(context.Context, jobs.Job) error { return errors.New("charge " + hush + ": declined") },
			jobs.StatusFailed, 1, "charge [redacted]: declined"},
		{"a wrapped error", func(context.Context, jobs.Job) error { return fmt.Errorf("charge %q: %w", hush, errors.New(hush)) },
			jobs.StatusFailed, 1, `charge "[redacted]": [redacted]`},
		{"a panic", func(context.Context, jobs.Job) error { panic("no card " + hush) },
			jobs.StatusFailed, 1, "panic: no card [redacted]"},
		{"a panic with a value", func(context.Context, jobs.Job) error { panic(aPayment()) },
			jobs.StatusFailed, 1, "panic: {{[redacted] Ann} [map[token:[redacted] what:tea]]}"},
		{"an error that panics", func(context.Context, jobs.Job) error { return hushedPanic{} },
			jobs.StatusFailed, 1, "panic in the error or the retry delay: no card [redacted]"},
		{"Discard", func(context.Context, jobs.Job) error { return jobs.Discard(errors.New(hush)) },
			jobs.StatusFailed, 1, jobs.Redacted},
		{"Cancel", func(context.Context, jobs.Job) error { return jobs.Cancel(errors.New(hush)) },
			jobs.StatusCancelled, 0, jobs.Redacted},
		{"RetryIn", func(context.Context, jobs.Job) error { return jobs.RetryIn(time.Hour, errors.New(hush)) },
			jobs.StatusFailed, 1, jobs.Redacted},
		{"the result", func(_ context.Context, job jobs.Job) error {
			return errors.Join(job.SetResult(map[string]string{"code": "result-77"}), errors.New("result-77 it is"))
		}, jobs.StatusFailed, 1, "[redacted] it is"},
		{"the metadata", func(context.Context, jobs.Job) error { return errors.New("key meta-77") },
			jobs.StatusFailed, 1, "key [redacted]"},
		{"the stack", func(context.Context, jobs.Job) error { panic("in the frames below") },
			jobs.StatusFailed, 1, "panic: in the frames below"},
	}
	log := &lines{}
	ids := make([]int64, len(ends))
	for i := range ends {
		receipt, err := pay.Enqueue(f.ctx, f.client, aPayment(), jobs.MaxAttempts(1), jobs.Metadata(map[string]string{"key": "meta-77"}))
		f.must(err)
		ids[i] = receipt.ID
	}
	f.drain(jobs.Config{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, func(r *jobs.Runner) {
		pay.Handle(r, func(ctx context.Context, job jobs.Job, args payment) error {
			if args.Card.Number != hush {
				return fmt.Errorf("the handler gets %v", args)
			}
			return ends[job.ID-ids[0]].run(ctx, job)
		})
	})
	seen := map[string]string{"the log": log.String()}
	for i, end := range ends {
		job := f.get(ids[i])
		want(f, "status after "+end.name, job.Status, end.status)
		want(f, "error after "+end.name, job.LastError, end.want)
		list := f.errors(ids[i])
		want(f, "errors after "+end.name, len(list), end.errs)
		text, err := json.Marshal([]any{job, list})
		f.must(err)
		seen[end.name] = string(text)
		for _, e := range list {
			want(f, "message after "+end.name, e.Message, end.want)
			if strings.Contains(end.name, "panic") && !strings.Contains(e.Stack, "sensitive_errors.go") {
				f.Errorf("the stack after %s is %s", end.name, e.Stack)
			}
		}
	}
	groups, err := inspect.New(f.client).FailedReport(f.ctx, inspect.FailedFilter{})
	f.must(err)
	entries, err := inspect.New(f.client).Audit(f.ctx, inspect.AuditFilter{})
	f.must(err)
	text, err := json.Marshal([]any{groups, entries})
	f.must(err)
	seen["the report"] = string(text)
	if strings.Count(log.String(), jobs.Redacted) < len(ends)-3 {
		f.Errorf("the log does not tell of the errors: %s", log)
	}
	for where, text := range seen {
		for _, secret := range []string{hush, "meta-77", "result-77"} {
			if strings.Contains(text, secret) {
				f.Errorf("%s has %s: %s", where, secret, text)
			}
		}
	}
}

// A runner that knows a kind by its name alone heeds the marks of others, also while it runs. Unmarked values are
// shown.
func testSensitiveMarkedElsewhere(f *fixture) {
	ran := make(chan struct{}, 1)
	f.start(jobs.Config{}, func(r *jobs.Runner) {
		jobs.Kind[json.RawMessage]{Name: "plain"}.Handle(r, func(_ context.Context, _ jobs.Job, p json.RawMessage) error {
			defer func() { ran <- struct{}{} }()
			return fmt.Errorf("cannot do %s", p)
		})
	})
	fails := func() jobs.Job {
		receipt, err := f.client.Enqueue(f.ctx, "plain", json.RawMessage(`{"card":"`+hush+`"}`), jobs.MaxAttempts(1))
		f.must(err)
		receive(f, "the run", ran)
		job, err := f.client.Wait(f.ctx, receipt.ID)
		f.must(err)
		return job
	}
	want(f, "error before", fails().LastError, `cannot do {"card":"`+hush+`"}`)
	f.must(inspect.New(f.elsewhere()).MarkSensitive(f.ctx, "plain", "card"))
	want(f, "error after", fails().LastError, `cannot do {"card":"[redacted]"}`)
}

// When the cut of a long error falls on a value, not even half of it is shown.
func testSensitiveLongErrors(f *fixture) {
	const mostMessage = 4 << 10
	long := strings.Repeat("c", 2*mostMessage)
	for _, before := range []int{0, mostMessage - 10, mostMessage - len(hush), mostMessage - 4, mostMessage} {
		for _, secret := range []string{hush, long} {
			args := aPayment()
			args.Card.Number = secret
			receipt, err := pay.Enqueue(f.ctx, f.client, args, jobs.MaxAttempts(1))
			f.must(err)
			f.drain(jobs.Config{}, func(r *jobs.Runner) {
				pay.Handle(r, func(context.Context, jobs.Job, payment) error {
					return errors.New(strings.Repeat("x", before) + secret + strings.Repeat("y", mostMessage))
				})
			})
			message := f.errors(receipt.ID)[0].Message
			if strings.Contains(message, secret[:2]) || len(message) > mostMessage || len(message) < mostMessage-4 {
				f.Errorf("after %d bytes the error is %d bytes: %.60s .. %s", before, len(message), message, message[max(0, len(message)-60):])
			}
		}
	}
}

// A middleware can pass on the recorded text of an error, also when the attempt's time is over, and with the result
// that the handler has set.
func testSensitiveForMiddleware(f *fixture) {
	const key = "meta-77"
	ends := map[string]func(job jobs.Job) error{
		"the payload":  func(jobs.Job) error { return errors.New("charge " + hush + ": declined") },
		"the metadata": func(jobs.Job) error { return errors.New("key " + key) },
		"the result": func(job jobs.Job) error {
			return errors.Join(job.SetResult(map[string]string{"code": "result-77"}), errors.New("result-77 it is"))
		},
		"nothing":      func(jobs.Job) error { return errors.New("out of tea") },
		"a long error": func(jobs.Job) error { return errors.New(hush + strings.Repeat(" and so on", 10_000)) },
	}
	told := map[int64]string{}
	for name, end := range ends {
		receipt, err := pay.Enqueue(f.ctx, f.client, aPayment(), jobs.MaxAttempts(1), jobs.Metadata(map[string]string{"key": key}))
		f.must(err)
		var kept jobs.Job
		f.drain(jobs.Config{Middleware: []jobs.RunMiddleware{func(next jobs.RunFunc) jobs.RunFunc {
			return func(ctx context.Context, job jobs.Job) error {
				kept = job
				err := next(ctx, job)
				text, unknown := job.Withhold(ctx, err.Error())
				told[job.ID] = text
				return errors.Join(err, unknown)
			}
		}}}, func(r *jobs.Runner) {
			pay.Handle(r, func(_ context.Context, job jobs.Job, _ payment) error { return end(job) })
		})
		job := f.get(receipt.ID)
		want(f, "what a middleware is told of "+name, told[receipt.ID], job.LastError)
		if strings.Contains(job.LastError, hush) || (name != "nothing") != strings.Contains(job.LastError, jobs.Redacted) {
			f.Errorf("the error with %s is %.200s", name, job.LastError)
		}
		outside := job // as a client returns it
		if text, err := outside.Withhold(f.ctx, hush); err == nil || text != jobs.Redacted {
			f.Errorf("outside a handler %q, %v", text, err)
		}
		if text, err := kept.Withhold(f.ctx, hush); err != nil || text != jobs.Redacted {
			f.Errorf("of an attempt that has ended %q, %v", text, err)
		}
	}
}
