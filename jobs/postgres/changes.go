package postgres

import (
	"context"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
)

// pollChanges wakes, as often as poll does, those listeners who want to know of changes only. Claims ring no bell, and
// neither do other programs, so it compares what is there with what was there.
func (h *hub) pollChanges() {
	var last db.GetChangeMarkRow
	known := false
	for h.rest(h.pollEvery()) {
		if !h.wantsChanges() {
			known = false
			continue
		}
		var mark db.GetChangeMarkRow
		err := h.store.Read(h.ctx, func(ctx context.Context, q db.Querier) (err error) {
			mark, err = q.GetChangeMark(ctx)
			return err
		})
		if err != nil {
			if h.ctx.Err() == nil {
				h.store.options.logger.Debug("cannot look whether anything has changed; trying again", "error", err)
			}
			known = false
			continue
		}
		if !known || mark != last {
			h.wake(core.ChangesOnly, "", h.pollSource())
		}
		last, known = mark, true
	}
}

// wantsChanges reports whether a listener wants ChangesOnly.
func (h *hub) wantsChanges() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.signals&core.ChangesOnly != 0 {
			return true
		}
	}
	return false
}
