package runner

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sqluice/sqluice/internal/queue/lifecycle"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs/jobtype"
)

// lockedPause is the longest time between two tries to record an end that had to wait for another transaction's lock.
const lockedPause = 10 * time.Second

// resultsMost is the approximate largest size of the results that one transaction writes, in bytes.
const resultsMost = 4 << 20

// ledger lists the attempts of a run: the running ones, the ended ones that the loop has not recorded yet, and the ones whose ends the
// database refuses. Its mutex, which no other type locks, also guards the fields of slots and the mutable fields of attempts: an
// attempt frees its slot and joins the ended ones in one step, and the loop reads both in one step.
type ledger struct {
	changed chan struct{} // a signal to the loop: an attempt has ended, or a slot is free

	mu       sync.Mutex
	running  map[fence]*Attempt // attempts from the claim until the end is recorded
	ended    []*Attempt         // attempts whose ends wait to be recorded
	refused  map[fence]*Attempt // attempts whose ends the database refused; the loop tries to record them again later
	cycles   cycles
	life     life
	activity activity // the activity of the loop
}

func newLedger() *ledger {
	return &ledger{changed: make(chan struct{}, 1), running: map[fence]*Attempt{}, refused: map[fence]*Attempt{}}
}

// do calls fn with the mutex held. fn must call no method that locks it, and no code of the application.
func (l *ledger) do(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
}

// signal makes the loop look for changes. It does not block.
func (l *ledger) signal() {
	select {
	case l.changed <- struct{}{}:
	default: // a signal is pending already
	}
}

// pendingEnds lists the attempts of jobs with limit keys in which CompleteTx has run and whose handlers have not returned.
func (l *ledger) pendingEnds() (list []maintenance.PendingEnd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.running {
		if a.completed && !a.over && !a.woken && a.job.LimitKey != nil {
			list = append(list, maintenance.PendingEnd{Job: &a.job, Done: func() { l.do(func() { a.woken = true }) }})
		}
	}
	return list
}

// attempts returns the running attempts and the refused ones: both hold their leases.
func (l *ledger) attempts() []*Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Values(l.running)), maps.Values(l.refused))
}

// addEnd stores an attempt's end and its duration, the first time only. It returns true when the lease was lost: the
// attempt is then removed, and the caller reports it to the observer. Callers hold mu.
func (l *ledger) addEnd(a *Attempt, end lifecycle.End, took time.Duration) (lost bool) {
	if a.over {
		return false
	}
	a.over, a.timing.took, a.end = true, took, end
	if end.Fate == lifecycle.FateLost {
		l.dropRunning(a)
		return true
	}
	a.end.Apart = a.completed
	l.ended = append(l.ended, a)
	return false
}

// dropRunning removes an attempt from the running ones, unless another attempt has its fence: see slots.admit. Callers hold mu.
func (l *ledger) dropRunning(a *Attempt) {
	if l.running[a.fence()] == a {
		delete(l.running, a.fence())
	}
}

// takeEnded takes the ended attempts, up to about resultsMost bytes of results. Callers hold mu.
func (l *ledger) takeEnded() []*Attempt {
	size := 0
	for i, a := range l.ended {
		if a.end.Result != nil {
			size += len(*a.end.Result)
		}
		if size > resultsMost && i > 0 {
			taken := l.ended[:i:i]
			l.ended = l.ended[i:]
			return taken
		}
	}
	taken := l.ended
	l.ended = make([]*Attempt, 0, len(taken)) // about as many will end again
	return taken
}

// putBack keeps attempts whose ends could not be recorded for the next cycle.
func (l *ledger) putBack(ended []*Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = append(ended, l.ended...)
}

