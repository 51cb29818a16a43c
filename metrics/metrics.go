// Package metrics exports a queue's metrics to Prometheus. [Metrics] counts the work of this process, from the calls of an observer.
// [Queue] exports the contents of the queue, which it reads from the database at each scrape. docs/metrics.md lists all
// metrics.
//
// Callers that enqueue choose the values of the labels queue and kind. A process distinguishes at most 500 pairs of them; it counts later
// ones as _other.
package metrics

import (
	"database/sql"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqluice/sqluice/internal/labels"
	"github.com/sqluice/sqluice/jobs"
)

// Metrics holds the counts and durations of this process's work with a queue. Make it with [New], register it with Prometheus,
// and open the engine with its [Metrics.Observer]. One Metrics can serve several stores. It may be used concurrently.
type Metrics struct {
	names        labels.Names
	all          []prometheus.Collector
	jobs         jobMetrics
	rescues      rescueMetrics
	transactions transactionMetrics
	database     databaseMetrics
	wakeUps      *prometheus.CounterVec
}

// jobMetrics holds the metrics with the labels queue and kind.
type jobMetrics struct {
	enqueued, existed  *prometheus.CounterVec
	attempts, failures *prometheus.CounterVec
	expired            *prometheus.CounterVec
	active             *prometheus.GaugeVec
	waits, runs        *prometheus.HistogramVec
}

// rescueMetrics holds the metrics of jobs that were rescued from dead workers.
type rescueMetrics struct {
	attempts, jobs *prometheus.CounterVec
}

// transactionMetrics holds the metrics of the runner's transactions.
type transactionMetrics struct {
	duration          prometheus.Histogram
	recorded, claimed prometheus.Histogram
	promoted          prometheus.Counter
}

// databaseMetrics holds the metrics of group commits, statements and errors.
type databaseMetrics struct {
	writes, commits prometheus.Histogram
	queries         *prometheus.HistogramVec
	queryErrors     *prometheus.CounterVec
	errors          *prometheus.CounterVec
}

// seconds returns the bounds of the buckets for the durations of a job.
func seconds() []float64 {
	return []float64{.001, .005, .025, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 6 * 3600}
}

// databaseSeconds returns the bounds of the buckets for the durations of the database.
func databaseSeconds() []float64 { return []float64{.00005, .0002, .001, .005, .02, .1, .5, 2, 10} }

// sizes returns the bounds of the buckets for the sizes of batches.
func sizes() []float64 { return []float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} }

// New returns Metrics whose counts are 0.
func New() *Metrics {
	m := new(Metrics)
	job := []string{"queue", "kind"}
	m.jobs.enqueued = add(m, counters("sqluice_enqueued_jobs_total", "Jobs that this process enqueued; those in a caller's transaction count even if it is rolled back.", job...))
	m.jobs.existed = add(m, counters("sqluice_enqueue_existed_total", "Enqueues that found a job with the same unique key or request id, and added no job.", job...))
	m.jobs.attempts = add(m, counters("sqluice_attempts_total", "Attempts that ended in this process, by their outcome for the job.", append(job, "fate")...))
	m.jobs.failures = add(m, counters("sqluice_attempt_errors_total", "Attempts that failed in this process, by cause.", append(job, "cause")...))
	m.jobs.expired = add(m, counters("sqluice_expired_jobs_total", "Jobs that this process ended as cancelled because no worker had started them in time.", job...))
	m.jobs.active = add(m, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sqluice_active_attempts", Help: "Attempts that run in this process, until their end is recorded.",
	}, job))
	m.jobs.waits = add(m, histograms("sqluice_wait_seconds", "How long jobs waited from their due time until an attempt started in this process.", seconds(), job...))
	m.jobs.runs = add(m, histograms("sqluice_run_seconds", "Duration of the attempts that ended in this process.", seconds(), job...))
	m.rescues.attempts = add(m, counters("sqluice_rescued_attempts_total", "Attempts of other workers that this process rescued: the worker crashed (its process is gone) or its lease is lost (expired).", "reason"))
	m.rescues.jobs = add(m, counters("sqluice_rescued_jobs_total", "Jobs of dead workers that this process rescued, by their new status.", "status"))
	m.transactions.duration = add(m, histogram("sqluice_turn_seconds", "Duration of the runner's transactions, which record finished attempts and claim jobs.", databaseSeconds()))
	m.transactions.recorded = add(m, histogram("sqluice_turn_recorded_attempts", "Number of finished attempts that one of the runner's transactions recorded.", sizes()))
	m.transactions.claimed = add(m, histogram("sqluice_turn_claimed_jobs", "Number of jobs that one of the runner's transactions claimed.", sizes()))
	m.transactions.promoted = add(m, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sqluice_promoted_jobs_total", Help: "Scheduled jobs that this process promoted to pending because they were due.",
	}))
	m.database.writes = add(m, histogram("sqluice_batch_writes", "Number of writes of this process that shared a transaction.", sizes()))
	m.database.commits = add(m, histogram("sqluice_batch_seconds", "Duration of those transactions, with their commit.", databaseSeconds()))
	m.database.queries = add(m, histograms("sqluice_query_seconds", "Duration of statements, by their names in sql/queries.", databaseSeconds(), "query"))
	m.database.queryErrors = add(m, counters("sqluice_query_errors_total", "Statements that failed.", "query"))
	m.database.errors = add(m, counters("sqluice_database_errors_total", "Reads and transactions that failed because of the database.", "reason"))
	m.wakeUps = add(m, counters("sqluice_wakeups_total", "Wake-ups of runners and waiting callers of this process, by source.", "source"))
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

