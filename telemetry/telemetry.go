// Package telemetry gives a queue's traces and metrics to OpenTelemetry. A trace goes on from an enqueue to the attempts of
// the job, in whatever process those run: it travels in the job's metadata, as the W3C's traceparent.
//
// Names and attributes are those of OpenTelemetry's conventions for messaging, as far as they have any.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqluice/sqluice/jobs"
)

// scope names this package to OpenTelemetry.
const scope = "github.com/sqluice/sqluice/telemetry"

// Config says where traces and metrics go. The zero value of every field is its default.
type Config struct {
	TracerProvider trace.TracerProvider          // the global one when nil
	MeterProvider  metric.MeterProvider          // the global one when nil
	Propagator     propagation.TextMapPropagator // the W3C's trace context when nil

	// Link gives each attempt a trace of its own with a link to the enqueue, instead of a part of the enqueue's trace: for
	// jobs that run long after it.
	Link bool
}

// Telemetry is a middleware of clients and runners, and an observer of engines. Make one with [New].
type Telemetry struct {
	config      Config
	tracer      trace.Tracer
	instruments *instruments
}

// New makes the instruments. The error is the meter's.
func New(c Config) (*Telemetry, error) {
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.Propagator == nil {
		c.Propagator = propagation.TraceContext{}
	}
	instruments, err := newInstruments(c.MeterProvider.Meter(scope))
	if err != nil {
		return nil, fmt.Errorf("make instruments: %w", err)
	}
	return &Telemetry{config: c, tracer: c.TracerProvider.Tracer(scope), instruments: instruments}, nil
}

// Enqueue is a client's middleware: a span for each enqueue, which the attempts are children of, or linked to. It is for
// jobs.WithMiddleware. Metadata that is no JSON object stays as it is, and such a job begins a trace of its own.
func (t *Telemetry) Enqueue(next jobs.EnqueueFunc) jobs.EnqueueFunc {
	return func(ctx context.Context, r *jobs.EnqueueRequest) error {
		job := r.Job()
		attributes := common("enqueue", "send", job.Queue, job.Kind)
		if r.Len() != 1 {
			attributes = append(attributes, attribute.Int("messaging.batch.message_count", r.Len()))
		}
		ctx, span := t.tracer.Start(ctx, "enqueue "+job.Queue, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attributes...))
		defer span.End()
		if metadata, ok := inject(ctx, t.config.Propagator, job.Metadata); ok {
			r.Set(jobs.Metadata(metadata))
		}
		if err := next(ctx, r); err != nil {
			fail(span, err, err.Error())
			return err
		}
		if ids := r.IDs(); len(ids) == 1 {
			span.SetAttributes(attribute.String("messaging.message.id", strconv.FormatInt(ids[0], 10)), attribute.Bool("sqluice.existed", r.Existed()))
		}
		return nil
	}
}

// Run is a runner's middleware: a span for each attempt. It is for jobs.Config.Middleware. A handler's error is in the span as
// it is recorded, without what the kind marks as sensitive: see [jobs.Job.Withhold].
func (t *Telemetry) Run(next jobs.RunFunc) jobs.RunFunc {
	return func(ctx context.Context, job jobs.Job) error {
		ctx, span := t.begin(ctx, job)
		returned := false
		defer func() {
			// Not recovered here: the stack that the attempt is recorded with would be lost.
			if !returned {
				span.SetAttributes(attribute.String("error.type", "panic"))
				span.SetStatus(codes.Error, "the handler panicked, or called runtime.Goexit")
			}
			span.End()
		}()
		err := next(ctx, job)
		returned = true
		conclude(ctx, span, job, err)
		return err
	}
}

func (t *Telemetry) begin(ctx context.Context, job jobs.Job) (context.Context, trace.Span) {
	attributes := append(common("run", "process", job.Queue, job.Kind),
		attribute.String("messaging.message.id", strconv.FormatInt(job.ID, 10)),
		attribute.Int("sqluice.attempt", job.Attempt), attribute.Int("sqluice.max_attempts", job.MaxAttempts))
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes...)}
	far := t.config.Propagator.Extract(ctx, carrier(job.Metadata))
	enqueue := trace.SpanContextFromContext(far)
	if !t.config.Link || !enqueue.IsRemote() {
		return t.tracer.Start(far, "run "+job.Queue, options...)
	}
	return t.tracer.Start(ctx, "run "+job.Queue, append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: enqueue}))...)
}

// common are the attributes of every span and measurement.
func common(operation, sort, queue, kind string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("messaging.system", "sqluice"),
		attribute.String("messaging.operation.name", operation),
		attribute.String("messaging.operation.type", sort),
		attribute.String("messaging.destination.name", queue),
		attribute.String("sqluice.kind", kind),
	}
}

// withholdWithin is how long the database may take to say what of an error is sensitive.
const withholdWithin = 5 * time.Second

// conclude tells what the end of a handler means. Only a failed attempt is an error: being put off, cancelled, stopped or
// replaced is none.
func conclude(ctx context.Context, span trace.Span, job jobs.Job, err error) {
	fate := jobs.FateOf(err)
	if fate == jobs.FateRetry {
		switch why := context.Cause(ctx); {
		case errors.Is(why, jobs.ErrLeaseLost):
			fate = jobs.FateLost
		case errors.Is(why, jobs.ErrCancelRequested):
			fate = jobs.FateCancelled
		case errors.Is(why, jobs.ErrStopping):
			fate = jobs.FateReleased
		}
	}
	span.SetAttributes(attribute.String("sqluice.fate", string(fate)))
	if fate != jobs.FateRetry && fate != jobs.FateFailed || !span.IsRecording() {
		return
	}
	// The attempt's time may be over, which is what the error says then.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withholdWithin)
	defer cancel()
	text, unknown := job.Withhold(ctx, err.Error())
	if unknown != nil {
		otel.Handle(fmt.Errorf("tell a trace of an error: %w", unknown))
	}
	fail(span, err, text)
}

// fail tells of an error with a text that may be told. It is the event that [trace.Span.RecordError] makes, which would take
// the error's own.
func fail(span trace.Span, err error, text string) {
	sort := fmt.Sprintf("%T", err)
	span.AddEvent("exception", trace.WithAttributes(attribute.String("exception.type", sort), attribute.String("exception.message", text)))
	span.SetAttributes(attribute.String("error.type", sort))
	span.SetStatus(codes.Error, text)
}
