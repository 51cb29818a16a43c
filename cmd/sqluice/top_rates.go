package main

import (
	"time"

	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// topRateWindow is the time over which rates are computed.
const topRateWindow = 10 * time.Second

// topRates computes how many jobs a second were added and ended recently.
type topRates struct {
	samples []topSample // oldest first
}

// topSample is how many jobs were added and ended since the first frame.
type topSample struct {
	at               time.Time
	in, done, failed int64
}

// add takes the difference between two frames.
func (r *topRates) add(before, after topFrame) {
	last := topSample{at: before.At}
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
	next := topSample{at: after.At, in: last.in + in, done: last.done + done, failed: last.failed + failed}
	r.samples = append(r.samples, next)
	for len(r.samples) > 2 && after.At.Sub(r.samples[1].at) >= topRateWindow {
		r.samples = r.samples[1:]
	}
}

// grown returns how much a sum over the history has grown. A new interval was empty before.
func grown(before, after topFrame, count func(inspect.Interval) int64) (n int64) {
	known := map[int64]int64{}
	for _, i := range before.History.Intervals {
		known[i.Start.UnixMicro()] = count(i)
	}
	for _, i := range after.History.Intervals {
		n += max(0, count(i)-known[i.Start.UnixMicro()])
	}
	return n
}

func unfinished(f topFrame) int64 {
	return f.Jobs[jobs.StatusScheduled] + f.Jobs[jobs.StatusPending] + f.Jobs[jobs.StatusRunning]
}

// perSecond is known after two frames.
func (r *topRates) perSecond() (in, done, failed float64, known bool) {
	if len(r.samples) < 2 {
		return 0, 0, 0, false
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	seconds := last.at.Sub(first.at).Seconds()
	rate := func(from, to int64) float64 { return float64(to-from) / seconds }
	return rate(first.in, last.in), rate(first.done, last.done), rate(first.failed, last.failed), true
}
