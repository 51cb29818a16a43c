package postgres

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/outage"
	"github.com/sqluice/sqluice/jobs"
)

// hub wakes listeners after commits: at once after this process's own, on a notification after another process's commit
// that made work ready, and at each poll after commits without a notification. Jobs that end in other processes cause
// none: a notification would wake every listening process and its server process, and nearly always no caller waits.
// AnnouncesEnds is therefore false: Wait polls, and pollChanges wakes the listeners for ChangesOnly.
type hub struct {
	conns *connections
	read  func(context.Context, engine.Func) error
	token string // marks this store's own notifications, which it ignores
	tells *notifier

	mu        sync.Mutex
	listeners map[*listener]struct{}
	closed    bool
	started   bool // one goroutine polls, and another listens
	compares  bool // a goroutine polls for changes
	quiet     bool // the server accepts no LISTEN: poll more often
	ctx       context.Context
	stop      context.CancelFunc
	running   sync.WaitGroup
}

type listener struct {
	signals core.Signal
	queues  []string // the queues whose work wakes it; empty means all
	wake    chan struct{}
}

func newHub(conns *connections, read func(context.Context, engine.Func) error) *hub {
	ctx, stop := context.WithCancel(context.Background())
	token := rand.Text()[:8]
	tells := &notifier{conns: conns, text: notification(token, core.WorkReady, "")}
	return &hub{conns: conns, read: read, token: token, tells: tells, listeners: map[*listener]struct{}{}, ctx: ctx, stop: stop}
}

func (h *hub) listen(signals core.Signal, queues []string) (<-chan struct{}, func()) {
	l := &listener{signals: signals, queues: queues, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = struct{}{}
	if signals&core.WorkReady != 0 && !h.started && !h.closed {
		// They continue without listeners: a program that listened once will again, and a connection is expensive.
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

// wake signals the listeners. queue, when not empty, is the queue with work. A poll does not count as a change.
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
		default: // it already has a value
		}
	}
	h.mu.Unlock()
	if o := h.conns.options.observer; woken > 0 && o != nil && o.Woken != nil {
		o.Woken(source)
	}
}

// poll wakes the listeners for work periodically, for commits without a notification: by plain SQL, by a process with
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
	if h.quiet || h.conns.pooled.Load() {
		return jobs.WakePoll
	}
	return jobs.WakeSafety
}

func (h *hub) pollEvery() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.conns.options.poll > 0:
		return h.conns.options.poll
	case h.quiet || h.conns.pooled.Load():
		return busyPoll
	}
	return safetyPoll
}

// follow listens until the hub is closed.
func (h *hub) follow() {
	if h.conns.pooled.Load() {
		return
	}
	sessions{h.conns}.hold(h.ctx, held{
		setup: func(ctx context.Context, conn *pgx.Conn) error {
			if err := inTime(ctx, func(ctx context.Context) error {
				if err := h.conns.located(ctx); err != nil {
					return err
				}
				_, err := conn.Exec(ctx, controlOn("listen", h.conns.names.channel()), pgx.QueryExecModeSimpleProtocol)
				return err
			}); err != nil {
				return err
			}
			h.setQuiet(false)
			h.wake(core.WorkReady, "", jobs.WakeStart) // for earlier commits
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

func (h *hub) notice(n *pgconn.Notification) {
	parts := strings.SplitN(n.Payload, "/", 3)
	if len(parts) == 3 {
		signals, err := strconv.ParseUint(parts[1], 10, 8)
		if parts[0] == h.token {
			return // announce woke its listeners at once
		}
		if err == nil && signals != 0 {
			h.wake(core.Signal(signals), parts[2], jobs.WakeNotify)
			return
		}
	}
	h.wake(core.WorkReady, "", jobs.WakeNotify)
}

// announce wakes this process's listeners at once, and other processes' soon if work is ready. It does not wait for the
// notification, which only makes other processes look sooner.
func (h *hub) announce(signals core.Signal) {
	local := signals
	if signals&core.WorkAdded != 0 { // the transaction itself notified other processes
		local |= core.WorkReady
	}
	h.wake(local, "", jobs.WakeLocal)
	if signals&core.WorkReady != 0 && !h.conns.options.silent {
		h.tells.soon(func() { h.run(func() { h.tells.sendPending(h.ctx) }) })
	}
}

// rest waits for d and reports whether the hub is still open.
func (h *hub) rest(d time.Duration) bool { return outage.Sleep(h.ctx, d) }

// run starts fn, which must return soon after the hub's context ends, and which close waits for. After close it does
// nothing.
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
	h.tells.close()
}

// pollChanges wakes, at the interval of poll, the listeners for changes only. Claims and other programs send no notification,
// so it compares the current state with the previous one.
func (h *hub) pollChanges() {
	var last db.GetChangeMarkRow
	known := false
	for h.rest(h.pollEvery()) {
		if !h.wantsChanges() {
			known = false
			continue
		}
		mark, err := core.Value(h.ctx, h.read, func(ctx context.Context, q db.Querier) (db.GetChangeMarkRow, error) {
			return q.GetChangeMark(ctx)
		})
		if err != nil {
			if h.ctx.Err() == nil {
				h.conns.options.logger.Debug("cannot look whether anything has changed; trying again", "error", err)
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
