package metrics

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sqluice/sqluice/internal/callback"
	"github.com/sqluice/sqluice/internal/labels"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

const (
	// readTimeout bounds the time of one reading of the queue.
	readTimeout = 5 * time.Second

	// cacheFor is the maximum age of a reading that is served again. It bounds the load of many or frequent scrapes.
	cacheFor = 5 * time.Second
)

// Queue exports the contents of a queue: the jobs of all processes. Register it with Prometheus in one of the processes that share a
// database. Make it with [NewQueue].
type Queue struct {
	client *jobs.Client
	log    *slog.Logger
	now    func() time.Time

	up, jobs, perQueue, paused, pausedKinds, slots, oldest, workers, unhandled, refused, schedules, overdue, unhandledSchedules, unknownVersions *prometheus.Desc

	limits limitDescs

	mu   sync.Mutex // held while the database is read, so that concurrent scrapes share one reading
	last reading
}

// reading is the state of the queue at one time.
type reading struct {
	at        time.Time
	succeeded bool
	clock     time.Time // the time of the reading by the store's clock
	stats     inspect.Stats
	queues    []inspect.QueueInfo
	waits     []inspect.Wait
	counts    []inspect.Count
	limits    []inspect.LimitStats

	refusals  map[string]int64
	schedules inspect.ScheduleStats
}

// NewQueue returns a collector of a client's queue. It logs failed reads to log; a goroutine of its own calls the logger's handler.
func NewQueue(client *jobs.Client, log *slog.Logger) *Queue {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &Queue{
		client: client, log: callback.Logger(log), now: time.Now,
		up:                 desc("sqluice_database_up", "1 if the queue could be read from its database within 5 seconds, else 0; then the other metrics of the queue are missing."),
		jobs:               desc("sqluice_jobs", "Jobs in the database.", "status"),
		perQueue:           desc("sqluice_queue_jobs", "Scheduled, pending and running jobs of a queue.", "queue", "status"),
		paused:             desc("sqluice_queue_paused", "1 if the queue is paused, else 0; of _other, 1 if any of those queues is.", "queue"),
		pausedKinds:        desc("sqluice_queue_paused_kinds", "Kinds that are paused in the queue.", "queue"),
		slots:              desc("sqluice_queue_slots", "Number of jobs of the queue that the live workers can run at the same time.", "queue"),
		oldest:             desc("sqluice_oldest_pending_seconds", "How long the oldest of the queue's jobs that wait for a worker has been due; paused is true for those that a pause of the queue or of their kind holds; 0 if there is none.", "queue", "paused"),
		workers:            desc("sqluice_workers", "Live workers."),
		unhandled:          desc("sqluice_unhandled_jobs", "Pending jobs whose queue and kind no live worker handles.", "queue", "kind"),
		refused:            desc("sqluice_refused_jobs", "Jobs that are set aside because the database refuses an action with them, as for a trigger of the application.", "action"),
		schedules:          desc("sqluice_schedules", "Schedules, by state: active, paused, undeclared (by any live worker), faulty (a worker could not enqueue its job).", "state"),
		unhandledSchedules: desc("sqluice_unhandled_schedules", "Active schedules whose kind no live worker takes from their queue.", "queue", "kind"),
		unknownVersions:    desc("sqluice_unknown_payload_version", "The newest version of the kind's payloads that a program has declared, if live workers take the kind, but none takes that version.", "kind"),
		limits:             newLimitDescs(desc),
		overdue:            desc("sqluice_schedule_overdue_seconds", "For how long the most overdue of the active schedules has been due; 0 if none is."),
	}
}

