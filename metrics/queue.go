package metrics

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/labels"
	"github.com/sqluice/sqluice/jobs"
)

const (
	// readWithin is how long the database may take to tell of the queue, and keepFor how long that is told again without
	// asking it: however often Prometheus comes, and however many of them.
	readWithin = 5 * time.Second
	keepFor    = 5 * time.Second
)

// Queue is what a queue holds, whoever put it there: a collector to be registered with Prometheus in one of the processes
// that share a database. Make one with [NewQueue].
type Queue struct {
	client *jobs.Client
	log    *slog.Logger
	now    func() time.Time

	up, jobs, perQueue, paused, slots, oldest, workers, unhandled *prometheus.Desc

	mu   sync.Mutex // held while the database is read: who comes meanwhile gets the same
	last reading
}

// reading is what the database said.
type reading struct {
	at     time.Time
	ok     bool
	clock  time.Time // the store's
	stats  jobs.Stats
	queues []jobs.QueueInfo
}

// NewQueue returns the metrics of a client's queue. log gets the reason when the database cannot be read; a goroutine of
// its own gives it to the logger's handler.
func NewQueue(client *jobs.Client, log *slog.Logger) *Queue {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &Queue{
		client: client, log: callback.Logger(log), now: time.Now,
		up:        desc("sqluice_database_up", "1 when the queue could be read from its database within 5 seconds, else 0, and the other metrics of the queue are missing."),
		jobs:      desc("sqluice_jobs", "Jobs in the database.", "status"),
		perQueue:  desc("sqluice_queue_jobs", "Jobs of a queue that have not ended.", "queue", "status"),
		paused:    desc("sqluice_queue_paused", "1 when the queue is paused, else 0.", "queue"),
		slots:     desc("sqluice_queue_slots", "How many jobs of the queue the live workers can run at once.", "queue"),
		oldest:    desc("sqluice_oldest_pending_seconds", "For how long the pending job that waits longest has been due; 0 when none waits."),
		workers:   desc("sqluice_workers", "Live workers."),
		unhandled: desc("sqluice_unhandled_jobs", "Pending jobs for whose queue and kind there is no live worker.", "queue", "kind"),
	}
}

// Describe implements [prometheus.Collector].
func (q *Queue) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{q.up, q.jobs, q.perQueue, q.paused, q.slots, q.oldest, q.workers, q.unhandled} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (q *Queue) Collect(ch chan<- prometheus.Metric) {
	r := q.read()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if !r.ok {
		gauge(q.up, 0)
		return
	}
	gauge(q.up, 1)
	for _, status := range jobs.Statuses() {
		gauge(q.jobs, float64(r.stats.Jobs[status]), string(status))
	}
	waits := 0.0
	if !r.stats.OldestPending.IsZero() {
		waits = max(0, r.clock.Sub(r.stats.OldestPending).Seconds())
	}
	gauge(q.oldest, waits)
	gauge(q.workers, float64(r.stats.Workers))

	known := new(labels.Names) // of this time only: queues come and go
	for name, info := range sumQueues(known, r.queues) {
		gauge(q.perQueue, float64(info.Scheduled), name, string(jobs.StatusScheduled))
		gauge(q.perQueue, float64(info.Pending), name, string(jobs.StatusPending))
		gauge(q.perQueue, float64(info.Running), name, string(jobs.StatusRunning))
		gauge(q.slots, float64(info.Slots), name)
		paused := 0.0
		if !info.PausedAt.IsZero() {
			paused = 1
		}
		gauge(q.paused, paused, name)
	}
	known = new(labels.Names)
	sums := map[[2]string]int64{}
	for _, u := range r.stats.Unhandled {
		queue, kind := known.Of(u.Queue, u.Kind)
		sums[[2]string{queue, kind}] += u.Jobs
	}
	for pair, n := range sums {
		gauge(q.unhandled, float64(n), pair[0], pair[1])
	}
}

// sumQueues adds those up that have one label.
func sumQueues(known *labels.Names, list []jobs.QueueInfo) map[string]jobs.QueueInfo {
	sums := map[string]jobs.QueueInfo{}
	for _, info := range list {
		name, _ := known.Of(info.Name, "")
		sum := sums[name]
		sum.Scheduled += info.Scheduled
		sum.Pending += info.Pending
		sum.Running += info.Running
		sum.Slots += info.Slots
		sum.PausedAt = info.PausedAt
		sums[name] = sum
	}
	return sums
}

// read asks the database, unless it was asked a moment ago.
func (q *Queue) read() reading {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.last.at.IsZero() && q.now().Sub(q.last.at) < keepFor {
		return q.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	var r reading
	var err error
	if r.stats, err = q.client.Stats(ctx); err == nil {
		r.queues, err = q.client.Queues(ctx)
	}
	if err != nil {
		q.log.Error("the queue could not be read for its metrics", "error", err)
	}
	r.at, r.ok, r.clock = q.now(), err == nil, q.client.Store().Now()
	q.last = r
	return r
}
