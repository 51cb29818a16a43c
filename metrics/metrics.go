// Package metrics gives a queue's metrics to Prometheus: [Metrics] are those of what this process does, told by an observer;
// [Queue] are those of the queue itself, read from its database when Prometheus asks. docs/metrics.md lists them all.
//
// The labels queue and kind have the names that a program's developers, or whoever else may enqueue, have chosen. No more
// than 500 pairs of them are told apart in a process; what comes later counts as _other.
package metrics

import (
	"database/sql"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqluice/sqluice/internal/labels"
	"github.com/sqluice/sqluice/jobs"
)

// Metrics are counts and times of what this process does with a queue: a collector to be registered with Prometheus, and an
// observer to be given to the engine when it is opened. Make them with [New]; they may serve several stores.
type Metrics struct {
	names labels.Names
	all   []prometheus.Collector

	enqueued, existed *prometheus.CounterVec
	attempts, causes  *prometheus.CounterVec
	active            *prometheus.GaugeVec
	waited, ran       *prometheus.HistogramVec
	gone, rescued     *prometheus.CounterVec
	turns             prometheus.Histogram
	recorded, claimed prometheus.Histogram
	promoted          prometheus.Counter
	writes, commits   prometheus.Histogram
	queries           *prometheus.HistogramVec
	queryErrors       *prometheus.CounterVec
	databaseErrors    *prometheus.CounterVec
	wakeUps           *prometheus.CounterVec
}

// The bounds of the histograms' buckets: of times that people wait for, of times of the database, and of sizes.
func seconds() []float64 {
	return []float64{.001, .005, .025, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 6 * 3600}
}

func databaseSeconds() []float64 { return []float64{.00005, .0002, .001, .005, .02, .1, .5, 2, 10} }

func sizes() []float64 { return []float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} }

// New makes metrics, all of them zero.
func New() *Metrics {
	m := new(Metrics)
	job := []string{"queue", "kind"}
	m.enqueued = add(m, counters("sqluice_enqueued_jobs_total", "Jobs that this process added; those of a transaction of the caller's own also when that is rolled back.", job...))
	m.existed = add(m, counters("sqluice_enqueue_existed_total", "Enqueues that found a job with the same unique key or request id, and added none.", job...))
	m.attempts = add(m, counters("sqluice_attempts_total", "Attempts that ended here, by what became of the job.", append(job, "fate")...))
	m.causes = add(m, counters("sqluice_attempt_errors_total", "Attempts that failed here, by why.", append(job, "cause")...))
	m.active = add(m, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sqluice_active_attempts", Help: "Attempts that run here, up to the record of their end.",
	}, job))
	m.waited = add(m, histograms("sqluice_wait_seconds", "How long jobs waited from when they fell due until an attempt began here.", seconds(), job...))
	m.ran = add(m, histograms("sqluice_run_seconds", "How long the attempts that ended here took.", seconds(), job...))
	m.gone = add(m, counters("sqluice_rescued_attempts_total", "Attempts of other workers that this process found crashed (the process is gone) or lost (a lease is over).", "reason"))
	m.rescued = add(m, counters("sqluice_rescued_jobs_total", "Jobs of workers that are gone, by the status that this process gave them.", "status"))
	m.turns = add(m, histogram("sqluice_turn_seconds", "How long the runner's transactions took, which record ends of attempts and claim jobs.", databaseSeconds()))
	m.recorded = add(m, histogram("sqluice_turn_recorded_attempts", "How many ends of attempts one of the runner's transactions recorded.", sizes()))
	m.claimed = add(m, histogram("sqluice_turn_claimed_jobs", "How many jobs one of the runner's transactions claimed.", sizes()))
	m.promoted = add(m, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sqluice_promoted_jobs_total", Help: "Scheduled jobs that this process made pending because they fell due.",
	}))
	m.writes = add(m, histogram("sqluice_batch_writes", "How many writes of this process shared a transaction.", sizes()))
	m.commits = add(m, histogram("sqluice_batch_seconds", "How long those transactions took, with their commit.", databaseSeconds()))
	m.queries = add(m, histograms("sqluice_query_seconds", "How long statements took, by their names in sql/queries.", databaseSeconds(), "query"))
	m.queryErrors = add(m, counters("sqluice_query_errors_total", "Statements that failed.", "query"))
	m.databaseErrors = add(m, counters("sqluice_database_errors_total", "Reads and transactions that the database failed.", "reason"))
	m.wakeUps = add(m, counters("sqluice_wakeups_total", "How often who waits for news was told to look, by what told it.", "source"))
	return m
}

