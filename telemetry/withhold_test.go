package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/telemetry"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
)

// TestSpansHaveNothingSensitive checks that no span has a value that its kind marks as sensitive, in any form of the handler's error.
func TestSpansHaveNothingSensitive(t *testing.T) {
	for name, handle := range map[string]func(context.Context, jobs.Job) error{
		"an error":  func(context.Context, jobs.Job) error { return errors.New("no card 4111-1111") },
		"a discard": func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("no card 4111-1111")) },
		"a result": func(_ context.Context, j jobs.Job) error {
			return errors.Join(j.SetResult("secret-77"), errors.New("secret-77"))
		},
		"a panic": func(context.Context, jobs.Job) error { panic("no card 4111-1111") },
		"a timeout": func(ctx context.Context, _ jobs.Job) error {
			<-ctx.Done()
			return fmt.Errorf("4111-1111: %w", ctx.Err())
		},
		"all of it":  func(_ context.Context, j jobs.Job) error { return fmt.Errorf("%s", j.Payload) },
		"a cancel":   func(context.Context, jobs.Job) error { return jobs.Cancel(errors.New("4111-1111")) },
		"a long one": func(context.Context, jobs.Job) error { return errors.New(strings.Repeat("x", 9<<20) + "4111-1111") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, telemetry.Config{})
			l.must(inspect.New(l.client).MarkSensitive(t.Context(), "k", "card", "result:*"))
			_, err := l.client.Enqueue(t.Context(), "k", json.RawMessage(`{"card":"4111-1111","what":"tea"}`), jobs.MaxAttempts(1), jobs.Timeout(50*time.Millisecond))
			l.must(err)
			l.drain(handle)
			run := l.one("run default")
			text, err := json.Marshal(run)
			l.must(err)
			for _, secret := range []string{"4111-1111", "secret-77"} {
				if strings.Contains(string(text), secret) {
					t.Errorf("the span has %s: %.2000s", secret, text)
				}
			}
			if name != "a cancel" && name != "a panic" && !strings.Contains(run.Status.Description, jobs.Redacted) {
				t.Errorf("the status is %v", run.Status)
			}
			if name == "all of it" && run.Status.Description != `{"card":"[redacted]","what":"tea"}` {
				t.Errorf("the status is %v", run.Status)
			}
		})
	}
}

// TestSpansHaveNoTextWithoutTheMarks checks that if the marks cannot be read, the span does not have the error's text.
func TestSpansHaveNoTextWithoutTheMarks(t *testing.T) {
	var mu sync.Mutex
	var faults []error
	was := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		faults = append(faults, err)
	}))
	t.Cleanup(func() { otel.SetErrorHandler(was) })

	l := newLab(t, telemetry.Config{})
	run := l.telemetry.Run(func(context.Context, jobs.Job) error { return errors.New("no card 4111-1111") })
	if err := run(t.Context(), jobs.Job{ID: 7, Queue: "default"}); err == nil { // which no handler was called with
		t.Error("the error is lost")
	}
	span := l.one("run default")
	if span.Status.Code != codes.Error || span.Status.Description != jobs.Redacted || len(span.Events) != 1 {
		t.Errorf("the status is %v, the events %v", span.Status, span.Events)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(faults) != 1 || !strings.Contains(faults[0].Error(), "withhold a text about job 7") {
		t.Errorf("told are %v", faults)
	}
}