// Observer returns the observer to open the engine with, as in sqlite.WithObserver(m.Observer()).
func (m *Metrics) Observer() *jobs.Observer {
	return &jobs.Observer{
		Enqueued: m.onEnqueued, Started: m.onStarted, Finished: m.onFinished, Rescued: m.onRescued, Expired: m.onExpired, Turned: m.onTurned,
		Committed: m.onCommitted, Queried: m.onQueried, Failed: m.onFailed, Woken: m.onWoken,
	}
}

func (m *Metrics) onEnqueued(e jobs.Enqueued) {
	queue, kind := m.names.Of(e.Queue, e.Kind)
	if e.Existed {
		m.jobs.existed.WithLabelValues(queue, kind).Inc()
		return
	}
	m.jobs.enqueued.WithLabelValues(queue, kind).Add(float64(e.Jobs))
}

func (m *Metrics) onStarted(s jobs.Started) {
	queue, kind := m.names.Of(s.Queue, s.Kind)
	m.jobs.active.WithLabelValues(queue, kind).Inc()
	m.jobs.waits.WithLabelValues(queue, kind).Observe(s.Waited.Seconds())
}

func (m *Metrics) onFinished(f jobs.Finished) {
	queue, kind := m.names.Of(f.Queue, f.Kind)
	m.jobs.active.WithLabelValues(queue, kind).Dec()
	m.jobs.runs.WithLabelValues(queue, kind).Observe(f.Took.Seconds())
	m.jobs.attempts.WithLabelValues(queue, kind, string(f.Fate)).Inc()
	if f.Cause != "" {
		m.jobs.failures.WithLabelValues(queue, kind, string(f.Cause)).Inc()
	}
	if f.Cause == jobs.CauseExpired {
		m.jobs.expired.WithLabelValues(queue, kind).Inc()
	}
}

func (m *Metrics) onRescued(r jobs.Rescued) {
	m.rescues.attempts.WithLabelValues(string(r.Reason)).Add(float64(r.Attempts))
	m.rescues.jobs.WithLabelValues(string(jobs.StatusPending)).Add(float64(r.Pending))
	m.rescues.jobs.WithLabelValues(string(jobs.StatusFailed)).Add(float64(r.Failed))
	m.rescues.jobs.WithLabelValues(string(jobs.StatusCancelled)).Add(float64(r.Cancelled))
}

func (m *Metrics) onExpired(e jobs.Expired) {
	queue, kind := m.names.Of(e.Queue, e.Kind)
	m.jobs.expired.WithLabelValues(queue, kind).Add(float64(e.Jobs))
}

func (m *Metrics) onTurned(t jobs.Turned) {
	m.transactions.duration.Observe(t.Took.Seconds())
	m.transactions.recorded.Observe(float64(t.Recorded))
	m.transactions.claimed.Observe(float64(t.Claimed))
	m.transactions.promoted.Add(float64(t.Promoted))
}

func (m *Metrics) onCommitted(writes int, took time.Duration) {
	m.database.writes.Observe(float64(writes))
	m.database.commits.Observe(took.Seconds())
}

func (m *Metrics) onQueried(name string, took time.Duration, err error) {
	m.database.queries.WithLabelValues(name).Observe(took.Seconds())
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		m.database.queryErrors.WithLabelValues(name).Inc()
	}
}

func (m *Metrics) onFailed(err error) { m.database.errors.WithLabelValues(reason(err)).Inc() }

func (m *Metrics) onWoken(source jobs.WakeSource) { m.wakeUps.WithLabelValues(string(source)).Inc() }

// reason returns the label value for an error of the database.
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
