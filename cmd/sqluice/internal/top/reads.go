package top

import "time"

// reads is what the reads of the database have given.
type reads struct {
	frame        Frame
	seen         bool // a frame was read
	rates        rates
	running      time.Time // the start of the running read; zero if none runs
	trouble      error     // the error of the last read
	troubleSince time.Time
}

func (r *reads) begin(now time.Time) { r.running = now }

// end takes the frame of a read and reports whether there is one. If reading failed, the previous frame is kept.
func (r *reads) end(read frameRead, now time.Time) bool {
	r.running = time.Time{}
	if read.err != nil {
		if r.trouble == nil {
			r.troubleSince = now
		}
		r.trouble = read.err
		return false
	}
	if r.seen {
		r.rates.add(r.frame, read.frame)
	}
	r.trouble, r.seen, r.frame = nil, true, read.frame
	return true
}

// outdated returns why the frame is out of date, or "". A slow read is shown before it fails.
func (r *reads) outdated(now time.Time) string {
	waited := now.Sub(r.running)
	switch {
	case r.trouble != nil:
		return "no answer since " + r.troubleSince.Format(time.TimeOnly) + ": " + r.trouble.Error()
	case !r.running.IsZero() && waited >= 2*time.Second:
		return "no answer for " + waited.Truncate(time.Second).String()
	case !r.seen:
		return "looking"
	}
	return ""
}
