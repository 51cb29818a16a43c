package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sqluice/sqluice/internal/labels"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

// limitDescs holds the metrics of jobs with limit keys. They have no label of the key: there is any number of keys.
type limitDescs struct{ running, waiting, keys, held, oldest *prometheus.Desc }

func newLimitDescs(desc func(name, help string, labels ...string) *prometheus.Desc) limitDescs {
	return limitDescs{
		running: desc("sqluice_limit_running_jobs", "Running jobs of a kind that have a limit key.", "kind"),
		waiting: desc("sqluice_limit_waiting_jobs", "Jobs of a kind that are due and wait for room in their limit.", "kind"),
		keys:    desc("sqluice_limit_waiting_keys", "Limit keys of a kind with jobs that wait for room in their limit.", "kind"),
		held:    desc("sqluice_limit_held_keys", "Limit keys of a kind with jobs that wait in order, and whose first job could not start when a claim last looked: it had failed, or was due later.", "kind"),
		oldest:  desc("sqluice_limit_oldest_waiting_seconds", "How long the oldest job of a kind that waits for room in its limit has been due; 0 if there is none.", "kind"),
	}
}

// all returns the descriptions.
func (d limitDescs) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.running, d.waiting, d.keys, d.held, d.oldest}
}

// limitSum adds up the jobs of a label.
type limitSum struct {
	running, waiting, keys, held int64
	oldest                       time.Time
}

// sumLimits returns the jobs with limit keys by the label of their kind.
func sumLimits(stats []inspect.LimitStats, counts []inspect.Count) map[string]limitSum {
	known, sums := new(labels.Names), map[string]limitSum{}
	for _, s := range stats {
		_, kind := known.Of("", s.Kind)
		sum := sums[kind]
		sum.running, sum.keys, sum.held = sum.running+s.Running, sum.keys+s.Keys, sum.held+s.Held
		sums[kind] = sum
	}
	for _, n := range counts {
		if n.Status != jobs.StatusWaiting {
			continue
		}
		_, kind := known.Of("", n.Kind)
		sum := sums[kind]
		sum.waiting += n.Jobs
		if sum.oldest.IsZero() || !n.Since.IsZero() && n.Since.Before(sum.oldest) {
			sum.oldest = n.Since
		}
		sums[kind] = sum
	}
	return sums
}

// collectLimits exports the jobs with limit keys.
func (r reading) collectLimits(gauge func(d *prometheus.Desc, value float64, labels ...string), d limitDescs) {
	for kind, sum := range sumLimits(r.limits, r.counts) {
		gauge(d.running, float64(sum.running), kind)
		gauge(d.waiting, float64(sum.waiting), kind)
		gauge(d.keys, float64(sum.keys), kind)
		gauge(d.held, float64(sum.held), kind)
		seconds := 0.0
		if !sum.oldest.IsZero() {
			seconds = max(0, r.clock.Sub(sum.oldest).Seconds())
		}
		gauge(d.oldest, seconds, kind)
	}
}
