package cron

import "time"

// horizon is the range of the search for a tick, in seconds: 29 February may be eight years away, and a rule may rarely meet a gap.
const horizon = 40 * 366 * secondsOfDay

// Next returns the first tick after a time, in UTC; the zero time when there is none in the next forty years. With @every it is the given
// time plus the interval; that time must be the last tick or the beginning. Times are whole seconds: parts of one are cut off.
func (s Spec) Next(after time.Time, zone *time.Location) time.Time {
	if s.every > 0 {
		return after.Add(s.every).UTC()
	}
	t := after.Unix()
	limit := t + horizon
	var at int64
	var ok bool
	if s.fixed {
		at, ok = s.nextFixed(t, limit, zone)
	} else {
		at, ok = s.nextReal(t, limit, zone)
	}
	if !ok {
		return time.Time{}
	}
	return time.Unix(at, 0).UTC()
}

// nextReal returns the first instant after t whose local fields match.
func (s *Spec) nextReal(t, limit int64, zone *time.Location) (int64, bool) {
	for t++; t < limit; {
		here := stretchAt(t, limit, zone)
		n, ok := s.nextLocal(t+here.offset, here.end+here.offset)
		if ok {
			return n - here.offset, true
		}
		t = here.end
	}
	return 0, false
}

// nextFixed returns the first instant after t to which a matching local time belongs.
func (s *Spec) nextFixed(t, limit int64, zone *time.Location) (int64, bool) {
	here := stretchAt(t, limit, zone)
	n := max(t+here.offset+1, passedBefore(t, zone))
	for begin := t + 1; begin < limit; {
		if n, ok := s.nextLocal(n, here.end+here.offset); ok {
			return max(begin, n-here.offset), true
		}
		n = max(n, here.end+here.offset) // earlier local times belong to this stretch
		begin = here.end
		here = stretchAt(begin, limit, zone)
	}
	return 0, false
}

// Moved reports whether a tick is the end of a gap, in place of a time that the zone leaves out.
func (s Spec) Moved(tick time.Time, zone *time.Location) bool {
	if !s.fixed || s.every > 0 {
		return false
	}
	n := tick.Unix() + offsetAt(tick.Unix(), zone)
	at, ok := s.nextLocal(n, n+1)
	return !ok || at != n
}

// Repeated reports whether a tick is the first occurrence of a local time that the zone repeats. The specification is not due at the second
// one.
func (s Spec) Repeated(tick time.Time, zone *time.Location) bool {
	if !s.fixed || s.every > 0 {
		return false
	}
	t := tick.Unix()
	here := stretchAt(t, t+horizon, zone)
	local := t + here.offset
	return local-offsetAt(here.end, zone) >= here.end
}