// addRefused moves an attempt to the refused ones, and back to the ended ones after a pause that grows with each refusal.
func (l *ledger) addRefused(a *Attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropRunning(a)
	l.refused[a.fence()] = a
	a.refused.times++
	pause := refusal.Delay(int(a.refused.times))
	if a.isLocked() {
		pause = min(pause, lockedPause)
	}
	a.refused.again = time.AfterFunc(pause, func() {
		if l.resume(func(other *Attempt) bool { return other == a }) {
			l.signal()
		}
	})
}

// resume moves the matching refused attempts back to the ended ones. It returns false if none matched.
func (l *ledger) resume(matches func(*Attempt) bool) (some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range slices.Collect(maps.Values(l.refused)) {
		if !matches(a) {
			continue
		}
		a.refused.again.Stop()
		delete(l.refused, a.fence())
		if l.running[a.fence()] == nil {
			l.running[a.fence()] = a
		}
		l.ended = append(l.ended, a)
		some = true
	}
	return some
}

// takeRefused removes all refused attempts and returns them.
func (l *ledger) takeRefused() []*Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Values(l.refused))
	for _, a := range all {
		a.refused.again.Stop()
	}
	clear(l.refused)
	return all
}

// gatherMost is the longest time that the loop waits for more ends to record together.
const gatherMost = 5 * time.Millisecond

// gather waits for more ends when there are some and handlers still run: for at most a quarter of the last cycle's
// duration. Where a commit waits for a disk, handlers that end a moment after the others would otherwise need another
// cycle; where a commit takes microseconds, so does gather.
func (l *ledger) gather(cycle time.Duration) {
	if l.setActivity(gathering) != gathering {
		return
	}
	defer l.setActivity(working)
	timer := time.NewTimer(min(cycle/4, gatherMost))
	defer timer.Stop()
	for l.setActivity(gathering) == gathering {
		select {
		case <-l.changed:
		case <-timer.C:
			return
		}
	}
}

// isIdle reports whether no handler runs, no handover is under way, and no end waits to be recorded. Refused ends do not count,
// unless they wait for a lock.
func (l *ledger) isIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.refused {
		if a.isLocked() {
			return false
		}
	}
	return len(l.running) == 0 && len(l.ended) == 0 && len(l.cycles.open) == 0
}

// handlersEnded reports whether a run has nothing left except ends to record.
func (l *ledger) handlersEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.running {
		if !a.over {
			return false
		}
	}
	return true
}

// setActivity sets the activity of the loop, and returns it: gathering becomes working when no more ends can come.
func (l *ledger) setActivity(now activity) activity {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now == gathering && !l.mayGather() {
		now = working
	}
	l.activity = now
	return now
}

// mayGather reports whether ends wait and others may join them. Callers hold mu.
func (l *ledger) mayGather() bool {
	return len(l.ended) > 0 && len(l.running) > len(l.ended) && l.life.fatal == nil
}

// cancelled returns the cause for which the contexts of all handlers have ended; nil while they have not. Callers hold mu.
func (l *ledger) cancelled() error {
	if l.life.phase != phaseCancelled {
		return nil
	}
	return l.life.cause
}

// cancelHandlers ends the contexts of all handlers, now and later. The first cause counts. A parent of these contexts would have
// the same effect, but would keep a list of them, which is a tenth of the cost of a job that does nothing.
func (l *ledger) cancelHandlers(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.phase == phaseCancelled {
		return
	}
	l.life.phase, l.life.cause = phaseCancelled, cause
	for _, a := range l.running {
		a.cancel(cause)
	}
}

// fail makes the loop end the run with an error. With a SchemaError it returns true, and the run ends as if it was stopped: running
// jobs may end, and are recorded or given back. Each version of the schema accepts that from the program of the version before.
func (l *ledger) fail(err error) (stops bool) {
	var schema *jobtype.SchemaError
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.As(err, &schema) {
		l.life.schema = err
		return true
	}
	l.life.fatal = err
	return false
}

// faults returns the errors that fail stored: one that ends the run, and a SchemaError. Each may be nil.
func (l *ledger) faults() (fatal, schema error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life.fatal, l.life.schema
}
