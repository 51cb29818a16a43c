package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a committer that records its groups and lets each one end only after a value from gate.
type recorder struct {
	*Committer[string]
	gate chan struct{} // a value for each group that may end

	mu     sync.Mutex
	groups []string // the joined works of each group
	err    error    // the outcome of all members
}

func newRecorder(groups, members int) *recorder {
	r := &recorder{gate: make(chan struct{}, 1000)}
	r.Committer = &Committer[string]{Groups: groups, Members: members, Run: r.run}
	return r
}

func (r *recorder) run(group []*Member[string]) {
	r.record(group)
	<-r.gate
	for _, m := range group {
		m.Resolve(r.err)
	}
}

func (r *recorder) record(group []*Member[string]) {
	works := make([]string, len(group))
	for i, m := range group {
		works[i] = m.Work
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups = append(r.groups, strings.Join(works, " "))
}

// begin calls Do in a goroutine, which then leads a group or waits.
func (r *recorder) begin(ctx context.Context, work string) <-chan error {
	end := make(chan error, 1)
	go func() { end <- r.Do(ctx, work) }()
	synctest.Wait()
	return end
}

func (r *recorder) wantGroups(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.groups, want) {
		t.Errorf("the groups are %q, not %q", r.groups, want)
	}
}

func TestCallersWhoWaitShareAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(1, 3)
		r.err = errors.New("the outcome")
		var ends []<-chan error
		for _, work := range []string{"a", "b", "c", "d", "e", "f"} {
			ends = append(ends, r.begin(t.Context(), work))
		}
		if n := r.Waiting(); n != 5 {
			t.Errorf("%d callers wait", n)
		}
		r.wantGroups(t, "a")
		close(r.gate)
		for _, end := range ends {
			if err := <-end; err != r.err {
				t.Errorf("a caller gets %v", err)
			}
		}
		r.wantGroups(t, "a", "b c d", "e f")
		r.begin(t.Context(), "g") // the other works are gone
		r.wantGroups(t, "a", "b c d", "e f", "g")
	})
}

func TestGroupsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(2, 10)
		for _, work := range []string{"a", "b", "c", "d"} {
			r.begin(t.Context(), work)
		}
		r.wantGroups(t, "a", "b")
		r.gate <- struct{}{}
		synctest.Wait()
		r.wantGroups(t, "a", "b", "c d")
		close(r.gate)
	})
}

func TestContextEndsWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(1, 10)
		first := r.begin(t.Context(), "a")
		ctx, cancel := context.WithCancelCause(t.Context())
		second, third := r.begin(ctx, "b"), r.begin(t.Context(), "c")
		cause := errors.New("the cause")
		cancel(cause)
		if err := <-second; !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("the caller whose context ended gets %v", err)
		}
		if err := r.Do(ctx, "d"); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller whose context has ended gets %v", err)
		}
		close(r.gate)
		if err := errors.Join(<-first, <-third); err != nil {
			t.Error(err)
		}
		r.wantGroups(t, "a", "c")
	})
}

// The context of a caller ends while a group has its work: the group's outcome counts.
func TestContextEndsInTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(1, 10)
		first := r.begin(t.Context(), "a")
		second := r.begin(t.Context(), "b")
		ctx, cancel := context.WithCancel(t.Context())
		third := r.begin(ctx, "c")
		r.gate <- struct{}{}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if len(third) > 0 {
			t.Error("the caller did not wait for its group")
		}
		close(r.gate)
		if err := errors.Join(<-first, <-second, <-third); err != nil {
			t.Error(err)
		}
		r.wantGroups(t, "a", "b c")
	})
}

// Members that a group leaves unresolved run alone, beside the next group.
func TestUnsettledMembersRunAlone(t *testing.T) {
	for name, run := range map[string]func(group []*Member[string]){
		"left out": func([]*Member[string]) {},
		"resolved in part": func(group []*Member[string]) {
			group[0].Resolve(nil)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder(1, 10)
			r.Run = func(group []*Member[string]) {
				if len(group) > 1 {
					r.record(group)
					run(group)
					return
				}
				r.run(group)
			}
			var ends []<-chan error
			for _, work := range []string{"a", "b", "c"} {
				ends = append(ends, r.begin(t.Context(), work))
			}
			close(r.gate)
			for _, end := range ends {
				if err := <-end; err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			slices.Sort(r.groups)
			want := []string{"a", "b", "b c", "c"}
			if name == "resolved in part" {
				want = []string{"a", "b c", "c"}
			}
			if !slices.Equal(r.groups, want) {
				t.Errorf("%s: the groups are %q, not %q", name, r.groups, want)
			}
		})
	}
}

// A member that its own run does not settle gets an error, and not the outcome of a write that succeeded.
func TestMemberThatNothingSettles(t *testing.T) {
	c := &Committer[string]{Groups: 1, Members: 10, Run: func([]*Member[string]) {}}
	if err := c.Do(t.Context(), "a"); !errors.Is(err, errUnresolved) {
		t.Errorf("the caller gets %v", err)
	}
}

// A leader whose goroutine ends in Run hands on, and the other members of its group run alone.
func TestLeaderThatEnds(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("oh no") }, "Goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder(1, 2)
			r.Run = func(group []*Member[string]) {
				if group[0].Work == "b" {
					r.record(group)
					end()
				}
				r.run(group)
			}
			first := r.begin(t.Context(), "a")
			leader := make(chan any, 1)
			go func() {
				defer func() { leader <- recover() }()
				_ = r.Do(t.Context(), "b")
				leader <- "it returned"
			}()
			synctest.Wait()
			second, third := r.begin(t.Context(), "c"), r.begin(t.Context(), "d")
			close(r.gate)
			if p := <-leader; name == "panic" && p != "oh no" || name == "Goexit" && p != nil {
				t.Errorf("%s: the leader ends with %v", name, p)
			}
			if err := errors.Join(<-first, <-second, <-third); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			slices.Sort(r.groups)
			if want := []string{"a", "b c", "c", "d"}; !slices.Equal(r.groups, want) {
				t.Errorf("%s: the groups are %q, not %q", name, r.groups, want)
			}
		})
	}
}

