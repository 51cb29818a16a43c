package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/internal/test/testdb"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
	"github.com/sqluice/sqluice/jobs/sqlite"
	"github.com/sqluice/sqluice/telemetry"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// lab is a queue with its traces and metrics.
type lab struct {
	*testing.T
	spans     *tracetest.InMemoryExporter
	reader    *sdkmetric.ManualReader
	tracer    trace.Tracer
	telemetry *telemetry.Telemetry
	client    *jobs.Client
	store     jobs.Store
}

func newLab(t *testing.T, c telemetry.Config) *lab {
	t.Helper()
	l := &lab{T: t, spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(l.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(l.reader))
	t.Cleanup(func() {
		if err := errors.Join(provider.Shutdown(context.Background()), meters.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
	l.tracer = provider.Tracer("test")
	c.TracerProvider, c.MeterProvider = provider, meters
	var err error
	l.telemetry, err = telemetry.New(c)
	l.must(err)
	l.store = testdb.SQLite(t, sqlite.WithObserver(l.telemetry.Observer()))
	l.client = jobs.New(l.store, jobs.WithMiddleware(l.telemetry.Enqueue))
	return l
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// drain runs the kind k until no work is left.
func (l *lab) drain(handle func(context.Context, jobs.Job) error) {
	l.Helper()
	runner, err := jobs.NewRunner(l.client, jobs.Config{
		Logger: slog.New(slog.DiscardHandler), Middleware: []jobs.RunMiddleware{l.telemetry.Run},
	})
	l.must(err)
	jobs.Kind[json.RawMessage]{Name: "k"}.Handle(runner, func(ctx context.Context, job jobs.Job, _ json.RawMessage) error {
		return handle(ctx, job)
	})
	l.must(runner.Drain(l.Context()))
}

func (l *lab) enqueue(ctx context.Context, opts ...jobs.EnqueueOption) int64 {
	l.Helper()
	receipt, err := l.client.Enqueue(ctx, "k", json.RawMessage("{}"), opts...)
	l.must(err)
	return receipt.ID
}

// named returns the spans with a name, in the order of their ends.
func (l *lab) named(name string) []tracetest.SpanStub {
	var list []tracetest.SpanStub
	for _, span := range l.spans.GetSpans() {
		if span.Name == name {
			list = append(list, span)
		}
	}
	return list
}

func (l *lab) one(name string) tracetest.SpanStub {
	l.Helper()
	list := l.named(name)
	if len(list) != 1 {
		l.Fatalf("%d spans are called %s, not 1", len(list), name)
	}
	return list[0]
}

func (l *lab) wantAttribute(span tracetest.SpanStub, want attribute.KeyValue) {
	l.Helper()
	if !slices.Contains(span.Attributes, want) {
		l.Errorf("%s has %v, not %v", span.Name, span.Attributes, want)
	}
}

func nothing(context.Context, jobs.Job) error { return nil }

func TestATraceGoesFromTheEnqueueToTheRun(t *testing.T) {
	l := newLab(t, telemetry.Config{})
	ctx, request := l.tracer.Start(t.Context(), "request")
	id := l.enqueue(ctx, jobs.Metadata(map[string]any{"own": 1.50, "n": json.Number("12345678901234567890")}), jobs.Queue("default"))
	request.End()
	var inside trace.SpanContext
	l.drain(func(ctx context.Context, _ jobs.Job) error {
		inside = trace.SpanContextFromContext(ctx)
		return nil
	})
	enqueue, run := l.one("enqueue default"), l.one("run default")
	if enqueue.Parent.SpanID() != request.SpanContext().SpanID() || enqueue.SpanKind != trace.SpanKindProducer {
		t.Errorf("the enqueue is a %s below %s", enqueue.SpanKind, enqueue.Parent.SpanID())
	}
	if run.SpanContext.TraceID() != request.SpanContext().TraceID() || run.Parent.SpanID() != enqueue.SpanContext.SpanID() ||
		!run.Parent.IsRemote() || run.SpanKind != trace.SpanKindConsumer {
		t.Errorf("the run is a %s of trace %s below %s", run.SpanKind, run.SpanContext.TraceID(), run.Parent.SpanID())
	}
	if inside.SpanID() != run.SpanContext.SpanID() {
		t.Errorf("the handler runs in span %s, not %s", inside.SpanID(), run.SpanContext.SpanID())
	}
	for _, span := range []tracetest.SpanStub{enqueue, run} {
		l.wantAttribute(span, attribute.String("messaging.system", "sqluice"))
		l.wantAttribute(span, attribute.String("messaging.destination.name", "default"))
		l.wantAttribute(span, attribute.String("messaging.message.id", "1"))
		l.wantAttribute(span, attribute.String("sqluice.kind", "k"))
		if span.Status.Code == codes.Error || len(span.Events) > 0 {
			t.Errorf("%s has the status %v and events %v", span.Name, span.Status, span.Events)
		}
	}
	l.wantAttribute(enqueue, attribute.String("messaging.operation.type", "send"))
	l.wantAttribute(run, attribute.String("messaging.operation.type", "process"))
	l.wantAttribute(run, attribute.Int("sqluice.attempt", 1))
	l.wantAttribute(run, attribute.String("sqluice.fate", "done"))

	job, err := l.client.Get(t.Context(), id)
	l.must(err)
	want := `{"n":12345678901234567890,"own":1.5,"traceparent":"00-` + enqueue.SpanContext.TraceID().String() + "-" +
		enqueue.SpanContext.SpanID().String() + `-01"}`
	if string(job.Metadata) != want {
		t.Errorf("the metadata is %s, not %s", job.Metadata, want)
	}
}

func TestAnAttemptCanHaveATraceOfItsOwn(t *testing.T) {
	l := newLab(t, telemetry.Config{Link: true})
	l.enqueue(t.Context())
	l.drain(nothing)
	enqueue, run := l.one("enqueue default"), l.one("run default")
	if run.Parent.IsValid() || run.SpanContext.TraceID() == enqueue.SpanContext.TraceID() {
		t.Errorf("the run is below %v", run.Parent)
	}
	if len(run.Links) != 1 || run.Links[0].SpanContext.SpanID() != enqueue.SpanContext.SpanID() {
		t.Errorf("the run's links are %v", run.Links)
	}
}

func TestManyJobsHaveOneSender(t *testing.T) {
	l := newLab(t, telemetry.Config{})
	_, err := l.client.EnqueueMany(t.Context(), "k", []json.RawMessage{json.RawMessage("1"), json.RawMessage("2"), json.RawMessage("3")})
	l.must(err)
	l.drain(nothing)
	enqueue := l.one("enqueue default")
	l.wantAttribute(enqueue, attribute.Int("messaging.batch.message_count", 3))
	runs := l.named("run default")
	if len(runs) != 3 {
		t.Fatalf("there are %d runs", len(runs))
	}
	for _, run := range runs {
		if run.Parent.SpanID() != enqueue.SpanContext.SpanID() {
			t.Errorf("a run is below %s", run.Parent.SpanID())
		}
	}
}

// Metadata of the application is not overwritten.
func TestMetadataOfTheApplicationStays(t *testing.T) {
	l := newLab(t, telemetry.Config{})
	const theirs = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for text, stays := range map[string]bool{
		`[1]`: true, `"text"`: true, `null`: true, `{"traceparent":"` + theirs + `"}`: true, `{"traceparent":7}`: true, `{}`: false,
	} {
		id := l.enqueue(t.Context(), jobs.Metadata(json.RawMessage(text)))
		job, err := l.client.Get(t.Context(), id)
		l.must(err)
		if (string(job.Metadata) == text) != stays {
			t.Errorf("the metadata %s has become %s", text, job.Metadata)
		}
	}
	l.drain(nothing)
	runs := l.named("run default")
	if len(runs) != 6 {
		t.Fatalf("there are %d runs", len(runs))
	}
	if n := len(slices.DeleteFunc(runs, func(run tracetest.SpanStub) bool { return !run.Parent.IsValid() })); n != 2 {
		t.Errorf("%d runs are below an enqueue, not 2", n)
	}
}

func TestHowARunEnds(t *testing.T) {
	for _, test := range []struct {
		name, fate string
		failed     bool
		handle     func(context.Context, jobs.Job) error
	}{
		{"error", "retry", true, func(context.Context, jobs.Job) error { return errors.New("broken") }},
		{"discarded", "failed", true, func(context.Context, jobs.Job) error { return jobs.Discard(errors.New("broken")) }},
		{"snoozed", "snoozed", false, func(context.Context, jobs.Job) error { return jobs.Snooze(time.Hour) }},
		{"cancelled", "cancelled", false, func(context.Context, jobs.Job) error { return jobs.Cancel(errors.New("no use")) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, telemetry.Config{})
			l.enqueue(t.Context())
			l.drain(test.handle)
			run := l.one("run default")
			l.wantAttribute(run, attribute.String("sqluice.fate", test.fate))
			if failed := run.Status.Code == codes.Error && len(run.Events) == 1 && strings.Contains(run.Status.Description, "broken"); failed != test.failed {
				t.Errorf("the status is %v, the events %v", run.Status, run.Events)
			}
		})
	}
}

func TestAPanicEndsTheSpanAndStaysTheAttempts(t *testing.T) {
	l := newLab(t, telemetry.Config{})
	id := l.enqueue(t.Context())
	l.drain(func(context.Context, jobs.Job) error { panic("broken") })
	run := l.one("run default")
	if run.Status.Code != codes.Error {
		t.Errorf("the status is %v", run.Status)
	}
	list, err := inspect.New(l.client).Errors(t.Context(), id)
	l.must(err)
	if len(list) != 1 || list[0].Cause != jobs.CausePanic || !strings.Contains(list[0].Stack, "TestAPanicEndsTheSpan") {
		t.Errorf("the attempt's errors are %+v", list)
	}
}

func TestAnEnqueueThatFails(t *testing.T) {
	l := newLab(t, telemetry.Config{})
	if _, err := l.client.Enqueue(t.Context(), "k", json.RawMessage("nonsense")); err == nil {
		t.Fatal("nonsense was enqueued")
	}
	if enqueue := l.one("enqueue default"); enqueue.Status.Code != codes.Error || len(enqueue.Events) != 1 {
		t.Errorf("the status is %v, the events %v", enqueue.Status, enqueue.Events)
	}
}

func TestWhatIsMeasured(t *testing.T) {
	l := newLab(t, telemetry.Config{})
	l.enqueue(t.Context())
	l.drain(func(context.Context, jobs.Job) error { return errors.New("broken") })
	l.must(l.client.Store().Close())
	if _, err := l.client.Enqueue(t.Context(), "k", json.RawMessage("{}")); !errors.Is(err, jobs.ErrClosed) {
		t.Errorf("Enqueue gives %v", err)
	}
	var all metricdata.ResourceMetrics
	l.must(engine.StoreOf(l.store).Observer().Flush(l.Context()))
	l.must(l.reader.Collect(t.Context(), &all))
	have := map[string]metricdata.Aggregation{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			have[m.Name] = m.Data
		}
	}
	for _, name := range []string{"messaging.client.sent.messages", "messaging.client.consumed.messages", "sqluice.database.errors"} {
		if sum, ok := have[name].(metricdata.Sum[int64]); !ok || len(sum.DataPoints) != 1 || sum.DataPoints[0].Value != 1 {
			t.Errorf("%s is %v", name, have[name])
		}
	}
	for _, name := range []string{"messaging.process.duration", "sqluice.wait.duration", "sqluice.query.duration"} {
		if times, ok := have[name].(metricdata.Histogram[float64]); !ok || len(times.DataPoints) == 0 || times.DataPoints[0].Count == 0 {
			t.Errorf("%s is %v", name, have[name])
		}
	}
	if times, ok := have["messaging.process.duration"].(metricdata.Histogram[float64]); ok {
		for _, want := range []attribute.KeyValue{
			attribute.String("messaging.destination.name", "default"), attribute.String("sqluice.fate", "retry"), attribute.String("error.type", "error"),
		} {
			if value, ok := times.DataPoints[0].Attributes.Value(want.Key); !ok || value != want.Value {
				t.Errorf("%s is %v", want.Key, value)
			}
		}
	}
}
