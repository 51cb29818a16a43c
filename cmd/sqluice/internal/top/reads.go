package top

import "time"

// reads holds the results of the reads so far.
type reads struct {
	frame        Frame
	hasFrame     bool
	rates        rates
	running      time.Time // the start of the running read; zero if no read runs
	lastError    error     // the error of the last read
	troubleSince time.Time
}

// started records the start of a read.
func (r *reads) started(now time.Time) { r.running = now }

// finished records the result of a read, and reports whether it has a frame. A failed read leaves the previous frame.
func (r *reads) finished(read frameRead, now time.Time) bool {
	r.running = time.Time{}
	if read.err != nil {
		if r.lastError == nil {
			r.troubleSince = now
		}
		r.lastError = read.err
		return false
	}
	if r.hasFrame {
		r.rates.add(r.frame, read.frame)
	}
	r.lastError, r.hasFrame, r.frame = nil, true, read.frame
	return true
}

// outdated returns the reason why the frame is out of date, or "". A read that has run for 2 seconds is a reason before it fails.
func (r *reads) outdated(now time.Time) string {
	waited := now.Sub(r.running)
	switch {
	case r.lastError != nil:
		return "no answer since " + r.troubleSince.Format(time.TimeOnly) + ": " + r.lastError.Error()
	case !r.running.IsZero() && waited >= 2*time.Second:
		return "no answer for " + waited.Truncate(time.Second).String()
	case !r.hasFrame:
		return "looking"
	}
	return ""
}
