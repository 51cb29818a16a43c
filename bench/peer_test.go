package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestPeersHaveKeysAndVersionsOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range peers() {
		if seen[c.key()] {
			t.Errorf("two contenders are %s", c.key())
		}
		seen[c.key()] = true
		if c.version == "" {
			t.Errorf("%s has no version", c.key())
		}
	}
}

// TestGoPeersPlayTheirRoles runs each role of each Go peer in this process, on a few jobs.
func TestGoPeersPlayTheirRoles(t *testing.T) {
	for _, c := range peers() {
		if c.roles == nil {
			continue // played by another program
		}
		t.Run(c.key(), func(t *testing.T) {
			t.Parallel()
			d := createFor(t, c)
			const n = 12
			want := make([]int, n)
			for i := range want {
				want[i] = i
			}
			play(t, c, d, roleInsert, task{Jobs: n, Callers: 3})
			r := play(t, c, d, roleDrain, task{Jobs: n, Concurrency: 5})
			if got := numbers(r.Begun); !slices.Equal(got, want) {
				t.Errorf("drain after insert started %v", got)
			}
			play(t, c, d, roleBulk, task{Jobs: n})
			r = play(t, c, d, roleDrain, task{Jobs: n, Concurrency: 5, Hold: time.Millisecond})
			if got := numbers(r.Begun); !slices.Equal(got, want) {
				t.Errorf("drain after bulk started %v", got)
			}
			r = play(t, c, d, roleLatency, task{Jobs: n, Concurrency: 5, Rate: 200})
			if got := numbers(r.Begun); !slices.Equal(got, want) || len(r.Sent) != n {
				t.Errorf("latency started %v of %d sent", got, len(r.Sent))
			}
			r = play(t, c, d, rolePaced, task{Jobs: n, Rate: 1000, Batch: 5})
			if len(r.Sent) != n {
				t.Errorf("paced sent %d", len(r.Sent))
			}
			r = play(t, c, d, roleWork, task{Jobs: n, Concurrency: 5})
			if got := numbers(r.Begun); !slices.Equal(got, want) {
				t.Errorf("work started %v", got)
			}
			if r = play(t, c, d, roleIdle, task{Concurrency: 5, For: time.Millisecond}); len(r.Begun) != 0 {
				t.Errorf("idle started %v", r.Begun)
			}
		})
	}
}

// createFor makes a database for a contender, and skips the test where its engine is not installed.
func createFor(t *testing.T, c contender) database {
	e, err := engineStarters()[c.engine](t.Context())
	if errors.Is(err, errNoServer) {
		t.Skip("NOT TESTED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := e.create(t.Context(), c.durability)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(d.drop(), e.stop()); err != nil {
			t.Error(err)
		}
	})
	return d
}

func play(t *testing.T, c contender, d database, role string, what task) report {
	t.Helper()
	what.Role, what.System, what.Settings, what.Durability, what.Path = role, c.key(), c.settings, c.durability, d.path
	in, out := io.Pipe()
	// Not closed by the writer: a closed pipe would look like the end of a parent.
	defer in.CloseWithError(io.ErrClosedPipe)
	go io.WriteString(out, "begin\n")
	r, err := c.roles[role](t.Context(), what, &parent{in: bufio.NewReader(in)})
	if err != nil {
		t.Fatalf("%s: %v", role, err)
	}
	if r.Errors != 0 {
		t.Errorf("%s: %d errors, the first is %q", role, r.Errors, r.First)
	}
	return r
}

// numbers returns the numbers of the started jobs, in order.
func numbers(list []jobStart) []int {
	var all []int
	for _, b := range list {
		all = append(all, b.N)
	}
	slices.Sort(all)
	return all
}

// waiting is a queue for tests of the end of a drain only.
type waiting struct {
	goQueue
	looks int
	left  func() (bool, error)
}

func (w *waiting) unfinished(context.Context) (bool, error) {
	w.looks++
	return w.left()
}

func TestDrainedWaitsForWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newJournal(3)
		begin := time.Now()
		go func() {
			for i := range 3 {
				time.Sleep(2 * time.Second)
				log.start(i)
			}
		}()
		q := &waiting{left: func() (bool, error) { return time.Since(begin) < 7*time.Second, nil }}
		var f mishaps
		if stalled, err := drained(t.Context(), q, log, &f); stalled != 0 || err != nil || f.count != 0 {
			t.Fatal(stalled, err, f.count)
		}
		if took := time.Since(begin); took < 7*time.Second || took > 7*time.Second+lookEvery+quietFor {
			t.Errorf("it took %s", took)
		}
	})
}

func TestDrainedGivesUpLostJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newJournal(3)
		log.start(0)
		begin := time.Now()
		q := &waiting{left: func() (bool, error) { return true, nil }}
		var f mishaps
		if stalled, err := drained(t.Context(), q, log, &f); stalled < lastStart || err != nil || f.count != 1 {
			t.Fatal(stalled, err, f.count)
		}
		if took := time.Since(begin); took < lastStart || took > lastStart+time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestDrainedGivesUpASlowPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newJournal(1_000_000)
		begin := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			for i := 0; simulateWork(ctx, time.Millisecond) == nil; i++ {
				log.start(i)
			}
		}()
		q := &waiting{left: func() (bool, error) { return true, nil }}
		var f mishaps
		if stalled, err := drained(ctx, q, log, &f); stalled != 0 || err != nil || f.count != 1 {
			t.Fatal(stalled, err, f.count)
		}
		if took := time.Since(begin); took < drainFor || took > drainFor+time.Second {
			t.Errorf("it took %s", took)
		}
		if q.looks != 0 {
			t.Errorf("it looked %d times for the end while jobs started", q.looks)
		}
	})
}

func TestDrainedReturnsTheErrorOfALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		q := &waiting{left: func() (bool, error) { return true, broken }}
		if _, err := drained(t.Context(), q, newJournal(1), new(mishaps)); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	})
}

func TestMishapsCountErrorsUntilTheStop(t *testing.T) {
	var f mishaps
	logger := f.logger().With("a", 1).WithGroup("g")
	logger.Warn("no error")
	logger.Error("an error", slog.String("which", "one"))
	f.addError(nil)
	f.addError(errors.New("another"))
	f.stop(func() error {
		logger.Error("logged by workers that stop")
		return errors.New("not stopped")
	})
	var r report
	f.addTo(&r)
	if r.Errors != 3 || r.First != "an error which=one" {
		t.Errorf("%+v", r)
	}
}

func TestRedisFlushesAsTheDurabilitySays(t *testing.T) {
	for durability, want := range map[string]string{durabilityNormal: "everysec", durabilityFull: "always"} {
		list := redisArgs("/folder/redis.sock", durability)
		if i := slices.Index(list, "--appendfsync"); i < 0 || list[i+1] != want {
			t.Errorf("%s: %v", durability, list)
		}
	}
}
