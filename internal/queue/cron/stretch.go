package cron

import "time"

// stretch is a period of a zone with one constant offset from UTC.
type stretch struct {
	end    int64 // the first instant after it, in seconds from 1970
	offset int64 // from UTC, in seconds
}

// stretchAt returns the stretch that contains an instant. A longer stretch ends at limit.
func stretchAt(t, limit int64, zone *time.Location) stretch {
	offset := offsetAt(t, zone)
	for t < limit {
		_, bound := time.Unix(t, 0).In(zone).ZoneBounds()
		if bound.IsZero() {
			break
		}
		// A zone of Go's own database has a bound at the end of each year too, and in a leap year the bound may lie before the
		// instant (seen with Go 1.26): then stretchAt searches hour by hour.
		end := bound.Unix()
		if end <= t {
			end = t + 3600
		}
		if offsetAt(end, zone) != offset {
			return stretch{end: min(firstOther(t, end, zone), limit), offset: offset}
		}
		t = end
	}
	return stretch{end: limit, offset: offset}
}

// passedBefore returns the first local time that no instant before t's stretch has had, if that stretch began in the last day or so. A
// repeated hour lies before it.
func passedBefore(t int64, zone *time.Location) int64 {
	const back = 26 * 3600 // longer than any zone's clock was set back at once
	from := t - back
	offset := offsetAt(from, zone)
	if offset == offsetAt(t, zone) {
		return 0
	}
	return firstOther(from, t, zone) + offset
}

// firstOther returns the first instant whose offset differs from the offset at from; the offset at to differs.
func firstOther(from, to int64, zone *time.Location) int64 {
	offset := offsetAt(from, zone)
	for to-from > 1 {
		if middle := from + (to-from)/2; offsetAt(middle, zone) == offset {
			from = middle
		} else {
			to = middle
		}
	}
	return to
}

func offsetAt(t int64, zone *time.Location) int64 {
	_, offset := time.Unix(t, 0).In(zone).Zone()
	return int64(offset)
}