func add[C prometheus.Collector](m *Metrics, c C) C {
	m.all = append(m.all, c)
	return c
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(ch)
	}
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all {
		c.Collect(ch)
	}
}

// Observer is to be given to the engine, as with sqlite.WithObserver(m.Observer()).
func (m *Metrics) Observer() *jobs.Observer {
	return &jobs.Observer{
		Enqueued: m.onEnqueued, Started: m.onStarted, Finished: m.onFinished, Rescued: m.onRescued, Turned: m.onTurned,
		Committed: m.onCommitted, Queried: m.onQueried, Failed: m.onFailed, Woken: m.onWoken,
	}
}

func (m *Metrics) onEnqueued(e jobs.Enqueued) {
	queue, kind := m.names.Of(e.Queue, e.Kind)
	if e.Existed {
		m.existed.WithLabelValues(queue, kind).Inc()
		return
	}
	m.enqueued.WithLabelValues(queue, kind).Add(float64(e.Jobs))
}

func (m *Metrics) onStarted(s jobs.Started) {
	queue, kind := m.names.Of(s.Queue, s.Kind)
	m.active.WithLabelValues(queue, kind).Inc()
	m.waited.WithLabelValues(queue, kind).Observe(s.Waited.Seconds())
}

func (m *Metrics) onFinished(f jobs.Finished) {
	queue, kind := m.names.Of(f.Queue, f.Kind)
	m.active.WithLabelValues(queue, kind).Dec()
	m.ran.WithLabelValues(queue, kind).Observe(f.Took.Seconds())
	m.attempts.WithLabelValues(queue, kind, string(f.Fate)).Inc()
	if f.Cause != "" {
		m.causes.WithLabelValues(queue, kind, string(f.Cause)).Inc()
	}
}

func (m *Metrics) onRescued(r jobs.Rescued) {
	m.gone.WithLabelValues(string(r.Reason)).Add(float64(r.Attempts))
	m.rescued.WithLabelValues(string(jobs.StatusPending)).Add(float64(r.Pending))
	m.rescued.WithLabelValues(string(jobs.StatusFailed)).Add(float64(r.Failed))
	m.rescued.WithLabelValues(string(jobs.StatusCancelled)).Add(float64(r.Cancelled))
}

func (m *Metrics) onTurned(t jobs.Turned) {
	m.turns.Observe(t.Took.Seconds())
	m.recorded.Observe(float64(t.Recorded))
	m.claimed.Observe(float64(t.Claimed))
	m.promoted.Add(float64(t.Promoted))
}

func (m *Metrics) onCommitted(writes int, took time.Duration) {
	m.writes.Observe(float64(writes))
	m.commits.Observe(took.Seconds())
}

func (m *Metrics) onQueried(name string, took time.Duration, err error) {
	m.queries.WithLabelValues(name).Observe(took.Seconds())
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		m.queryErrors.WithLabelValues(name).Inc()
	}
}

func (m *Metrics) onFailed(err error) { m.databaseErrors.WithLabelValues(reason(err)).Inc() }

func (m *Metrics) onWoken(source jobs.WakeSource) { m.wakeUps.WithLabelValues(string(source)).Inc() }

// reason names what is wrong with a database.
func reason(err error) string {
	var schema *jobs.SchemaError
	if errors.As(err, &schema) {
		return "schema"
	}
	for _, known := range []struct {
		err  error
		name string
	}{
		{jobs.ErrBusy, "busy"}, {jobs.ErrFull, "full"}, {jobs.ErrDisk, "disk"}, {jobs.ErrReplaced, "replaced"},
		{jobs.ErrUnknownOutcome, "unknown_outcome"}, {jobs.ErrUnavailable, "unavailable"}, {jobs.ErrReadOnly, "read_only"},
		{jobs.ErrMoved, "moved"}, {jobs.ErrClosed, "closed"},
	} {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	return "other"
}
