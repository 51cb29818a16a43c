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
	path    string // the path of the database
	side    sideFolder
	pools   *pools
	options options
	bell    func() *os.File // writing to it tells other processes' watches that a commit is visible; may be nil
	rung    atomic.Int64

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

func newHub(p *pools, o options) *hub {
	bell := sync.OnceValue(func() *os.File {
		file, err := p.side.open(bellFile)
		if err != nil {
			// The write to the WAL causes an event too, only before the commit is visible.
			o.logger.Warn("sqlite: other processes may notice commits later", "database", p.files.main.path, "reason", err)
			return nil
		}
		return file
	})
	return &hub{path: p.files.main.path, side: p.side, pools: p, options: o, bell: bell, listeners: map[*listener]struct{}{}}
}

// dataVersion reads PRAGMA data_version on the writer's connection: it changes when any other connection commits, and so not
// with this store's writes, which [Store.Announce] reports.
type dataVersion struct {
	pools *pools
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
	if err := v.pools.ready(ctx); err != nil {
		return 0, nil, err
	}
	return v.pools.writer.version()
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
	if o := h.options.observer; woken > 0 && o != nil && o.Woken != nil {
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
