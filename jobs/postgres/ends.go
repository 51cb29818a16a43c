package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
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
	heardFor   = 35 * time.Second

	// answerSpread is how long those who wait let each other answer somebody who asks, at the most: one answer is enough.
	answerSpread = 20 * time.Millisecond

	// sayAgain is when a message is sent again that could not be sent.
	sayAgain = time.Second
)

// What processes tell each other in notifications without a signal, in place of a queue.
const (
	saysWaits = "waits" // somebody waits for jobs to end
	saysAsks  = "asks"  // I have begun to listen: does somebody wait?
	saysBoth  = saysWaits + "+" + saysAsks
)

// ends decides whether others are to hear of jobs that have ended, and who answers those that ask. Whoever uses it holds the hub's mu.
type ends struct {
	hears  bool      // the connection that listens is there: it would be known if somebody waited
	until  time.Time // until when somebody is known to wait
	untold bool      // jobs ended and nobody was told

	asked     bool // somebody asked, and nobody has answered yet
	answering bool // and this process will, unless another one does
}

// begin notes that the connection listens, and returns what is to be said then. Who is silent tells nobody of ends, and need not ask.
func (e *ends) begin(waits, silent bool) (word string) {
	e.hears = true
	switch {
	case waits && silent:
		return saysWaits
	case waits:
		return saysBoth
	case silent:
		return ""
	}
	return saysAsks
}

// tell reports whether jobs that ended now are to be told of, and keeps in mind when not.
func (e *ends) tell(now time.Time) bool {
	told := !e.hears || now.Before(e.until)
	e.untold = e.untold || !told
	return told
}

// heard notes that somebody waits. It reports whether jobs have ended that nobody was told of: who waits looks at a job after it
// has begun to listen, but what it said may have come here only after the job had ended, which that look did not see yet.
func (e *ends) heard(now time.Time) (owing bool) {
	e.until, e.asked = now.Add(heardFor), false
	return e.owing()
}

// owing reports whether jobs have ended that nobody was told of, once.
func (e *ends) owing() bool {
	owing := e.untold
	e.untold = false
	return owing
}

// ask notes that somebody asks who waits. It reports whether this process is to begin to answer, after a while.
func (e *ends) ask(waits bool) (begin bool) {
	e.asked = true
	begin = waits && !e.answering
	e.answering = e.answering || begin
	return begin
}

// answer reports, after that while, whether the answer is still needed.
func (e *ends) answer(waits bool) bool {
	needed := e.asked && waits
	e.asked, e.answering = false, false
	return needed
}

// begins is when the connection listens. What was said before it did is not known, so it asks; and who listened while it was away
// may not know that somebody waits here. It is another connection that says so: people see by pg_stat_activity which one listens.
func (h *hub) begins() {
	h.mu.Lock()
	h.quiet = false
	word := h.ends.begin(h.maySoonWait(), h.store.options.silent)
	h.mu.Unlock()
	if word != "" {
		h.run(func() { h.insist(word) })
	}
}

// deafens is when the connection that listens is lost. Who waits cannot be heard now.
func (h *hub) deafens() {
	h.mu.Lock()
	h.quiet = true
	h.ends.hears = false
	owing := h.ends.owing()
	h.mu.Unlock()
	if owing {
		h.tell(jobs.JobEnded)
	}
}

// said takes what another process told in place of a queue. It reports whether that was one of the words above.
func (h *hub) said(word string) bool {
	if word != saysWaits && word != saysAsks && word != saysBoth {
		return false
	}
	h.mu.Lock()
	owing := word != saysAsks && h.ends.heard(time.Now())
	answers := word != saysWaits && h.ends.ask(h.maySoonWait())
	h.mu.Unlock()
	if owing {
		h.tell(jobs.JobEnded)
	}
	if answers {
		h.run(h.answer)
	}
	return true
}

// answer says that somebody waits here, unless another process says that of itself meanwhile: after a restart of the server all
// ask at once, and as many answers to each would be many.
func (h *hub) answer() {
	if !h.rest(rand.N(answerSpread)) {
		return
	}
	h.mu.Lock()
	needed := h.ends.answer(h.maySoonWait())
	h.mu.Unlock()
	if needed {
		h.insist(saysWaits)
	}
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

// maySoonWait reports whether somebody here waits for jobs to end, or has since that was last said: who comes before it would be said
// again says nothing, as when a service waits for one job after another. Callers hold mu.
func (h *hub) maySoonWait() bool { return h.saying || h.waits() }

// sayWaits says again and again that somebody here waits, until nobody does.
func (h *hub) sayWaits() {
	for {
		h.mu.Lock()
		h.saying = h.waits()
		saying := h.saying
		h.mu.Unlock()
		if !saying {
			return
		}
		h.insist(saysWaits)
		if !h.rest(h.store.options.waitsEvery) {
			return
		}
	}
}

// insist says a word until it can be sent, or the hub is closed. Who does not hear has no use for what it would bring: when the
// connection listens, that says so.
func (h *hub) insist(word string) {
	for h.hears() && h.say(h.ctx, 0, word) != nil && h.rest(sayAgain) {
		continue
	}
}

func (h *hub) hears() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ends.hears
}

// say sends a notification. Nothing depends on it but how soon others look, so its error is only logged.
func (h *hub) say(ctx context.Context, signals jobs.Signal, what string) error {
	err := h.store.rerun(ctx, func() error { // twice does no harm
		ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
		defer cancel()
		_, err := h.store.pool.Exec(ctx, control("announce"), once(h.store.names.channel(), notification(h.token, signals, what))...)
		if err != nil && errors.Is(context.Cause(ctx), errSilent) {
			return errors.Join(errSilent, err)
		}
		return err
	})
	if err != nil && h.ctx.Err() == nil {
		h.store.options.logger.Debug("a notification could not be sent: others will find out by polling", "error", err)
	}
	return err
}
