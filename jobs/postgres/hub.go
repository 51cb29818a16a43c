package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/jobs"
)

// The shortest time between two notifications that are sent after a commit, so that one tells of many jobs that end: the
// first while there is no more to tell, twice the time before for each that follows another, up to the last. (Those of
// enqueues go with their transactions.)
const (
	ringFirst = 5 * time.Millisecond
	ringLast  = 40 * time.Millisecond
)

// lastWord is how long the last notification of a hub may take, and the last statement on a connection that is given up.
const lastWord = 500 * time.Millisecond

// hub tells listeners of commits: of this process's at once, of other processes' by notifications, and at each poll of
// all that no notification told of.
type hub struct {
	store *Store
	token string // names this store in its own notifications, which it need not listen to

	mu        sync.Mutex
	listeners map[*listener]struct{}
	closed    bool
	started   bool // a goroutine polls, and another listens
	compares  bool // a goroutine looks whether anything has changed
	quiet     bool // the server takes no LISTEN: poll more often
	pending   jobs.Signal
	ringing   bool // a goroutine sends what is pending
	ends      ends
	saying    bool // a goroutine announces that a listener waits for jobs to end
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup
}

type listener struct {
	signals jobs.Signal
	queues  []string // work for others is none of its business; none means all
	wake    chan struct{}
}

func newHub(s *Store) *hub {
	ctx, stop := context.WithCancel(context.Background())
	return &hub{store: s, token: rand.Text()[:8], listeners: map[*listener]struct{}{}, ctx: ctx, stop: stop}
}

func (h *hub) listen(signals jobs.Signal, queues []string) (<-chan struct{}, func()) {
	l := &listener{signals: signals, queues: queues, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = struct{}{}
	if !h.started && !h.closed {
		// They go on when no listener is left: a program that listened once will again, and a connection is expensive.
		h.started = true
		h.running.Go(h.poll)
		h.running.Go(h.follow)
	}
	if signals&jobs.ChangesOnly != 0 && !h.compares && !h.closed {
		h.compares = true
		h.running.Go(h.pollChanges)
	}
	if signals&jobs.JobEnded != 0 && !h.saying && !h.closed && !h.store.pooled.Load() {
		h.saying = true
		h.running.Go(h.sayWaits)
	}
	return l.wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, l)
	}
}

// wake gives a value to the listeners of the signals. queue, when not empty, is the one that has work. A poll is no change.
func (h *hub) wake(signals jobs.Signal, queue string, source jobs.WakeSource) {
	woken := 0
	h.mu.Lock()
	for l := range h.listeners {
		if l.signals&jobs.ChangesOnly != 0 && signals&jobs.ChangesOnly == 0 && (source == jobs.WakePoll || source == jobs.WakeSafety) {
			continue
		}
		if l.signals&signals == 0 || queue != "" && len(l.queues) > 0 && !slices.Contains(l.queues, queue) {
			continue
		}
		select {
		case l.wake <- struct{}{}:
			woken++
		default: // it has one waiting
		}
	}
	h.mu.Unlock()
	if o := h.store.options.observer; woken > 0 && o != nil && o.Woken != nil {
		o.Woken(source)
	}
}

// poll wakes all listeners periodically, for commits without a notification: of plain SQL, of a process with notifications off,
// or while the listening connection was lost.
func (h *hub) poll() {
	for h.rest(h.pollEvery()) {
		h.wake(jobs.WorkReady|jobs.JobEnded, "", h.pollSource())
	}
}

// pollSource returns WakePoll when polls replace notifications, and WakeSafety when a poll should find nothing.
func (h *hub) pollSource() jobs.WakeSource {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quiet || h.store.pooled.Load() {
		return jobs.WakePoll
	}
	return jobs.WakeSafety
}

func (h *hub) pollEvery() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.store.options.poll > 0:
		return h.store.options.poll
	case h.quiet || h.store.pooled.Load():
		return busyPoll
	}
	return safetyPoll
}

