package costs

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

// hang is the limit of a drain: no figure depends on how long anything takes.
const hang = 2 * time.Minute

// slots is the number of concurrent jobs, and drained the number of all. All slots are full until the end. There are as
// many as a cycle may claim however long cycles take: with more, the number of cycles would depend on that.
const (
	slots   = 100
	drained = 100 * slots
)

// pace makes the cycles of a runner the same each time, whatever the scheduler does. Otherwise the number of outcomes
// in a transaction depends on which handlers have returned by then.
//
// No handler returns until all slots are full and all earlier ends are recorded. Then the last job's handler returns:
// the runner records its end by itself. During the first statement of that cycle all other handlers return, and the
// cycle waits for them. The next one records the rest, and claims as many, in the same transaction or in another at the
// same time. So the cycles record 1, slots-1, 1, slots-1 and so on.
//
// The number of prefetched jobs depends on the durations of jobs and cycles. Beside jobs that were running when a
// process died a runner prefetches none, so all jobs here are such: see fill.
type pace struct {
	mu        sync.Mutex
	running   []context.Context // of the handlers that wait
	full      chan struct{}     // closed when that of the last job may return
	isFull    bool
	release   chan struct{} // closed when the others may
	releases  int
	recording int // transactions that recorded ends
}

func newPace() *pace { return &pace{full: make(chan struct{}), release: make(chan struct{})} }

func (p *pace) handle(ctx context.Context, _ jobs.Job, job payload) error {
	until := p.enter(ctx, job)
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter returns the channel that a handler must wait for.
func (p *pace) enter(ctx context.Context, job payload) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if job.N%slots == slots-1 {
		return p.full
	}
	p.running = append(p.running, ctx)
	p.fill()
	return p.release
}

// fill lets the last job's handler return when it is time. Callers hold mu.
func (p *pace) fill() {
	if !p.isFull && len(p.running) == slots-1 && p.recording == 2*p.releases {
		p.isFull = true
		close(p.full)
	}
}

// wrote is called after each of the runner's transactions.
func (p *pace) wrote(a asked) {
	if !a.has("CompleteJobs") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recording++
	p.fill()
}

// statement is called before each statement of the runner's transactions.
func (p *pace) statement(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != "CompleteJobs" || !p.isFull {
		return
	}
	p.isFull = false
	p.releases++
	close(p.release)
	for _, ctx := range p.running {
		<-ctx.Done() // when its end waits to be recorded
	}
	p.running, p.full, p.release = p.running[:0], make(chan struct{}), make(chan struct{})
}

// payload is a payload of about 100 bytes, the same number for all jobs.
type payload struct {
	N   int    `json:"n"`
	Pad string `json:"pad"`
}

var noop = jobs.Kind[payload]{Name: "noop"}

func payloads(n int) []payload {
	list := make([]payload, n)
	for i := range list {
		list[i] = payload{N: 100_000 + i, Pad: "01234567890123456789012345678901234567890123456789012345678901234567890123456789"}
	}
	return list
}

// drain runs all jobs, at their pace, and returns when the runner has ended.
func (l *lab) drain(t *testing.T) {
	t.Helper()
	p := newPace()
	l.store.before, l.store.after = p.statement, p.wrote
	defer func() { l.store.before, l.store.after = nil, nil }()
	// Nothing is renewed or pruned meanwhile.
	runner, err := jobs.NewRunner(l.client, jobs.Config{
		Queues: map[string]int{jobs.DefaultQueue: slots}, Name: "costs", Lease: 24 * time.Hour, Grace: -1, Logger: quiet(),
		Retention: jobs.Retention{Done: jobs.Forever, Cancelled: jobs.Forever, Failed: jobs.Forever},
	})
	must(t, err)
	noop.Handle(runner, p.handle)
	ctx, stop := context.WithTimeout(t.Context(), hang)
	defer stop()
	must(t, runner.Drain(ctx))
	must(t, ctx.Err())
}

// fill adds the jobs of drain: they have crashed once.
func (l *lab) fill(t *testing.T) {
	t.Helper()
	l.crashed(t, func() {
		_, err := noop.EnqueueMany(t.Context(), l.client, payloads(drained))
		must(t, err)
	})
}
