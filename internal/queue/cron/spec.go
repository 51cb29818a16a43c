package cron

import (
	"math/bits"
	"time"
)

// Spec is a parsed specification of recurring times. It is immutable and may be used concurrently. The zero value is never due.
type Spec struct {
	text  string
	every time.Duration // the interval of @every; otherwise the fields below apply

	second, minute, hour, month uint64 // a bit for each value
	day                         days
	fixed                       bool // neither the minute nor the hour has a wildcard
}

// String returns the specification as it was given to Parse.
func (s Spec) String() string { return s.text }

// Every returns the interval of an @every specification, and 0 for any other.
func (s Spec) Every() time.Duration { return s.every }

// days holds the days of a month that match.
type days struct {
	ofMonth uint64 // bits 1 to 31
	last    bool   // the last day of the month
	star    bool   // the day of month is not restricted

	ofWeek     uint64   // bits 0 to 6, of any week
	nth        [7]uint8 // a bit for the first, second ... such day of the month
	lastOfWeek uint64   // the last such day of the month
	starOfWeek bool     // the day of week is not restricted
}

// match reports whether a day of a month with length days matches.
func (d *days) match(day, weekday, length int) bool {
	month := d.ofMonth>>day&1 != 0 || d.last && day == length
	week := d.ofWeek>>weekday&1 != 0 || d.nth[weekday]>>((day-1)/7)&1 != 0 || d.lastOfWeek>>weekday&1 != 0 && day+7 > length
	if d.star || d.starOfWeek {
		return month && week
	}
	return month || week
}

// secondsOfDay is the length of each local day here: a zone's clock is moved between days, not within this arithmetic.
const secondsOfDay = 24 * 60 * 60

// nextLocal returns the first second from n on whose fields match. n and the result count seconds from 1970 on a local clock. ok is
// false when there is none before limit.
func (s *Spec) nextLocal(n, limit int64) (int64, bool) {
	t := time.Unix(n, 0).UTC() // its fields are those of the local clock
	day, ofDay := t.Day(), t.Hour()*3600+t.Minute()*60+t.Second()
	for first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC); n < limit; day, ofDay, n = 1, 0, first.Unix() {
		end := first.AddDate(0, 1, 0)
		if s.month>>first.Month()&1 != 0 {
			if at, ok := s.nextOfMonth(first, end.AddDate(0, 0, -1).Day(), day, ofDay); ok {
				return at, at < limit
			}
		}
		first = end
	}
	return 0, false
}

// nextOfMonth returns the first matching second of a month of length days, from the second ofDay of the day day on.
func (s *Spec) nextOfMonth(first time.Time, length, day, ofDay int) (int64, bool) {
	for ; day <= length; day, ofDay = day+1, 0 {
		if !s.day.match(day, (int(first.Weekday())+day-1)%7, length) {
			continue
		}
		if at, ok := s.nextOfDay(ofDay); ok {
			return first.Unix() + int64(day-1)*secondsOfDay + int64(at), true
		}
	}
	return 0, false
}

// nextOfDay returns the first matching second of a day, from second from on.
func (s *Spec) nextOfDay(from int) (int, bool) {
	hour, minute, second := from/3600, from/60%60, from%60
	for h := next(s.hour, hour); h < 64; h = next(s.hour, h+1) {
		if h > hour {
			minute, second = 0, 0
		}
		for m := next(s.minute, minute); m < 64; m = next(s.minute, m+1) {
			if m > minute {
				second = 0
			}
			if c := next(s.second, second); c < 64 {
				return h*3600 + m*60 + c, true
			}
		}
	}
	return 0, false
}

// next returns the first bit of set that is set, from bit from on; 64 when there is none.
func next(set uint64, from int) int {
	if from > 63 {
		return 64
	}
	return bits.TrailingZeros64(set >> from << from)
}
