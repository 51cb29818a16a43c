package sqlite

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/jobs"
)

// The bounds of the polling interval where the system does not report writes.
const (
	pollFastest = time.Millisecond
	pollSlowest = 25 * time.Millisecond
)

func (h *hub) listen(signals core.Signal) (<-chan struct{}, func()) {
	l := &listener{signals: signals, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = struct{}{}
	if h.stopWatch == nil && !h.closed {
		ctx, cancel := context.WithCancel(context.Background())
		h.running.Go(func() { h.watch(ctx) })
		h.stopWatch = cancel
	}
	return l.wake, func() { h.leave(l) }
}

// leave does not wait for the watch: it may be waiting for a write, which may wait for another program.
func (h *hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
	if len(h.listeners) == 0 {
		h.endWatch()
	}
}

// endWatch ends the watch, if one runs, and does not wait for it. Callers hold mu.
func (h *hub) endWatch() {
	if h.stopWatch != nil {
		h.stopWatch()
		h.stopWatch = nil
	}
}

func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.endWatch()
	h.mu.Unlock()
	h.running.Wait()
	if h.rung.Load() != 0 { // otherwise it was never opened
		if bell := h.bell(); bell != nil {
			_ = bell.Close()
		}
	}
}

// watch wakes all listeners after commits of other connections until ctx ends. It ignores a fault of the database and looks
// again: the next caller that reads or writes meets the fault too.
func (h *hub) watch(ctx context.Context) {
	version := &dataVersion{pools: h.pools}
	if !h.options.polling {
		err := h.watchEvents(ctx, version)
		if ctx.Err() != nil {
			return
		}
		h.options.logger.Warn("sqlite: waking up by polling", "database", h.path, "reason", err)
	}
	h.poll(ctx, version)
}

// poll looks often after a commit and less often without commits.
func (h *hub) poll(ctx context.Context, version *dataVersion) {
	wait := pollFastest
	for {
		if version.changed(ctx) {
			h.wake(core.WorkReady|core.JobEnded, jobs.WakePoll)
			wait = pollFastest
		} else {
			wait = min(2*wait, pollSlowest)
		}
		if !outage.Sleep(ctx, wait) {
			return
		}
	}
}
