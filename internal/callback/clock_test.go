package callback

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// The system's clock replaces a clock that fails, with the last known difference.
func TestClockThatFails(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic": func() { panic("broken") }, "Goexit": runtime.Goexit,
	} {
		failing := false
		now := Clock(func() time.Time {
			if failing {
				fail()
			}
			return time.Now().Add(time.Hour)
		})
		wantAhead(t, now())
		failing = true
		wantAhead(t, now())
		failing = false
		wantAhead(t, now())
		t.Log(name)
	}
}

func wantAhead(t *testing.T, have time.Time) {
	t.Helper()
	if ahead := time.Until(have); ahead < 50*time.Minute || ahead > 70*time.Minute {
		t.Errorf("the clock is ahead by %s, not by an hour", ahead)
	}
}

// While a clock does not answer, only the first caller waits for it.
func TestClockThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var block chan struct{}
		now := Clock(func() time.Time {
			if block != nil {
				<-block
			}
			return time.Now().Add(time.Hour)
		})
		wantAhead(t, now())
		block = make(chan struct{})
		began := time.Now()
		for range 5 {
			wantAhead(t, now())
		}
		if waited := time.Since(began); waited != clockWithin {
			t.Errorf("five calls waited for %s together, not %s", waited, clockWithin)
		}
		close(block)
		synctest.Wait()
		block = nil
		began = time.Now()
		wantAhead(t, now())
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the clock answers again, and the caller waited for %s", waited)
		}
	})
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if v, ok := Within(time.Second, func() int { return 7 }); v != 7 || !ok {
			t.Errorf("the answer is %d, %t", v, ok)
		}
		release := make(chan struct{})
		for name, fn := range map[string]func() int{
			"panic":  func() int { panic("broken") },
			"Goexit": func() int { runtime.Goexit(); return 7 },
			"block":  func() int { <-release; return 7 },
		} {
			if v, ok := Within(time.Second, fn); v != 0 || ok {
				t.Errorf("%s: the answer is %d, %t", name, v, ok)
			}
		}
		close(release)
	})
}
