package postgres

import (
	"context"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// A notification reaches every process that listens, and wakes two of each: its own and the server's. That jobs have ended
// matters only to somebody who waits for one, as Wait does and an open dashboard. So whoever waits says so, and workers tell of
// ends only while they have heard of somebody.

const (
	// waitsEvery is how often a process says that somebody in it waits. Others go by that for heardFor, so that two such
	// messages in a row may be lost.
	waitsEvery = 10 * time.Second
	heardFor   = 25 * time.Second
)

// What processes tell each other in notifications without a signal, in place of a queue.
const (
	saysWaits = "waits" // somebody waits for jobs to end
	saysAsks  = "asks"  // I have begun to listen: does somebody wait?
)

// ends decides whether others are to hear of jobs that have ended. Whoever uses it holds the hub's mu.
type ends struct {
	hears  bool      // the connection that listens is there: it would be known if somebody waited
	until  time.Time // until when somebody is known to wait
	untold bool      // jobs ended and nobody was told
}

// tell reports whether jobs that ended now are to be told of, and keeps in mind when not.
func (e *ends) tell(now time.Time) bool {
	told := !e.hears || now.Before(e.until)
	e.untold = e.untold || !told
	return told
}

// heard notes that somebody waits. It reports whether jobs may have ended since that one last looked: it looks after it has said
// that it waits, but what it said may have come here only after a job had ended that it did not see yet.
func (e *ends) heard(now time.Time) (owing bool) {
	e.until = now.Add(heardFor)
	owing = e.untold
	e.untold = false
	return owing
}

// begins is when the connection listens. What was said before it did is not known, so it asks: on another connection, for people
// to see by pg_stat_activity which one listens.
func (h *hub) begins() {
	h.mu.Lock()
	h.ends.hears = true
	h.mu.Unlock()
	if !h.store.options.silent { // else it tells nobody of ends
		h.run(func() { h.say(h.ctx, 0, saysAsks) })
	}
}

// said is what another process told. It reports whether that was one of the words above.
func (h *hub) said(word string) bool {
	switch word {
	case saysWaits:
		h.mu.Lock()
		owing := h.ends.heard(time.Now())
		h.mu.Unlock()
		if owing {
			h.tell(jobs.JobEnded)
		}
	case saysAsks:
		h.mu.Lock()
		waits := h.waits()
		h.mu.Unlock()
		if waits {
			h.run(func() { h.say(h.ctx, 0, saysWaits) })
		}
	default:
		return false
	}
	return true
}

// waits reports whether somebody here waits for jobs to end. Callers hold mu.
func (h *hub) waits() bool {
	for l := range h.listeners {
		if l.signals&jobs.JobEnded != 0 {
			return true
		}
	}
	return false
}

// sayWaits says again and again that somebody here waits, until nobody does.
func (h *hub) sayWaits() {
	ticker := time.NewTicker(waitsEvery)
	defer ticker.Stop()
	for {
		h.mu.Lock()
		h.saying = h.waits()
		saying := h.saying
		h.mu.Unlock()
		if !saying {
			return
		}
		h.say(h.ctx, 0, saysWaits)
		select {
		case <-ticker.C:
		case <-h.ctx.Done():
			return
		}
	}
}

// say sends a notification.
func (h *hub) say(ctx context.Context, signals jobs.Signal, what string) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := h.store.pool.Exec(ctx, control("announce"), once(h.store.names.channel(), notification(h.token, signals, what))...)
	if err != nil && h.ctx.Err() == nil {
		h.store.options.logger.Debug("a notification could not be sent: others will find out by polling", "error", err)
	}
}
