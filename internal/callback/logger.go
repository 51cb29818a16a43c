package callback

import (
	"context"
	"fmt"
	"log/slog"
	"os"
)

// logLimit is how many records may wait for a log handler.
const logLimit = 10_000

// Logger returns a logger whose records a queue gives to the handler of another one, with their own times. It never
// blocks. What the handler itself does wrong goes to standard error. A logger that Logger returned is returned as it is.
func Logger(log *slog.Logger) *slog.Logger {
	if _, queued := log.Handler().(*handler); queued {
		return log
	}
	queue := NewQueue(logLimit, func(err error) {
		_, _ = fmt.Fprintf(os.Stderr, "sqluice: the log handler failed: %v\n", err) // there is nowhere else to say it
	})
	return slog.New(&handler{queue: queue, next: log.Handler()})
}

// FlushLogger waits until the handler has got what was logged before by a logger that [Logger] returned. The error is
// ctx's when that ends first.
func FlushLogger(ctx context.Context, log *slog.Logger) error {
	if h, queued := log.Handler().(*handler); queued {
		return h.queue.Flush(ctx)
	}
	return nil
}

// handler is a slog.Handler that queues records for another one.
type handler struct {
	queue *Queue
	next  slog.Handler
}

// Enabled returns true: the other handler, which may block, is asked by the queue.
func (h *handler) Enabled(context.Context, slog.Level) bool { return true }

// Handle queues a record. It returns nil: a log record that is lost is no fault of the caller.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	h.queue.Add(func() {
		if !h.next.Enabled(ctx, r.Level) {
			return
		}
		if err := h.next.Handle(ctx, r); err != nil {
			h.queue.fault(err)
		}
	})
	return nil
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{queue: h.queue, next: h.next.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{queue: h.queue, next: h.next.WithGroup(name)}
}
