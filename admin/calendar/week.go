package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sqluice/sqluice/internal/queue/cron"
)

const (
	days   = 7   // the days of a strip
	most   = 100 // the maximum number of counted ticks of a day
	listed = 6   // the maximum number of ticks in the title of a day
)

// Day is a day in the zone of a schedule.
type Day struct {
	Start time.Time   // in the zone: the beginning of the day, or now for the first one
	Ticks int         // at most 100
	More  bool        // the day has more than these
	First []time.Time // the first ticks, at most 6, in the zone
}

// Week returns the next days of a zone, with the ticks of a specification that are later than now and not before next. next is the next tick
// of the schedule, which an @every specification counts from; it may be zero for others. Week returns an error for an invalid specification
// or zone. It counts at most 100 ticks of a day.
func Week(spec, zone string, next, now time.Time) ([]Day, error) {
	s, err := cron.Parse(spec)
	if err != nil {
		return nil, err
	}
	place, err := cron.Zone(zone)
	if err != nil {
		return nil, err
	}
	// A day begins at its first instant. That is later than midnight if the zone skips midnight.
	midnight, err := cron.Parse("@daily")
	if err != nil {
		return nil, err
	}
	week := make([]Day, 0, days)
	begin, after := now, now
	for range days {
		end := midnight.Next(begin, place)
		day := Day{Start: begin.In(place)}
		day.count(s, after, end, next)
		week = append(week, day)
		begin, after = end, end.Add(-time.Second)
	}
	return week, nil
}

// count adds the ticks after a time and before the end of the day.
func (d *Day) count(s cron.Spec, after, end, next time.Time) {
	if before := next.Add(-time.Second); !next.IsZero() && before.After(after) {
		after = before
	}
	tick := s.Next(after, d.Start.Location())
	if every := s.Every(); every > 0 {
		tick = firstOf(every, next, after)
	}
	for ; tick.After(after) && tick.Before(end); tick = s.Next(tick, d.Start.Location()) {
		if d.Ticks == most {
			d.More = true
			return
		}
		if d.Ticks++; len(d.First) < listed {
			d.First = append(d.First, tick.In(d.Start.Location()))
		}
	}
}

// firstOf returns the first tick after `after`; ticks are `every` apart and begin at `next`.
func firstOf(every time.Duration, next, after time.Time) time.Time {
	if next.After(after) {
		return next
	}
	return next.Add((after.Sub(next)/every + 1) * every)
}

// Name returns the short name of the day of the week.
func (d Day) Name() string { return d.Start.Format("Mon") }

// Count returns the number of ticks of the day as text, such as "3" or "100+".
func (d Day) Count() string {
	if d.More {
		return strconv.Itoa(d.Ticks) + "+"
	}
	return strconv.Itoa(d.Ticks)
}

// Title returns the date of the day and its first ticks, by the clock of the zone.
func (d Day) Title() string {
	var text strings.Builder
	text.WriteString(d.Start.Format("Mon 2 Jan: "))
	if d.Ticks == 0 {
		text.WriteString("none")
	}
	for i, tick := range d.First {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(clock(tick))
	}
	switch rest := d.Ticks - len(d.First); {
	case d.More:
		text.WriteString(" and more")
	case rest > 0:
		fmt.Fprintf(&text, " and %d more", rest)
	}
	return text.String()
}

// clock returns the time of day, with seconds unless they are 0.
func clock(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}
