package groupcommit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// errUnresolved is the outcome of a member that Run did not resolve, even when called for that member alone.
var errUnresolved = errors.New("the write was abandoned: its transaction did not return")

// Committer runs the work of concurrent callers of Do in groups. Its exported fields are set before the first call and not changed.
type Committer[T any] struct {
	// Run runs the work of a group's members and resolves each of them. It must not change the slice. Members that it leaves
	// unresolved, also because it panics or calls runtime.Goexit, are then run one by one: each on the goroutine of its caller,
	// beside other groups.
	Run func(group []*Member[T])

	// Acquire, if set, is called before Run, and before the group is taken, with the member that will lead it. It waits for a resource of
	// Run, such as a lock, until that member has waited for Patience, and at most until its context ends. A caller that comes
	// meanwhile joins the group, or leaves when its context ends. When Acquire fails, its error is the outcome of all members that have
	// waited for Patience, and the next one leads. Release undoes Acquire.
	Acquire  func(m *Member[T]) error
	Release  func()
	Patience time.Duration

	Groups  int // the number of groups that run at once, at least 1
	Members int // the largest number of members of a group, at least 1

	// Stuck is the time without an ended group after which a waiting caller runs alone, so that a lock that one group waits
	// for delays only that group. 0 means that callers wait until a group ends.
	Stuck time.Duration

	mu      sync.Mutex
	waiting []*Member[T]
	running int       // the number of groups under way
	ended   time.Time // when the last group ended, or the first one under way began; only with Stuck
	closed  error     // the error of Do after Close
	callers sync.WaitGroup
}

// Member is one call of Do.
type Member[T any] struct {
	Ctx  context.Context
	Work T
	Came time.Time // when Do was called

	resolved bool
	err      error
	self     [1]*Member[T] // backs a group of one without an allocation
	wake     chan bool     // true: the member leads the next group; false: its group has ended; nil unless it waited
}

// Resolve gives a member its outcome. The last call counts.
func (m *Member[T]) Resolve(err error) { m.resolved, m.err = true, err }

// Do runs work in a group and returns its outcome. The end of ctx counts only while the caller waits for a group.
func (c *Committer[T]) Do(ctx context.Context, work T) error {
	m := &Member[T]{Ctx: ctx, Work: work, Came: time.Now()}
	leads, err := c.enter(m)
	if err != nil {
		return err
	}
	defer c.callers.Done()
	if !leads {
		if leads, err = c.wait(m); err != nil {
			return err
		}
	}
	if leads {
		c.lead(m)
	}
	if !m.resolved { // its group left it unresolved, or no group has ended for Stuck
		m.Resolve(errUnresolved)
		c.runAlone(m)
	}
	return m.err
}

// runAlone runs the work of one member on the goroutine of its caller.
func (c *Committer[T]) runAlone(m *Member[T]) {
	if err := c.acquire(m); err != nil {
		m.Resolve(err)
		return
	}
	defer c.release()
	c.Run([]*Member[T]{m})
}

func (c *Committer[T]) acquire(m *Member[T]) error {
	if c.Acquire == nil {
		return nil
	}
	return c.Acquire(m)
}

func (c *Committer[T]) release() {
	if c.Release != nil {
		c.Release()
	}
}

// Close makes later calls of Do return err, and waits for the calls under way.
func (c *Committer[T]) Close(err error) {
	c.mu.Lock()
	c.closed = err
	c.mu.Unlock()
	c.callers.Wait()
}

// Waiting returns the number of callers that wait for a group.
func (c *Committer[T]) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// enter reports whether a member leads a group. If not, the member waits.
func (c *Committer[T]) enter(m *Member[T]) (leads bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return false, c.closed
	}
	if m.Ctx.Err() != nil {
		return false, contextError(m.Ctx)
	}
	c.callers.Add(1)
	if c.running < c.Groups {
		if c.running == 0 {
			c.recordEnd()
		}
		c.running++
		return true, nil
	}
	m.wake = make(chan bool, 1)
	c.waiting = append(c.waiting, m)
	return false, nil
}

// wait returns when a member leads a group, when its group has ended, when it must run alone, or when its context ends.
func (c *Committer[T]) wait(m *Member[T]) (leads bool, err error) {
	var stuck <-chan time.Time
	if c.Stuck > 0 {
		ticker := time.NewTicker(c.Stuck)
		defer ticker.Stop()
		stuck = ticker.C
	}
	for {
		select {
		case leads = <-m.wake:
			return leads, nil
		case <-m.Ctx.Done():
			if c.withdraw(m, false) {
				return false, contextError(m.Ctx)
			}
			return <-m.wake, nil // too late: the member is in a group, or leads one
		case <-stuck:
			if c.withdraw(m, true) {
				return false, nil
			}
		}
	}
}

// withdraw takes a waiting member out of the queue. It returns false when the member no longer waits, and, if stuck is set, when a
// group has ended within Stuck.
func (c *Committer[T]) withdraw(m *Member[T], stuck bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, m)
	if i < 0 || stuck && time.Since(c.ended) < c.Stuck {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return true
}

// lead runs the group of a member and of the waiting ones. It hands on, also when Run does not return.
func (c *Committer[T]) lead(m *Member[T]) {
	var group []*Member[T]
	defer func() {
		for _, other := range group { // woken before the next leader, so that they may come again in time for its group
			if other != m {
				other.wake <- false
			}
		}
		c.handOn()
	}()
	if err := c.acquire(m); err != nil {
		m.Resolve(err)
		if m.Ctx.Err() == nil {
			group = c.removeImpatient(m)
		}
		for _, other := range group {
			other.Resolve(err)
		}
		return
	}
	defer c.release()
	group = c.formGroup(m)
	c.Run(group)
}

// removeImpatient removes the members that have waited for Patience from the queue. It returns them behind the leader, whose Acquire failed.
func (c *Committer[T]) removeImpatient(leader *Member[T]) []*Member[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	group := []*Member[T]{leader}
	c.waiting = slices.DeleteFunc(c.waiting, func(m *Member[T]) bool {
		if time.Since(m.Came) < c.Patience {
			return false
		}
		group = append(group, m)
		return true
	})
	return group
}

// formGroup removes the members of the next group from the queue. It returns them behind their leader.
func (c *Committer[T]) formGroup(leader *Member[T]) []*Member[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(c.Members-1, len(c.waiting))
	group := append(append(leader.self[:0], leader), c.waiting[:n]...)
	c.waiting = slices.Delete(c.waiting, 0, n)
	return group
}

// handOn ends a group, and lets the first waiting member lead another.
func (c *Committer[T]) handOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordEnd()
	if len(c.waiting) == 0 {
		c.running--
		c.waiting = nil // frees the memory of a burst
		return
	}
	next := c.waiting[0]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	next.wake <- true
}

// recordEnd records the time for Stuck.
func (c *Committer[T]) recordEnd() {
	if c.Stuck > 0 {
		c.ended = time.Now()
	}
}

// contextError returns the error of a context that has ended, and its cause.
func contextError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return errors.Join(ctx.Err(), cause)
	}
	return ctx.Err()
}
