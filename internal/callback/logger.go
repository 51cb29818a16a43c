package callback

import (
	"context"
	"fmt"
	"log/slog"
	"os"
)

// logLimit is the largest number of records that wait for a log handler.
const logLimit = 10_000

// Logger returns a logger whose records a queue passes to the handler of another logger, with their own times. It never
// blocks. It writes faults of the handler to standard error. It returns a logger of its own unchanged.
func Logger(log *slog.Logger) *slog.Logger {
	if _, queued := log.Handler().(*handler); queued {
		return log
	}
	queue := NewQueue(logLimit, func(err error) {
		_, _ = fmt.Fprintf(os.Stderr, "sqluice: the log handler failed: %v\n", err) // no other place is left to report it
	})
	return slog.New(&handler{queue: queue, next: log.Handler()})
}

// FlushLogger waits until the handler has handled the records that were logged before by a logger that [Logger]
// returned. The error is ctx's when that ends first.
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

// Enabled returns true: the queue asks the other handler, which may block.
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
