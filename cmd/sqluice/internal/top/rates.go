package top

import (
	"math"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

const (
	rateWindow = 10 * time.Second // over which rates are computed
	minute     = time.Minute      // that the view tells of
)

// rates computes how many jobs a second were added and ended recently.
type rates struct {
	samples []sample // oldest first
}

// sample is how many jobs were added and ended since the first frame.
type sample struct {
	at               time.Time
	in, done, failed int64
}

// add takes the difference between two frames.
func (r *rates) add(before, after Frame) {
	last := sample{at: before.At}
	if n := len(r.samples); n > 0 {
		last = r.samples[n-1]
	} else {
		r.samples = append(r.samples, last)
	}
	if !after.At.After(last.at) {
		return // the clock was set back
	}
	done := grown(before, after, func(i inspect.Interval) int64 { return i.Done })
	failed := grown(before, after, func(i inspect.Interval) int64 { return i.Failed })
	cancelled := grown(before, after, func(i inspect.Interval) int64 { return i.Cancelled })
	// Each job that is gone was added before; each that was added has ended or is still there.
	in := max(0, unfinished(after)-unfinished(before)+done+failed+cancelled)
	next := sample{at: after.At, in: last.in + in, done: last.done + done, failed: last.failed + failed}
	r.samples = append(r.samples, next)
	for len(r.samples) > 2 && after.At.Sub(r.samples[1].at) >= minute {
		r.samples = r.samples[1:]
	}
}

// grown returns how much a sum over the history has grown. A new interval was empty before.
func grown(before, after Frame, count func(inspect.Interval) int64) (n int64) {
	known := map[int64]int64{}
	for _, i := range before.History.Intervals {
		known[i.Start.UnixMicro()] = count(i)
	}
	for _, i := range after.History.Intervals {
		n += max(0, count(i)-known[i.Start.UnixMicro()])
	}
	return n
}

func unfinished(f Frame) int64 {
	return f.Jobs[jobs.StatusScheduled] + f.Jobs[jobs.StatusPending] + f.Jobs[jobs.StatusRunning]
}

// perSecond is known after two frames.
func (r *rates) perSecond() (in, done, failed float64, known bool) {
	if len(r.samples) < 2 {
		return 0, 0, 0, false
	}
	last := r.samples[len(r.samples)-1]
	first := r.before(last.at.Add(-rateWindow))
	seconds := last.at.Sub(first.at).Seconds()
	rate := func(from, to int64) float64 { return float64(to-from) / seconds }
	return rate(first.in, last.in), rate(first.done, last.done), rate(first.failed, last.failed), true
}

// before returns the last sample that is not after a time, or the first of all; never the newest.
func (r *rates) before(at time.Time) sample {
	first := r.samples[0]
	for _, sample := range r.samples[:len(r.samples)-1] {
		if sample.at.After(at) {
			break
		}
		first = sample
	}
	return first
}

// lastMinute returns how many jobs ended in the last 60 seconds: as the frames of that time tell, or until there are such, from
// the history, whose whole minutes count by the part of them that belongs to these seconds.
func (r *rates) lastMinute(frame Frame) (done, failed int64) {
	if n := len(r.samples); n > 1 {
		last := r.samples[n-1]
		if first := r.before(last.at.Add(-minute)); last.at.Sub(first.at) >= minute && last.at.Sub(first.at) < 2*minute {
			return last.done - first.done, last.failed - first.failed
		}
	}
	since := frame.At.Add(-minute)
	var sumDone, sumFailed float64
	for _, i := range frame.History.Intervals {
		part := min(1, i.Start.Add(minute).Sub(since).Seconds()/minute.Seconds())
		if part > 0 {
			sumDone, sumFailed = sumDone+part*float64(i.Done), sumFailed+part*float64(i.Failed)
		}
	}
	return int64(math.Ceil(sumDone)), int64(math.Ceil(sumFailed))
}
