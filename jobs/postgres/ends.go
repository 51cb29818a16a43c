package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// A notification wakes two processes for each listener: the listener and the server's process for it. That a job has ended
// matters only to a listener for JobEnded, such as Wait or an open dashboard. So a process with such a listener announces that
// it waits, and workers announce ended jobs only while they have heard of a waiting process.

const (
	// waitsEvery is how often a process repeats that a listener of its own waits for ended jobs. Other processes rely on that
	// for heardFor, so that two such messages in a row may be lost.
	waitsEvery = 10 * time.Second
	heardFor   = 35 * time.Second

	// answerSpread is the longest random delay before a waiting process answers one that asks: one answer is enough for all.
	answerSpread = 20 * time.Millisecond

	// sayAgain is when a message is sent again that could not be sent.
	sayAgain = time.Second
)

// What processes tell each other in notifications without a signal, in place of a queue.
const (
	saysWaits = "waits" // a listener of the sender waits for jobs to end
	saysAsks  = "asks"  // the sender has begun to listen and asks whether any process waits
	saysBoth  = saysWaits + "+" + saysAsks
)

// ends decides whether this process announces ended jobs, and whether it answers processes that ask. The caller holds the hub's
// mu.
type ends struct {
	hears  bool      // the listening connection is up: this process hears of waiting processes
	until  time.Time // until when a process is known to wait
	untold bool      // jobs ended and were not announced

	asked     bool // a process asked, and none has answered yet
	answering bool // this process will answer, unless another one does first
}

// begin notes that the connection listens, and returns the word to send, or "". With notifications off (silent) this process
// never announces ended jobs, so it does not ask.
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

// tell reports whether to announce jobs that ended now. When it returns false it remembers that some were not announced.
func (e *ends) tell(now time.Time) bool {
	told := !e.hears || now.Before(e.until)
	e.untold = e.untold || !told
	return told
}

// heard notes that a process waits, and returns whether jobs have ended unannounced. A waiting process looks at its job after it
// begins to listen; but its message may arrive here after the job has ended, and that look may have come before.
func (e *ends) heard(now time.Time) (owing bool) {
	e.until, e.asked = now.Add(heardFor), false
	return e.owing()
}

// owing reports whether jobs have ended unannounced since the last call.
func (e *ends) owing() bool {
	owing := e.untold
	e.untold = false
	return owing
}

// ask notes that a process asks which processes wait. It reports whether the caller must call answer after a delay.
func (e *ends) ask(waits bool) (begin bool) {
	e.asked = true
	begin = waits && !e.answering
	e.answering = e.answering || begin
	return begin
}

// answer reports, after that delay, whether the answer is still needed.
func (e *ends) answer(waits bool) bool {
	needed := e.asked && waits
	e.asked, e.answering = false, false
	return needed
}

// begins is called when the connection listens. It asks which processes wait, since their earlier messages were missed, and
// repeats that this process waits, for processes that began to listen meanwhile. It sends on another connection, so that
// pg_stat_activity shows which one listens.
func (h *hub) begins() {
	h.mu.Lock()
	h.quiet = false
	word := h.ends.begin(h.maySoonWait(), h.store.options.silent)
	h.mu.Unlock()
	if word != "" {
		h.run(func() { h.insist(word) })
	}
}

// deafens is called when the listening connection is lost. This process no longer hears of waiting processes, so it announces
// all ended jobs.
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

// said handles what another process sent in place of a queue. It reports whether that was one of the words above.
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

// answer announces that this process waits, unless another process answers during a random delay: after a restart of the server
// all processes ask at once, and each needs only one answer.
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

// waits reports whether a listener of this process waits for jobs to end. Callers hold mu.
func (h *hub) waits() bool {
	for l := range h.listeners {
		if l.signals&jobs.JobEnded != 0 {
			return true
		}
	}
	return false
}

// maySoonWait reports whether a listener of this process waits for jobs to end, or did at the last announcement. A listener that
// comes before the next announcement causes none, for example in a service that waits for one job after another. Callers hold
// mu.
func (h *hub) maySoonWait() bool { return h.saying || h.waits() }

// sayWaits announces every waitsEvery that this process waits, until no listener waits for ended jobs.
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

// insist sends a word, and retries until it is sent, the hub is closed, or the listening connection is lost: begins sends a word
// again when the connection is back.
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