// Waiting callers run alone when no group ends for Stuck, and only then.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stuck = time.Second
		r := newRecorder(1, 10)
		r.Stuck = stuck
		r.begin(t.Context(), "a")
		time.Sleep(stuck * 3 / 4)
		r.begin(t.Context(), "b")
		r.gate <- struct{}{} // a ends, and b leads
		synctest.Wait()
		r.begin(t.Context(), "c")
		time.Sleep(stuck - 1)
		r.wantGroups(t, "a", "b")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		r.wantGroups(t, "a", "b", "c")
		close(r.gate)
	})
}

// Without Stuck callers wait for as long as a group takes.
func TestNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(1, 10)
		r.begin(t.Context(), "a")
		r.begin(t.Context(), "b")
		time.Sleep(24 * time.Hour)
		r.wantGroups(t, "a")
		close(r.gate)
	})
}

// Close waits for the callers that were accepted, and refuses others.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(1, 10)
		first, second := r.begin(t.Context(), "a"), r.begin(t.Context(), "b")
		over := errors.New("over")
		closed := make(chan struct{})
		go func() {
			r.Close(over)
			close(closed)
		}()
		synctest.Wait()
		if err := r.Do(t.Context(), "c"); err != over {
			t.Errorf("a caller after Close gets %v", err)
		}
		select {
		case <-closed:
			t.Error("Close did not wait")
		default:
		}
		close(r.gate)
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
		<-closed
		r.wantGroups(t, "a", "b")
	})
}

// With many callers at once, each work runs once, and no more groups run at once than Groups.
func TestManyCallers(t *testing.T) {
	const callers, each, groups, members = 50, 200, 2, 7
	var mu sync.Mutex
	ran, running := map[int]int{}, 0
	c := &Committer[int]{Groups: groups, Members: members}
	c.Run = func(group []*Member[int]) {
		mu.Lock()
		running++
		if running > groups || len(group) > members {
			t.Errorf("%d groups run at once, one with %d members", running, len(group))
		}
		for _, m := range group {
			ran[m.Work]++
		}
		mu.Unlock()
		runtime.Gosched()
		mu.Lock()
		running--
		mu.Unlock()
		for _, m := range group {
			m.Resolve(nil)
		}
	}
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for j := range each {
				if err := c.Do(t.Context(), i*each+j); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if len(ran) != callers*each {
		t.Errorf("%d works ran", len(ran))
	}
	for work, n := range ran {
		if n != 1 {
			t.Errorf("work %d ran %d times", work, n)
		}
	}
	if c.running != 0 || c.waiting != nil {
		t.Errorf("%d groups run, %d members wait", c.running, len(c.waiting))
	}
}

// While the leader waits in Acquire, callers leave when their contexts end, and the next one leads when the leader's context ends.
func TestAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(1, 10)
		outcomes, released := make(chan error), 0
		r.Patience = time.Second
		r.Acquire = func(m *Member[string]) error {
			select {
			case err := <-outcomes:
				return err
			case <-m.Ctx.Done():
				return m.Ctx.Err()
			}
		}
		r.Release = func() { released++ }
		ctx, cancel := context.WithCancel(t.Context())
		first, second, third := r.begin(ctx, "a"), r.begin(ctx, "b"), r.begin(t.Context(), "c")
		cancel()
		for _, end := range []<-chan error{first, second} {
			if err := <-end; !errors.Is(err, context.Canceled) {
				t.Errorf("a caller whose context ended gets %v", err)
			}
		}
		synctest.Wait()
		busy := errors.New("busy")
		outcomes <- busy
		if err := <-third; err != busy {
			t.Errorf("the next leader gets %v", err)
		}
		fourth, fifth := r.begin(t.Context(), "d"), r.begin(t.Context(), "e")
		outcomes <- busy // fifth has not waited for long
		if err := <-fourth; err != busy {
			t.Errorf("a leader gets %v", err)
		}
		synctest.Wait()
		sixth := r.begin(t.Context(), "f")
		r.gate <- struct{}{}
		outcomes <- nil
		for _, end := range []<-chan error{fifth, sixth} {
			if err := <-end; err != nil {
				t.Errorf("a member of a group gets %v", err)
			}
		}
		r.wantGroups(t, "e f")
		if released != 1 {
			t.Errorf("%d releases", released)
		}
	})
}

// Each call waits the same time for Acquire, whenever it came and however long others waited before it.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience, try = 5 * time.Second, 50 * time.Millisecond
		r, busy := newRecorder(1, 10), errors.New("busy")
		r.Patience = patience
		r.Acquire = func(m *Member[string]) error {
			for {
				time.Sleep(try)
				if time.Since(m.Came) >= patience {
					return busy
				}
			}
		}
		var all sync.WaitGroup
		for i := range 100 { // 100 calls in ten seconds
			began := time.Now()
			end := r.begin(t.Context(), fmt.Sprint(i))
			all.Go(func() {
				if err := <-end; err != busy {
					t.Errorf("call %d gets %v", i, err)
				}
				if waited := time.Since(began); waited < patience || waited > patience+2*try {
					t.Errorf("call %d waited for %s", i, waited)
				}
			})
			time.Sleep(100 * time.Millisecond)
		}
		all.Wait()
	})
}