// Describe implements [prometheus.Collector].
func (q *Queue) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range append(q.limits.all(), q.up, q.jobs, q.perQueue, q.paused, q.pausedKinds, q.slots, q.oldest, q.workers, q.unhandled, q.refused, q.schedules, q.overdue, q.unhandledSchedules, q.unknownVersions) {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (q *Queue) Collect(ch chan<- prometheus.Metric) {
	r := q.read()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if !r.succeeded {
		gauge(q.up, 0)
		return
	}
	gauge(q.up, 1)
	for _, status := range jobs.Statuses() {
		gauge(q.jobs, float64(r.stats.Jobs[status]), string(status))
	}
	gauge(q.workers, float64(r.stats.Workers))

	for action, n := range validLabels(r.refusals) {
		gauge(q.refused, float64(n), action)
	}
	for state, n := range r.schedules.States {
		gauge(q.schedules, float64(n), state)
	}
	gauge(q.overdue, r.schedules.Overdue.Seconds())

	known := new(labels.Names) // of this reading only: queues come and go
	queues := sumQueues(known, r.queues)
	oldest := oldestOf(known, r.waits)
	for name, info := range queues {
		gauge(q.perQueue, float64(info.Scheduled), name, string(jobs.StatusScheduled))
		gauge(q.perQueue, float64(info.Waiting), name, string(jobs.StatusWaiting))
		gauge(q.perQueue, float64(info.Pending), name, string(jobs.StatusPending))
		gauge(q.perQueue, float64(info.Running), name, string(jobs.StatusRunning))
		gauge(q.slots, float64(info.Slots), name)
		paused := 0.0
		if !info.PausedAt.IsZero() {
			paused = 1
		}
		gauge(q.paused, paused, name)
		gauge(q.pausedKinds, float64(len(info.PausedKinds)), name)
		for _, paused := range []bool{false, true} {
			seconds := 0.0
			if since := oldest[wait{name, paused}]; !since.IsZero() {
				seconds = max(0, r.clock.Sub(since).Seconds())
			}
			gauge(q.oldest, seconds, name, strconv.FormatBool(paused))
		}
	}
	r.unhandled(gauge, q)
	r.collectLimits(gauge, q.limits)
}

// unhandled exports the jobs, schedules and versions of payloads that no live worker takes.
func (r reading) unhandled(gauge func(d *prometheus.Desc, value float64, labels ...string), q *Queue) {
	for pair, n := range sumPairs(r.stats.Unhandled, func(u inspect.UnhandledWork) (queue, kind string, n int64) { return u.Queue, u.Kind, u.Jobs }) {
		gauge(q.unhandled, float64(n), pair[0], pair[1])
	}
	for pair, n := range sumPairs(r.schedules.Unhandled, func(u inspect.UnhandledSchedule) (queue, kind string, n int64) { return u.Queue, u.Kind, u.Schedules }) {
		gauge(q.unhandledSchedules, float64(n), pair[0], pair[1])
	}
	known := new(labels.Names)
	newest := map[string]int{}
	for _, u := range r.stats.UnknownVersions {
		_, kind := known.Of("", u.Kind)
		newest[kind] = max(newest[kind], u.Version)
	}
	for kind, version := range newest {
		gauge(q.unknownVersions, float64(version), kind)
	}
}

// sumPairs returns the sums by the labels of a queue and a kind.
func sumPairs[T any](list []T, of func(T) (queue, kind string, n int64)) map[[2]string]int64 {
	known, sums := new(labels.Names), map[[2]string]int64{}
	for _, item := range list {
		queue, kind, n := of(item)
		queue, kind = known.Of(queue, kind)
		sums[[2]string{queue, kind}] += n
	}
	return sums
}

// validLabels replaces invalid UTF-8 in names, and adds up the entries whose names become equal. Only a row without the CHECKs has such
// a name.
func validLabels(counts map[string]int64) map[string]int64 {
	valid := make(map[string]int64, len(counts))
	for name, n := range counts {
		valid[strings.ToValidUTF8(name, "\uFFFD")] += n
	}
	return valid
}

// sumQueues returns the queues by label. Queues that share a label are added up.
func sumQueues(known *labels.Names, list []inspect.QueueInfo) map[string]inspect.QueueInfo {
	sums := map[string]inspect.QueueInfo{}
	for _, info := range list {
		name, _ := known.Of(info.Name, "")
		sum := sums[name]
		sum.Scheduled += info.Scheduled
		sum.Waiting += info.Waiting
		sum.Pending += info.Pending
		sum.Running += info.Running
		sum.Slots += info.Slots
		sum.PausedKinds = append(sum.PausedKinds, info.PausedKinds...)
		if !info.PausedAt.IsZero() { // one paused queue of a label is enough
			sum.PausedAt = info.PausedAt
		}
		sums[name] = sum
	}
	return sums
}

// wait is the label of a queue, and whether its jobs are paused.
type wait struct {
	queue  string
	paused bool
}

// oldestOf returns the time since which the oldest due job waits.
func oldestOf(known *labels.Names, list []inspect.Wait) map[wait]time.Time {
	oldest := map[wait]time.Time{}
	for _, w := range list {
		name, _ := known.Of(w.Queue, "")
		if at, there := oldest[wait{name, w.Paused}]; !there || w.Since.Before(at) {
			oldest[wait{name, w.Paused}] = w.Since
		}
	}
	return oldest
}

// read returns the last reading, or a new one if the last is older than cacheFor.
func (q *Queue) read() reading {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.last.at.IsZero() && q.now().Sub(q.last.at) < cacheFor {
		return q.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	var r reading
	inspector := inspect.New(q.client)
	snapshot, err := inspector.Snapshot(ctx) // one read for all: the count of the waiting jobs is most of the cost
	r.counts = snapshot.Counts
	if r.stats, r.queues, r.waits = snapshot.Stats, snapshot.Queues, snapshot.Waits; err == nil {
		r.refusals, err = inspector.Refusals(ctx)
	}
	if err == nil {
		r.limits, err = inspector.LimitStats(ctx)
	}
	if err == nil {
		r.schedules, err = inspector.ScheduleStats(ctx)
	}
	if err != nil {
		q.log.Error("reading the queue for its metrics failed", "error", err)
	}
	r.at, r.succeeded, r.clock = q.now(), err == nil, inspector.Now()
	q.last = r
	return r
}
