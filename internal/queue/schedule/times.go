package schedule

import (
	"fmt"
	"time"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/internal/queue/cron"
)

// times computes when a schedule is due.
type times struct {
	spec  cron.Spec
	zone  *time.Location
	start time.Time // @every counts from this time
}

// timesOf reads a schedule's specification and zone.
func timesOf(s db.Schedule) (times, error) {
	spec, err := cron.Parse(s.Spec)
	if err != nil {
		return times{}, err
	}
	zone, err := cron.Zone(s.Zone)
	if err != nil {
		return times{}, err
	}
	return times{spec: spec, zone: zone, start: core.Time(s.StartAt).Truncate(time.Second)}, nil
}

// next returns the first tick after a time, or an error when there is none.
func (t times) next(after time.Time) (time.Time, error) {
	if every := t.spec.Every(); every > 0 {
		past := after.Sub(t.start) % every // the time since the last tick
		if past < 0 {
			past += every // start lies after it
		}
		return after.Add(every - past), nil
	}
	tick := t.spec.Next(after, t.zone)
	if tick.IsZero() {
		return tick, fmt.Errorf("the specification %q is not due within forty years in the zone %s", t.spec, t.zone)
	}
	return tick, nil
}

// windows holds the ranges, back from a time, in which its last ticks are searched, until enough are found.
var windows = [...]time.Duration{time.Minute, 10 * time.Minute, 2 * time.Hour, 24 * time.Hour, 32 * 24 * time.Hour, 366 * 24 * time.Hour}

// last returns the last n of the ticks from the first one on that are not after now, in order.
func (t times) last(first, now time.Time, n int) []time.Time {
	for _, window := range windows {
		from := now.Add(-window)
		if !from.After(first) {
			break
		}
		if ticks := t.between(from, now, n); len(ticks) == n {
			return ticks
		}
	}
	return t.between(first.Add(-time.Microsecond), now, n)
}

// between returns the last n of the ticks after one time and up to another.
func (t times) between(after, now time.Time, n int) []time.Time {
	var ticks []time.Time
	for {
		tick, err := t.next(after)
		if err != nil || tick.After(now) {
			return ticks
		}
		if len(ticks) == n {
			ticks = append(ticks[:0], ticks[1:]...)
		}
		ticks = append(ticks, tick)
		after = tick
	}
}
