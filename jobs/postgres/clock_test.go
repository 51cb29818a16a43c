package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqluice/sqluice/jobs"
)

var clockTests = []engineTest{
	{"ClocksThatAreOff", testClocksThatAreOff},
	{"ClockOfAnEnqueuer", testClockOfAnEnqueuer},
}

// off sets a wrong clock for a store's machine.
func off(by time.Duration) Option {
	return WithClock(func() time.Time { return time.Now().Add(by) })
}

// byTheServer checks that a time lies between two readings of the server's clock, within the measurement's error.
func byTheServer(t *testing.T, what string, conn *pgx.Conn, after time.Duration, act func() time.Time) {
	t.Helper()
	const tolerance = 10 * time.Second // wrong clocks are wrong by an hour
	before := time.UnixMicro(scan[int64](t, conn, "server_clock"))
	have := act().Add(-after)
	later := time.UnixMicro(scan[int64](t, conn, "server_clock"))
	if have.Before(before.Add(-tolerance)) || have.After(later.Add(tolerance)) {
		t.Errorf("%s is %s, not from %s to %s", what, have, before, later)
	}
}

// All times of the queue are the server's, whatever the clocks of the machines say, also the first ones.
func testClocksThatAreOff(t *testing.T, site *site) {
	offsets := []time.Duration{-time.Hour, time.Hour, 1000 * time.Hour}
	if testing.Short() {
		offsets = offsets[:1]
	}
	for _, by := range offsets {
		t.Run(by.String(), func(t *testing.T) {
			_, right, url := site.queue(t)
			conn := dial(t, url)
			for sort, begin := range beginners(t, url) {
				_, fresh := open(t, url, off(by))
				byTheServer(t, "the run_after of the first job by "+sort, conn, 0, func() time.Time {
					tx := begin()
					receipt, err := fresh.With(tx).Enqueue(t.Context(), "k", []byte("{}"))
					must(t, err)
					must(t, tx.commit())
					return get(t, right, receipt.ID).RunAfter
				})
			}
			_, wrong := open(t, url, off(by))
			byTheServer(t, "the run_after of the first job", conn, 0, func() time.Time { return get(t, right, enqueue(t, wrong, "k")).RunAfter })
			byTheServer(t, "the run_after of a later job", conn, time.Minute, func() time.Time {
				return get(t, right, enqueue(t, wrong, "later", jobs.In(time.Minute))).RunAfter
			})
			drain(t, right, jobs.Config{}, handlers{"k": nothing}) // they are due

			// A worker with a wrong clock beside one with a right one: neither considers the other's lease over.
			release := make(chan struct{})
			hold := func(context.Context, jobs.Job) error { <-release; return nil }
			work(t, wrong, jobs.Config{Lease: 9 * time.Second}, handlers{"wrong": hold, "soon": nothing})
			work(t, right, jobs.Config{Lease: 9 * time.Second}, handlers{"right": hold})
			ids := []int64{enqueue(t, right, "wrong"), enqueue(t, wrong, "right")}
			for _, id := range ids {
				byTheServer(t, "the lease", conn, 9*time.Second, func() time.Time {
					eventually(t, "the job runs", func() bool { return get(t, right, id).Status == jobs.StatusRunning })
					return get(t, right, id).LeaseUntil
				})
			}
			wantDone(t, right, enqueue(t, right, "soon", jobs.In(100*time.Millisecond)), 1) // by the wrong clock's alarm
			for _, id := range ids {
				first := get(t, right, id).LeaseUntil
				eventually(t, "the lease is renewed", func() bool { return get(t, right, id).LeaseUntil.After(first) })
			}
			close(release)
			for _, id := range ids {
				wantDone(t, right, id, 1)
			}
		})
	}
}

