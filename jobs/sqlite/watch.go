package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// safetyLook is the interval at which the watch looks without an event.
	safetyLook = time.Second

	// The bounds of the polling interval where the system does not report writes.
	pollFastest = time.Millisecond
	pollSlowest = 25 * time.Millisecond
)

// errMissed ends the watch on the directory: it found a commit without an event.
var errMissed = errors.New("a commit was found that the system did not tell of")

// watch wakes all listeners after commits of other connections until ctx ends. It ignores a fault of the database and looks
// again: the next caller that reads or writes meets the fault too.
func (h *hub) watch(ctx context.Context) {
	version := &dataVersion{store: h.store}
	if !h.store.options.polling {
		err := h.watchEvents(ctx, version)
		if ctx.Err() != nil {
			return
		}
		h.store.options.logger.Warn("sqlite: waking up by polling", "database", h.store.path, "reason", err)
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
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// dataVersion reads PRAGMA data_version on the writer's connection: it changes when any other connection commits, and so not
// with this store's writes, which [Store.Announce] reports.
type dataVersion struct {
	store *backend
	on    *writes // the statements of the last read
	last  int64
	began bool // the last read was the first of its connection: earlier commits are unknown
}

// changed reports whether there was a commit since the last call; the first call, and the first after a fault, returns
// true.
func (v *dataVersion) changed(ctx context.Context) bool {
	now, on, err := v.read(ctx)
	if err != nil {
		v.on = nil // start again
		return false
	}
	v.began = on != v.on
	changed := v.began || now != v.last
	v.on, v.last = on, now
	return changed
}

func (v *dataVersion) read(ctx context.Context) (version int64, on *writes, err error) {
	if err := v.store.pools.ready(ctx); err != nil {
		return 0, nil, err
	}
	return v.store.writer.version()
}
