package callback

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"
)

// badHandler is a log handler that first runs a function of the test.
type badHandler struct {
	slog.Handler
	enabled, handle func()
}

func (h badHandler) Enabled(ctx context.Context, level slog.Level) bool {
	h.enabled()
	return h.Handler.Enabled(ctx, level)
}

func (h badHandler) Handle(ctx context.Context, r slog.Record) error {
	h.handle()
	return h.Handler.Handle(ctx, r)
}

func flushLogger(t *testing.T, log *slog.Logger) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	if err := FlushLogger(ctx, log); err != nil {
		t.Fatal(err)
	}
}

// A record reaches the handler with its attributes, groups and source; a record below the handler's level does not.
func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log := Logger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{AddSource: true})))
	log.With("a", 1).WithGroup("g").Info("said", "b", 2)
	log.Debug("unsaid")
	flushLogger(t, log)
	for _, want := range []string{"logger_test.go", "msg=said", "a=1", "g.b=2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "unsaid") {
		t.Errorf("the handler got %s", out.String())
	}
	if Logger(log) != log {
		t.Error("a logger was queued twice")
	}
}

// The next record is handled after any fault of a handler.
func TestLoggerWhoseHandlerFails(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic": func() { panic("broken") }, "Goexit": runtime.Goexit,
	} {
		for _, inEnabled := range []bool{true, false} {
			var out bytes.Buffer
			failing := true
			bad := func(here bool) func() {
				return func() {
					if failing && here {
						failing = false
						fail()
					}
				}
			}
			log := Logger(slog.New(badHandler{slog.NewTextHandler(&out, nil), bad(inEnabled), bad(!inEnabled)}))
			log.Info("first")
			log.Info("second")
			flushLogger(t, log)
			if !strings.Contains(out.String(), "second") {
				t.Errorf("%s in Enabled %t: the handler got %q", name, inEnabled, out.String())
			}
		}
	}
}

func TestLoggerWhoseHandlerBlocks(t *testing.T) {
	var out bytes.Buffer
	release := make(chan struct{})
	log := Logger(slog.New(badHandler{slog.NewTextHandler(&out, nil), func() { <-release }, func() {}}))
	log.Info("first")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := FlushLogger(ctx, log); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("FlushLogger gives %v", err)
	}
	close(release)
	flushLogger(t, log)
	if !strings.Contains(out.String(), "first") {
		t.Errorf("the handler got %q", out.String())
	}
}
