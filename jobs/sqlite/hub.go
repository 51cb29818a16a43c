package sqlite

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// ringEvery is the shortest time between two writes to the doorbell file: more would slow a busy writer without benefit.
const ringEvery = time.Millisecond

// hub wakes listeners after commits: at once after this process's own, and after those of other processes by a watch on the
// database, which runs only while there are listeners.
type hub struct {
	store *backend
	bell  func() *os.File // writing to it tells other processes' watches that a commit is visible; may be nil
	rung  atomic.Int64

	mu        sync.Mutex
	listeners map[*listener]struct{}
	stopWatch context.CancelFunc // not nil while the watch runs
	closed    bool
	running   sync.WaitGroup // the watch, and earlier ones that have yet to end
}

type listener struct {
	signals core.Signal
	wake    chan struct{}
}

func newHub(s *backend) *hub {
	bell := sync.OnceValue(func() *os.File {
		file, err := s.side.open(bellFile)
		if err != nil {
			// The write to the WAL causes an event too, only before the commit is visible.
			s.options.logger.Warn("sqlite: other processes may notice commits later", "database", s.path, "reason", err)
			return nil
		}
		return file
	})
	return &hub{store: s, bell: bell, listeners: map[*listener]struct{}{}}
}

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

// announce is called after a commit has returned: in a commit hook the row would not be visible yet.
func (h *hub) announce(signals core.Signal) {
	h.wake(signals, jobs.WakeLocal)
	now := time.Now().UnixNano()
	last := h.rung.Load()
	if now-last < int64(ringEvery) || !h.rung.CompareAndSwap(last, now) {
		return // the watches look again some milliseconds after a ring, and then see this commit too
	}
	if bell := h.bell(); bell != nil {
		_, _ = bell.WriteAt([]byte{1}, 0) // a failed ring is not an error of the commit
	}
}

// changed wakes the listeners for changes of any kind, such as a claim, after each write: the watch does not see this store's writes.
func (h *hub) changed() { h.wake(core.ChangesOnly, jobs.WakeLocal) }

// wake sends a value to the listeners of the signals.
func (h *hub) wake(signals core.Signal, source jobs.WakeSource) {
	woken := 0
	h.mu.Lock()
	for l := range h.listeners {
		if l.signals&signals == 0 {
			continue
		}
		select {
		case l.wake <- struct{}{}:
			woken++
		default: // it already has a value
		}
	}
	h.mu.Unlock()
	if o := h.store.options.observer; woken > 0 && o != nil && o.Woken != nil {
		o.Woken(source)
	}
}

// noneToWake reports whether every listener already has a wake waiting, so that a look could wake none.
func (h *hub) noneToWake() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if len(l.wake) == 0 {
			return false
		}
	}
	return true
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
