package conformance

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/queue/maintenance"
	"github.com/sqluice/sqluice/internal/queue/refusal"
	"github.com/sqluice/sqluice/jobs"
)

// year is the time by which the clock of these tests is ahead for a while.
const year = 365 * 24 * time.Hour

// clockAhead holds the rows that a clock writes while it is a year ahead: a key that is taken for half a minute, a pause of a minute, a
// schedule that was fired, and one that was put.
type clockAhead struct {
	*fixture
	clocked
	client *jobs.Client
	first  jobs.Receipt // of the key
}

func (f *fixture) clockAhead() *clockAhead {
	f.Helper()
	c := &clockAhead{fixture: f, clocked: clocked{f.store, new(atomic.Int64)}}
	c.client = jobs.New(engine.SealStore(c.clocked))
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("fired", "* * * * *", "k", json.RawMessage("{}"), jobs.CatchUpAll(200))))
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("right", "0 0 1 1 *", "k", json.RawMessage("{}"))))
	c.ahead.Store(int64(year))
	c.first = c.take()
	if _, err := c.client.PauseKind(f.ctx, jobs.DefaultQueue, "paused", jobs.PauseFor(time.Minute)); err != nil {
		f.Fatal(err)
	}
	f.must(c.client.PutSchedule(f.ctx, jobs.NewSchedule("put", "@every 30s", "k", json.RawMessage("{}"))))
	return c
}

// take enqueues a job whose key is taken for half a minute.
func (c *clockAhead) take() jobs.Receipt {
	c.Helper()
	r, err := c.client.Enqueue(c.fixture.ctx, "other", json.RawMessage("{}"), jobs.UniqueFor("u", 30*time.Second))
	c.must(err)
	return r
}

// look does a worker's work of each second.
func (c *clockAhead) look() {
	c.Helper()
	s := &maintenance.Upkeep{Store: c.clocked, Log: quiet(), Declared: "[]", Notes: &refusal.Notes{Log: quiet()}}
	if _, err := s.Once(c.fixture.ctx, c.Now()); err != nil {
		c.Fatal(err)
	}
}

// lasting returns the names of the rows that would last longer than intended, by the right clock.
func (c *clockAhead) lasting() (names []string) {
	c.Helper()
	soon := core.Micros(c.fixture.store.Now().Add(time.Minute + core.ClockAhead))
	c.must(c.fixture.store.Read(c.fixture.ctx, func(ctx context.Context, q db.Querier) error {
		names = nil
		key, err := q.GetUniqueKey(ctx, db.GetUniqueKeyParams{Kind: "other", UniqueKey: "u"})
		if err != nil && !errors.Is(err, sql.ErrNoRows) { // a worker may have removed it
			return err
		}
		if key.Until > soon {
			names = append(names, "the key")
		}
		pauses, err := q.ListPauses(ctx)
		if err != nil {
			return err
		}
		for _, p := range pauses {
			if p.PausedAt > soon || core.Deref(p.PausedUntil) > soon {
				names = append(names, "the pause")
			}
		}
		for _, name := range []string{"fired", "put"} {
			s, err := q.GetSchedule(ctx, name)
			if err != nil {
				return err
			}
			if max(s.NextAt, s.StartAt, s.UpdatedAt, core.Deref(s.LastAt)) > soon {
				names = append(names, "the schedule "+name)
			}
		}
		return nil
	}))
	return names
}

// A time that a clock wrote while it was ahead goes on from the next look by the right clock, for its own period. A time that is far
// ahead for another reason stays.
func testClockAhead(f *fixture) {
	c := f.clockAhead()
	right, err := c.client.GetSchedule(f.ctx, "right")
	f.must(err)
	c.look()
	want(f, "what lasts by the wrong clock", len(c.lasting()), 4)
	c.ahead.Store(0)
	c.look()
	want(f, "what lasts by the right clock", len(c.lasting()), 0)
	f.must(f.client.PutSchedule(f.ctx, jobs.NewSchedule("later", "* * * * *", "k", json.RawMessage("{}"))))
	later := f.store.Now().Add(48 * time.Hour).Truncate(time.Minute).UTC()
	f.setNext("later", later) // as a person may do by SQL
	c.look()
	for name, next := range map[string]time.Time{"right": right.Next, "later": later} {
		s, err := c.client.GetSchedule(f.ctx, name)
		f.must(err)
		want(f, "the next tick of "+name, s.Next, next)
	}
	ticks, err := c.client.ScheduleTicks(f.ctx, "fired", 1000)
	f.must(err)
	if len(ticks) > 1 || len(ticks) == 1 && ticks[0].Tick.After(c.Now()) {
		f.Errorf("the ticks %v are noted", ticks)
	}

	want(f, "the receipt within the period", c.take(), jobs.Receipt{ID: c.first.ID, Existed: true})
	c.ahead.Store(int64(time.Minute + time.Second))
	want(f, "the key is taken after it", c.take().Existed, false)
	c.look()
	f.must(f.store.Read(f.ctx, func(ctx context.Context, q db.Querier) error {
		pauses, err := q.ListPauses(ctx)
		want(f, "pauses after it", len(pauses), 0)
		return err
	}))
	for _, name := range []string{"fired", "put"} {
		ticks, err := c.client.ScheduleTicks(f.ctx, name, 1000)
		f.must(err)
		if len(ticks) == 0 || ticks[0].Tick.After(c.Now()) {
			f.Errorf("after a minute %s has the ticks %v", name, ticks)
		}
	}
}

// A worker that lives meanwhile looks at once.
func testClockAheadBesideAWorker(f *fixture) {
	c := f.clockAhead()
	f.startOn(c.client, jobs.Config{}, on("k", nothing))
	f.eventually("the schedule is fired by the wrong clock", func() bool {
		s, err := c.client.GetSchedule(f.ctx, "fired")
		f.must(err)
		return s.Next.After(f.store.Now().Add(year - time.Hour))
	})
	c.ahead.Store(0)
	f.eventually("nothing lasts", func() bool { return len(c.lasting()) == 0 })
}

// The row of a worker that died by a wrong clock, and that left no lock, is over like any other.
func testClockAheadThenDead(f *fixture) {
	id := f.many(1)[0]
	c := clocked{f.store, new(atomic.Int64)}
	c.ahead.Store(int64(year))
	g := f.lockless("of the year ahead", time.Minute+year)
	g.claim(1, time.Minute+year)
	f.must(f.store.Write(f.ctx, func(ctx context.Context, q db.Querier) error {
		_, err := q.HeartbeatWorker(ctx, db.HeartbeatWorkerParams{ID: g.id, Now: core.Micros(c.Now()), LeaseUntil: core.Micros(c.Now().Add(time.Minute))})
		return err
	}))
	f.drain(jobs.Config{Lease: time.Second}, on("k", nothing))
	want(f, "status", f.get(id).Status, jobs.StatusDone)
	f.wantError(id, jobs.CauseLost, "of the year ahead")
}
