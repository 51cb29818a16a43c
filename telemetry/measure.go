package telemetry

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/sqluice/sqluice/internal/labels"
	"github.com/sqluice/sqluice/jobs"
)

// instruments are what is measured.
type instruments struct {
	names                  labels.Names
	sent, consumed, faults metric.Int64Counter
	waited, ran, queried   metric.Float64Histogram
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	i := new(instruments)
	var errs []error
	count := func(name, description, unit string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithDescription(description), metric.WithUnit(unit))
		errs = append(errs, err)
		return c
	}
	times := func(name, description string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithDescription(description), metric.WithUnit("s"),
			metric.WithExplicitBucketBoundaries(.0005, .001, .005, .025, .1, .5, 1, 5, 15, 60, 300, 900, 3600))
		errs = append(errs, err)
		return h
	}
	i.sent = count("messaging.client.sent.messages", "Jobs that were enqueued.", "{message}")
	i.consumed = count("messaging.client.consumed.messages", "Attempts that began.", "{message}")
	i.ran = times("messaging.process.duration", "How long attempts took.")
	i.waited = times("sqluice.wait.duration", "How long jobs waited from when they fell due until an attempt began.")
	i.queried = times("sqluice.query.duration", "How long statements took, by their names in sql/queries.")
	i.faults = count("sqluice.database.errors", "Reads and transactions that the database failed.", "{error}")
	return i, errors.Join(errs...)
}

// Observer measures, and is to be given to the engine: sqlite.WithObserver(t.Observer()). No more than 500 pairs of a queue and
// a kind are told apart: the rest are measured under the name _other. Spans have the names as they are.
func (t *Telemetry) Observer() *jobs.Observer {
	i, ctx := t.instruments, context.Background()
	with := func(list ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(list...))
	}
	return &jobs.Observer{
		Enqueued: func(e jobs.Enqueued) {
			queue, kind := i.names.Of(e.Queue, e.Kind)
			i.sent.Add(ctx, int64(e.Jobs), with(common("enqueue", "send", queue, kind)...))
		},
		Started: func(s jobs.Started) {
			queue, kind := i.names.Of(s.Queue, s.Kind)
			attributes := with(common("run", "process", queue, kind)...)
			i.consumed.Add(ctx, 1, attributes)
			i.waited.Record(ctx, s.Waited.Seconds(), attributes)
		},
		Finished: func(f jobs.Finished) {
			queue, kind := i.names.Of(f.Queue, f.Kind)
			attributes := append(common("run", "process", queue, kind), attribute.String("sqluice.fate", string(f.Fate)))
			if f.Cause != "" {
				attributes = append(attributes, attribute.String("error.type", string(f.Cause)))
			}
			i.ran.Record(ctx, f.Took.Seconds(), with(attributes...))
		},
		Queried: func(name string, took time.Duration, err error) {
			attributes := []attribute.KeyValue{attribute.String("sqluice.query", name)}
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				attributes = append(attributes, attribute.String("error.type", "_OTHER"))
			}
			i.queried.Record(ctx, took.Seconds(), with(attributes...))
		},
		Failed: func(error) { i.faults.Add(ctx, 1) },
	}
}