// follow listens until the hub is closed.
func (h *hub) follow() {
	if h.store.pooled.Load() {
		return
	}
	listen := controlOn("listen", h.store.names.channel())
	h.store.hold(h.ctx, held{
		setup: func(ctx context.Context, conn *pgx.Conn) error {
			ctx, cancel := context.WithTimeout(ctx, answerWithin)
			defer cancel()
			if _, err := conn.Exec(ctx, listen, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
			h.begins()
			h.wake(jobs.WorkReady|jobs.JobEnded, "", jobs.WakeStart) // for what was committed before
			return nil
		},
		notice: h.notice,
		failed: func(error) { h.deafens() },
		lost:   "no notifications from PostgreSQL: polling until the connection is back",
		back:   "notifications from PostgreSQL again",
	})
}

// notification returns the payload of a NOTIFY: the sender's token, the signals as a number, and the queue that has work, if
// nothing else happened; or, without a signal, one of the words of ends.go. Any other payload, such as that of a bare NOTIFY by
// a person or a program, wakes all listeners.
func notification(token string, signals jobs.Signal, queue string) string {
	return fmt.Sprintf("%s/%d/%s", token, signals, queue)
}

func (h *hub) notice(n *pgconn.Notification) {
	parts := strings.SplitN(n.Payload, "/", 3)
	if len(parts) == 3 {
		signals, err := strconv.ParseUint(parts[1], 10, 8)
		if parts[0] == h.token {
			return // its listeners were told at once
		}
		if err == nil && signals == 0 && h.said(parts[2]) {
			return
		}
		if err == nil && signals != 0 {
			h.wake(jobs.Signal(signals), parts[2], jobs.WakeNotify)
			return
		}
	}
	h.wake(jobs.WorkReady|jobs.JobEnded, "", jobs.WakeNotify)
}

// announce tells this process's listeners at once and other processes' soon: not before the caller goes on, because
// nothing depends on it but how soon they look.
func (h *hub) announce(signals jobs.Signal) {
	if signals&jobs.WorkAdded != 0 {
		h.wake(jobs.WorkReady, "", jobs.WakeLocal)
		signals &^= jobs.WorkAdded // the transaction itself told the others
	}
	if signals == 0 {
		return
	}
	h.wake(signals, "", jobs.WakeLocal)
	if !h.store.options.silent {
		h.tell(signals)
	}
}

// tell announces signals to other processes soon; ended jobs only where a process may wait for them.
func (h *hub) tell(signals jobs.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	deaf := h.store.pooled.Load() // what listens through a pooler that was noticed late hears nothing
	if signals&jobs.JobEnded != 0 && !deaf && !h.ends.tell(time.Now()) {
		signals &^= jobs.JobEnded
	}
	if signals == 0 {
		return
	}
	h.pending |= signals
	if h.ringing || h.closed {
		return
	}
	h.ringing = true
	h.running.Go(h.ring)
}

// ring sends what is pending until nothing is.
func (h *hub) ring() {
	for pause := ringFirst; ; pause = min(2*pause, ringLast) {
		h.mu.Lock()
		if h.pending == 0 || h.closed {
			h.ringing = false
			h.mu.Unlock()
			return
		}
		signals := h.pending
		h.pending = 0
		h.mu.Unlock()
		if h.say(h.ctx, signals, "") != nil && h.ctx.Err() != nil {
			h.mu.Lock()
			h.pending |= signals // the last word says it
			h.mu.Unlock()
		} // else others will find out by polling
		if signals&jobs.WorkReady != 0 {
			pause = ringFirst // another process may wait for work
		}
		h.rest(pause)
	}
}

// rest reports whether the hub is still open after d.
func (h *hub) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.ctx.Done():
		return false
	}
}

// run has the hub's end wait for a function that ends soon once the hub's context does, or does nothing after it.
func (h *hub) run(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Go(fn)
	}
}

func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.running.Wait()
	h.mu.Lock()
	pending := h.pending // as after a stop that gave jobs back
	if h.ends.owing() && !h.store.options.silent {
		pending |= jobs.JobEnded // another process may just have begun to wait
	}
	h.mu.Unlock()
	if pending != 0 {
		ctx, cancel := context.WithTimeout(context.Background(), lastWord)
		defer cancel()
		_ = h.say(ctx, pending, "")
	}
}
