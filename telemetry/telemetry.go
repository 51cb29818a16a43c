// Package telemetry exports a queue's traces and metrics to OpenTelemetry. A trace continues from an enqueue to the attempts of
// the job, in any process: the job's metadata carries the trace context, as the W3C's traceparent.
//
// Names and attributes follow OpenTelemetry's conventions for messaging where these define them.
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

// scope is this package's name in OpenTelemetry.
const scope = "github.com/sqluice/sqluice/telemetry"

// Config configures a Telemetry. The zero value of every field is its default.
type Config struct {
	TracerProvider trace.TracerProvider          // the global one if nil
	MeterProvider  metric.MeterProvider          // the global one if nil
	Propagator     propagation.TextMapPropagator // the W3C's trace context if nil

	// Link starts a new trace for each attempt, with a link to the enqueue, instead of continuing the enqueue's trace. It suits
	// jobs that run long after their enqueue.
	Link bool
}

// Telemetry provides middleware for clients and runners, and an observer for engines. Make it with [New]. It may be used
// concurrently.
type Telemetry struct {
	config      Config
	tracer      trace.Tracer
	instruments *instruments
}

// New returns a Telemetry. It returns an error if the meter cannot make an instrument.
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

// Enqueue is a client's middleware, for jobs.WithMiddleware. It makes a span for each enqueue; the spans of the attempts are its
// children, or linked to it. It does not change metadata that is not a JSON object: the attempts of such a job start a new trace.
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
			recordError(span, err, err.Error())
			return err
		}
		if ids := r.IDs(); len(ids) == 1 {
			span.SetAttributes(attribute.String("messaging.message.id", strconv.FormatInt(ids[0], 10)), attribute.Bool("sqluice.existed", r.Existed()))
		}
		return nil
	}
}

// Run is a runner's middleware, for jobs.Config.Middleware. It makes a span for each attempt. The span has the recorded
// error of the handler, without the values that the kind marks as sensitive: see [jobs.Job.Withhold].
func (t *Telemetry) Run(next jobs.RunFunc) jobs.RunFunc {
	return func(ctx context.Context, job jobs.Job) error {
		ctx, span := t.startSpan(ctx, job)
		returned := false
		defer func() {
			// A recover here would lose the stack of the attempt's error.
			if !returned {
				span.SetAttributes(attribute.String("error.type", "panic"))
				span.SetStatus(codes.Error, "the handler panicked, or called runtime.Goexit")
			}
			span.End()
		}()
		err := next(ctx, job)
		returned = true
		endSpan(ctx, span, job, err)
		return err
	}
}

func (t *Telemetry) startSpan(ctx context.Context, job jobs.Job) (context.Context, trace.Span) {
	attributes := append(common("run", "process", job.Queue, job.Kind),
		attribute.String("messaging.message.id", strconv.FormatInt(job.ID, 10)),
		attribute.Int("sqluice.attempt", job.Attempt), attribute.Int("sqluice.max_attempts", job.MaxAttempts))
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes...)}
	remote := t.config.Propagator.Extract(ctx, carrier(job.Metadata))
	enqueue := trace.SpanContextFromContext(remote)
	if !t.config.Link || !enqueue.IsRemote() {
		return t.tracer.Start(remote, "run "+job.Queue, options...)
	}
	return t.tracer.Start(ctx, "run "+job.Queue, append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: enqueue}))...)
}

// common returns the attributes of every span and measurement.
func common(operation, operationType, queue, kind string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("messaging.system", "sqluice"),
		attribute.String("messaging.operation.name", operation),
		attribute.String("messaging.operation.type", operationType),
		attribute.String("messaging.destination.name", queue),
		attribute.String("sqluice.kind", kind),
	}
}

// withholdTimeout bounds the read of the marks of sensitive fields.
const withholdTimeout = 5 * time.Second

// endSpan records the outcome of the attempt in the span. Only a failed attempt is an error: a snoozed, cancelled, released or lost one is
// not, nor is one that its worker could not run.
func endSpan(ctx context.Context, span trace.Span, job jobs.Job, err error) {
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
	// The context may have ended, for example by the attempt's timeout.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withholdTimeout)
	defer cancel()
	text, unknown := job.Withhold(ctx, err.Error())
	if unknown != nil {
		otel.Handle(fmt.Errorf("add an error to a trace: %w", unknown))
	}
	recordError(span, err, text)
}

// recordError adds an error to the span, with a text without sensitive values. It adds the event itself, because
// [trace.Span.RecordError] uses the error's own text.
func recordError(span trace.Span, err error, text string) {
	errorType := fmt.Sprintf("%T", err)
	span.AddEvent("exception", trace.WithAttributes(attribute.String("exception.type", errorType), attribute.String("exception.message", text)))
	span.SetAttributes(attribute.String("error.type", errorType))
	span.SetStatus(codes.Error, text)
}
