package top

import (
	"math"
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

const (
	rateWindow = 10 * time.Second // the period of the rates
	minute     = time.Minute      // the period of lastMinute
)

// rates computes the recent numbers of added and ended jobs per second from the differences between frames.
type rates struct {
	samples []sample // oldest first
}

// sample holds the numbers of jobs that were added and ended between the first frame and a later one.
type sample struct {
	at               time.Time
	in, done, failed int64
}

// add adds a sample with the difference between two frames.
func (r *rates) add(before, after Frame) {
	last := sample{at: before.At}
	if n := len(r.samples); n > 0 {
		last = r.samples[n-1]
	} else {
		r.samples = append(r.samples, last)
	}
	if !after.At.After(last.at) {
		return // the clock of the database was set back
	}
	done := grown(before, after, func(i inspect.Interval) int64 { return i.Done })
	failed := grown(before, after, func(i inspect.Interval) int64 { return i.Failed })
	cancelled := grown(before, after, func(i inspect.Interval) int64 { return i.Cancelled })
	// A job that was added has ended or is still unfinished.
	in := max(0, unfinished(after)-unfinished(before)+done+failed+cancelled)
	next := sample{at: after.At, in: last.in + in, done: last.done + done, failed: last.failed + failed}
	r.samples = append(r.samples, next)
	for len(r.samples) > 2 && after.At.Sub(r.samples[1].at) >= minute {
		r.samples = r.samples[1:]
	}
}

// grown returns the growth of a count, summed over the intervals of the history. An interval that only after has was 0 before.
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

// unfinished returns the number of jobs that wait or run.
func unfinished(f Frame) int64 {
	return f.Jobs[jobs.StatusScheduled] + f.Jobs[jobs.StatusWaiting] + f.Jobs[jobs.StatusPending] + f.Jobs[jobs.StatusRunning]
}

// perSecond returns the rates of the last 10 seconds. known is false before the second frame.
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

// before returns the last sample up to a time, without the newest one, or else the first sample.
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

// lastMinute returns the numbers of jobs that ended in the last 60 seconds. Without samples of that period it estimates them from the
// history: an interval counts by the part of it that lies in the period.
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
