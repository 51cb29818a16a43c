package telemetry_test

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/telemetry"
)

// TestNamesAreBounded checks that the number of series of each instrument is bounded for any number of queues and kinds.
func TestNamesAreBounded(t *testing.T) {
	const most, made = 500, 1200
	l := newLab(t, telemetry.Config{})
	told := l.telemetry.Observer()
	for i := range made {
		kind := fmt.Sprint("k", i)
		told.Enqueued(jobs.Enqueued{Queue: "q", Kind: kind, Jobs: 1})
		told.Started(jobs.Started{Queue: "q", Kind: kind})
		told.Finished(jobs.Finished{Queue: "q", Kind: kind, Fate: jobs.FateDone})
	}
	var all metricdata.ResourceMetrics
	l.must(engine.StoreOf(l.store).Observer().Flush(l.Context()))
	l.must(l.reader.Collect(t.Context(), &all))
	seen := 0
	check := func(name string, set attribute.Set, n uint64) {
		kind, _ := set.Value("sqluice.kind")
		queue, _ := set.Value("messaging.destination.name")
		want := uint64(1)
		if kind.AsString() == "_other" {
			want = made - most
		}
		if (queue.AsString() == "_other") != (kind.AsString() == "_other") || n != want {
			t.Errorf("%s of %s in %s is %d", name, kind.AsString(), queue.AsString(), n)
		}
		seen++
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, point := range data.DataPoints {
					check(m.Name, point.Attributes, uint64(point.Value))
				}
			case metricdata.Histogram[float64]:
				for _, point := range data.DataPoints {
					check(m.Name, point.Attributes, point.Count)
				}
			}
		}
	}
	if want := 4 * (most + 1); seen != want {
		t.Errorf("there are %d series, not %d", seen, want)
	}
}
