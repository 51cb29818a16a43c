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

// instruments holds the counters and histograms of a Telemetry.
type instruments struct {
	names                             labels.Names
	enqueued, started, databaseErrors metric.Int64Counter
	waits, runs, queries              metric.Float64Histogram
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
	i.enqueued = count("messaging.client.sent.messages", "Jobs that were enqueued.", "{message}")
	i.started = count("messaging.client.consumed.messages", "Attempts that started.", "{message}")
	i.runs = times("messaging.process.duration", "Duration of attempts.")
	i.waits = times("sqluice.wait.duration", "How long jobs waited from their due time until an attempt started.")
	i.queries = times("sqluice.query.duration", "Duration of statements, by their names in sql/queries.")
	i.databaseErrors = count("sqluice.database.errors", "Reads and transactions that failed because of the database.", "{error}")
	return i, errors.Join(errs...)
}

// Observer returns the observer to open the engine with, as in sqlite.WithObserver(t.Observer()). It distinguishes at most 500
// pairs of a queue and a kind; it measures later ones as _other. Spans have the true names.
func (t *Telemetry) Observer() *jobs.Observer {
	i, ctx := t.instruments, context.Background()
	with := func(list ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(list...))
	}
	return &jobs.Observer{
		Enqueued: func(e jobs.Enqueued) {
			queue, kind := i.names.Of(e.Queue, e.Kind)
			i.enqueued.Add(ctx, int64(e.Jobs), with(common("enqueue", "send", queue, kind)...))
		},
		Started: func(s jobs.Started) {
			queue, kind := i.names.Of(s.Queue, s.Kind)
			attributes := with(common("run", "process", queue, kind)...)
			i.started.Add(ctx, 1, attributes)
			i.waits.Record(ctx, s.Waited.Seconds(), attributes)
		},
		Finished: func(f jobs.Finished) {
			queue, kind := i.names.Of(f.Queue, f.Kind)
			attributes := append(common("run", "process", queue, kind), attribute.String("sqluice.fate", string(f.Fate)))
			if f.Cause != "" {
				attributes = append(attributes, attribute.String("error.type", string(f.Cause)))
			}
			i.runs.Record(ctx, f.Took.Seconds(), with(attributes...))
		},
		Queried: func(name string, took time.Duration, err error) {
			attributes := []attribute.KeyValue{attribute.String("sqluice.query", name)}
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				attributes = append(attributes, attribute.String("error.type", "_OTHER"))
			}
			i.queries.Record(ctx, took.Seconds(), with(attributes...))
		},
		Failed: func(error) { i.databaseErrors.Add(ctx, 1) },
	}
}