// A process that only adds jobs in its own transactions, and so never uses the store's pool, notices at once that its
// clock was set.
func testClockOfAnEnqueuer(t *testing.T, site *site) {
	_, right, url := site.queue(t)
	conn := dial(t, url)
	var ahead atomic.Int64
	_, own := open(t, url, WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
	add := func() time.Time {
		t.Helper()
		tx, err := conn.Begin(t.Context())
		must(t, err)
		receipt, err := own.With(Tx(tx)).Enqueue(t.Context(), "k", []byte("{}"))
		must(t, err)
		must(t, tx.Commit(t.Context()))
		return get(t, right, receipt.ID).RunAfter
	}
	byTheServer(t, "the first run_after", conn, 0, add)
	for _, by := range []time.Duration{time.Hour, -3 * time.Hour} { // since the last measurement, by the local clock
		ahead.Store(int64(by))
		byTheServer(t, "the first run_after since the clock was set", conn, 0, add)
	}
}

// The clock follows the server's from measurements that took some time, and a step of either one at once.
func TestClockSamples(t *testing.T) {
	local := time.Now()
	read := func() time.Time { return local }
	c := clock{local: read, monotonic: read}
	// measure takes a sample of a server whose clock is ahead; there and back are the times of the two ways.
	measure := func(ahead, there, back time.Duration) {
		sent := c.instant()
		server := local.Add(there).Add(ahead).UnixMicro()
		local = local.Add(there + back)
		c.sample(server, sent, c.instant())
	}
	within := func(what string, ahead, by time.Duration) {
		t.Helper()
		now, _ := c.now()
		if wrong := now.Sub(local) - ahead; wrong.Abs() > by+time.Microsecond {
			t.Errorf("%s: the clock is %s wrong, and may be %s", what, wrong, by)
		}
	}
	want(t, "known before the first sample", c.known(), false)
	within("before the first sample", 0, 0)
	const ms = time.Millisecond
	measure(time.Hour, 5*ms, 5*ms)
	want(t, "known after it", c.known(), true)
	within("after one", time.Hour, 5*ms)
	measure(time.Hour, 900*ms, 100*ms)
	within("after one that took long", time.Hour, 5*ms)
	local = local.Add(sampleFor)
	measure(time.Hour, 90*ms, 10*ms)
	within("when the precise one is old", time.Hour, 50*ms)
	measure(time.Hour, ms, ms)
	within("after a precise one", time.Hour, ms)
	measure(-time.Hour, 400*ms, 600*ms)
	within("after a step", -time.Hour, 500*ms)
	local = local.Add(-time.Hour)
	measure(0, ms, 2*ms)
	within("after a step of the local clock", 0, 2*ms)
	measure(ms/2, ms/10, ms/10)
	within("clocks that are as good as one", 0, 0)
	for i := range 1000 {
		ahead := time.Duration(rand.Int64N(int64(time.Second)))
		there, back := time.Duration(rand.Int64N(int64(50*ms))), time.Duration(rand.Int64N(int64(50*ms)))
		measure(ahead, there, back)
		local = local.Add(sampleFor + time.Second)
		measure(ahead, there, back)
		// A difference within the measurement's error counts as none.
		within(fmt.Sprintf("draw %d: %s ahead, %s there, %s back", i, ahead, there, back), ahead, there+back+sameClock)
	}
}

// A step of the local clock shows at the next look, and one in the middle of a measurement does not count as the server's.
func TestClockSteps(t *testing.T) {
	real := time.Now()
	offset := time.Duration(0)
	c := clock{local: func() time.Time { return real.Add(offset) }, monotonic: func() time.Time { return real }}
	look := func(what string, wantStep bool) {
		t.Helper()
		now, stepped := c.now()
		if wrong := now.Sub(real); wrong.Abs() > time.Millisecond || stepped != wantStep {
			t.Errorf("%s: the clock is %s wrong, and a step was seen: %v", what, wrong, stepped)
		}
	}
	look("before the first sample", false)
	c.sample(real.UnixMicro(), c.instant(), c.instant())
	for _, by := range []time.Duration{time.Hour, -time.Hour, -2 * time.Hour} {
		offset = by
		look("set", true)
		look("set, once more", false)
		real = real.Add(time.Minute)
		look("later", false)
		c.sample(real.UnixMicro(), c.instant(), c.instant())
		look("after a sample", false)
	}
	sent := c.instant()
	server := real.UnixMicro()
	offset = 3 * time.Hour
	c.sample(server, sent, c.instant())
	look("set within a sample", true)
	look("set within a sample, once more", false)
}
