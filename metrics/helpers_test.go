package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/sqluice/sqluice/db"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
	"github.com/sqluice/sqluice/metrics"
)

// hang bounds how long a test waits before it fails. No test depends on how long anything takes.
const hang = 2 * time.Minute

// lab is a queue with its metrics.
type lab struct {
	*testing.T
	ctx      context.Context
	store    *sqlite.Store
	client   *jobs.Client
	metrics  *metrics.Metrics
	queue    *metrics.Queue
	registry *prometheus.Registry
}

func newLab(t *testing.T) *lab {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	m := metrics.New()
	l := &lab{T: t, ctx: ctx, metrics: m, registry: prometheus.NewPedanticRegistry()}
	l.store = testdb.SQLite(t, sqlite.WithObserver(m.Observer()))
	l.client = jobs.New(l.store)
	l.queue = metrics.NewQueue(l.client, slog.New(slog.DiscardHandler))
	l.registry.MustRegister(l.metrics, l.queue)
	return l
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *lab) enqueue(kind string, opts ...jobs.EnqueueOption) int64 {
	l.Helper()
	receipt, err := l.client.Enqueue(l.ctx, kind, json.RawMessage("{}"), opts...)
	l.must(err)
	return receipt.ID
}

// gather returns the metrics that Prometheus would scrape, by name.
func (l *lab) gather() map[string]*dto.MetricFamily {
	l.Helper()
	if l.store != nil {
		l.must(engine.StoreOf(l.store).Observer().Flush(l.ctx))
	}
	list, err := l.registry.Gather()
	l.must(err)
	families := map[string]*dto.MetricFamily{}
	for _, f := range list {
		families[f.GetName()] = f
	}
	return families
}

// value returns the value of the metric with these labels; of a histogram, the number of observations.
func (l *lab) value(name string, labels map[string]string) float64 {
	l.Helper()
	for _, m := range l.gather()[name].GetMetric() {
		fits := true
		for _, pair := range m.GetLabel() {
			want, given := labels[pair.GetName()]
			fits = fits && (!given || want == pair.GetValue())
		}
		switch {
		case !fits:
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount())
		case m.Counter != nil:
			return m.Counter.GetValue()
		default:
			return m.Gauge.GetValue()
		}
	}
	l.Fatalf("there is no %s with %v", name, labels)
	panic("not reached")
}

// drain runs the kinds until no work is left.
func (l *lab) drain(handles map[string]func(context.Context, jobs.Job) error) {
	l.Helper()
	runner, err := jobs.NewRunner(l.client, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	l.must(err)
	for kind, handle := range handles {
		jobs.Kind[json.RawMessage]{Name: kind}.Handle(runner, func(ctx context.Context, job jobs.Job, _ json.RawMessage) error {
			return handle(ctx, job)
		})
	}
	l.must(runner.Drain(l.ctx))
}

// crash leaves the rows of a worker that is killed while it runs a job of the kind.
func (l *lab) crash(kind string) {
	l.Helper()
	l.enqueue(kind)
	key, release, err := engine.StoreOf(l.store).WorkerLocks().HoldWorkerLock(l.ctx)
	l.must(err)
	kinds, err := json.Marshal([]string{kind})
	l.must(err)
	now := engine.StoreOf(l.store).Now().UnixMicro()
	later := engine.StoreOf(l.store).Now().Add(time.Hour).UnixMicro()
	l.must(engine.StoreOf(l.store).Write(l.ctx, func(ctx context.Context, q db.Querier) error {
		id, err := q.RegisterWorker(ctx, db.RegisterWorkerParams{
			Name: "killed", LockKey: key, Host: "here", Queues: "{}", Kinds: "[]", Now: now, LeaseUntil: later,
		})
		if err != nil {
			return err
		}
		rows, err := q.ClaimJobs(ctx, db.ClaimJobsParams{
			WorkerID: id, LeaseUntil: later, Now: now, Kinds: string(kinds), Queue: jobs.DefaultQueue, N: 1,
		})
		if err == nil && len(rows) != 1 {
			err = errors.New("nothing was claimed")
		}
		return err
	}))
	l.must(release(true))
	l.must(os.WriteFile(filepath.Join(l.store.Path()+"-sqluice", "worker-"+key+".lock"), nil, 0o600))
}

func nothing(context.Context, jobs.Job) error { return nil }
