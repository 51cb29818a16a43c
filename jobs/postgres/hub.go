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

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// notifyEvery is the shortest time between two notifications that are sent after commits, such as those of retries. Those of
// enqueues are parts of their transactions.
const notifyEvery = 5 * time.Millisecond

// lastWord is how long the last notification of a hub may take, and the last statement on a connection that is given up.
const lastWord = 500 * time.Millisecond

// hub wakes listeners after commits: after this process's at once, after another process's when it made work ready, by a
// notification, and at each poll after those without a notification. Jobs that end in other processes cause none: a
// notification would wake every listening process and the server's process for it, and nearly always no caller waits.
// AnnouncesEnds is therefore false: Wait polls, and pollChanges wakes the listeners for ChangesOnly.
type hub struct {
	store *backend
	token string // names this store in its own notifications, which it need not listen to

	mu        sync.Mutex
	listeners map[*listener]struct{}
	closed    bool
	started   bool // a goroutine polls, and another listens
	compares  bool // a goroutine looks whether anything has changed
	quiet     bool // the server takes no LISTEN: poll more often
	pending   bool // work became ready that other processes were not notified of
	notifying bool // a goroutine sends notifications while any is pending
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup
}

type listener struct {
	signals core.Signal
	queues  []string // the only ones whose work wakes it; none means all
	wake    chan struct{}
}

func newHub(s *backend) *hub {
	ctx, stop := context.WithCancel(context.Background())
	return &hub{store: s, token: rand.Text()[:8], listeners: map[*listener]struct{}{}, ctx: ctx, stop: stop}
}

func (h *hub) listen(signals core.Signal, queues []string) (<-chan struct{}, func()) {
	l := &listener{signals: signals, queues: queues, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = struct{}{}
	if signals&core.WorkReady != 0 && !h.started && !h.closed {
		// They go on when no listener is left: a program that listened once will again, and a connection is expensive.
		h.started = true
		h.running.Go(h.poll)
		h.running.Go(h.follow)
	}
	if signals&core.ChangesOnly != 0 && !h.compares && !h.closed {
		h.compares = true
		h.running.Go(h.pollChanges)
	}
	return l.wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, l)
	}
}

// wake gives a value to the listeners of the signals. queue, when not empty, is the one that has work. A poll is no change.
func (h *hub) wake(signals core.Signal, queue string, source jobs.WakeSource) {
	woken := 0
	h.mu.Lock()
	for l := range h.listeners {
		if l.signals&core.ChangesOnly != 0 && signals&core.ChangesOnly == 0 && (source == jobs.WakePoll || source == jobs.WakeSafety) {
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
	if o := h.store.conns.options.observer; woken > 0 && o != nil && o.Woken != nil {
		o.Woken(source)
	}
}

// poll wakes the listeners for work periodically, for commits without a notification: of plain SQL, of a process with
// notifications off, or while the listening connection was lost.
func (h *hub) poll() {
	for h.rest(h.pollEvery()) {
		h.wake(core.WorkReady, "", h.pollSource())
	}
}

// pollSource returns WakePoll when polls replace notifications, and WakeSafety when a poll should find nothing.
func (h *hub) pollSource() jobs.WakeSource {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quiet || h.store.conns.pooled.Load() {
		return jobs.WakePoll
	}
	return jobs.WakeSafety
}

func (h *hub) pollEvery() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.store.conns.options.poll > 0:
		return h.store.conns.options.poll
	case h.quiet || h.store.conns.pooled.Load():
		return busyPoll
	}
	return safetyPoll
}

// follow listens until the hub is closed.
func (h *hub) follow() {
	if h.store.conns.pooled.Load() {
		return
	}
	sessions{h.store.conns}.hold(h.ctx, held{
		setup: func(ctx context.Context, conn *pgx.Conn) error {
			if err := inTime(ctx, func(ctx context.Context) error {
				if err := h.store.conns.located(ctx); err != nil {
					return err
				}
				_, err := conn.Exec(ctx, controlOn("listen", h.store.conns.names.channel()), pgx.QueryExecModeSimpleProtocol)
				return err
			}); err != nil {
				return err
			}
			h.setQuiet(false)
			h.wake(core.WorkReady, "", jobs.WakeStart) // for what was committed before
			return nil
		},
		notice: h.notice,
		failed: func(error) { h.setQuiet(true) },
		lost:   "no notifications from PostgreSQL: polling until there is a connection for them",
		back:   "notifications from PostgreSQL again",
	})
}

func (h *hub) setQuiet(quiet bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.quiet = quiet
}

// notification returns the payload of a NOTIFY: the sender's token, the signals as a number, and the queue that has work, if
// nothing else happened. Any other payload, such as that of a bare NOTIFY by a person or a program, wakes all listeners for work.
func notification(token string, signals core.Signal, queue string) string {
	return fmt.Sprintf("%s/%d/%s", token, signals, queue)
}

func (h *hub) notice(n *pgconn.Notification) {
	parts := strings.SplitN(n.Payload, "/", 3)
	if len(parts) == 3 {
		signals, err := strconv.ParseUint(parts[1], 10, 8)
		if parts[0] == h.token {
			return // its listeners were told at once
		}
		if err == nil && signals != 0 {
			h.wake(core.Signal(signals), parts[2], jobs.WakeNotify)
			return
		}
	}
	h.wake(core.WorkReady, "", jobs.WakeNotify)
}

// announce wakes this process's listeners at once, and those of other processes soon if work is ready. It does not wait for
// that: nothing depends on the notification but how soon others look.
func (h *hub) announce(signals core.Signal) {
	local := signals
	if signals&core.WorkAdded != 0 { // the transaction itself notified the others
		local |= core.WorkReady
	}
	h.wake(local, "", jobs.WakeLocal)
	if signals&core.WorkReady != 0 && !h.store.conns.options.silent {
		h.notifySoon()
	}
}

func (h *hub) notifySoon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = true
	if !h.notifying && !h.closed {
		h.notifying = true
		h.running.Go(h.notifyPending)
	}
}

// notifyPending sends notifications, at most one in notifyEvery, until none is pending.
func (h *hub) notifyPending() {
	for {
		h.mu.Lock()
		if !h.pending || h.closed {
			h.notifying = false
			h.mu.Unlock()
			return
		}
		h.pending = false
		h.mu.Unlock()
		if h.notify(h.ctx) != nil && h.ctx.Err() != nil {
			h.mu.Lock()
			h.pending = true // close sends it
			h.mu.Unlock()
		} // else others will find out by polling
		h.rest(notifyEvery)
	}
}

// notify tells other processes that work is ready. Nothing depends on it but how soon they look, so its error is only logged.
func (h *hub) notify(ctx context.Context) error {
	err := h.store.conns.rerun(ctx, func() error { // twice does no harm
		return inTime(ctx, func(ctx context.Context) error {
			text := notification(h.token, core.WorkReady, "")
			_, err := h.store.conns.pool.Exec(ctx, control("announce"), once(h.store.conns.names.channel(), text)...)
			return err
		})
	})
	if err != nil && h.ctx.Err() == nil {
		h.store.conns.options.logger.Debug("a notification could not be sent: others will find out by polling", "error", err)
	}
	return err
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
	h.mu.Unlock()
	if pending {
		ctx, cancel := context.WithTimeout(context.Background(), lastWord)
		defer cancel()
		_ = h.notify(ctx)
	}
}

// pollChanges wakes, as often as poll does, those listeners who want to know of changes only. Claims send no notification, and
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
				h.store.conns.options.logger.Debug("cannot look whether anything has changed; trying again", "error", err)
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
