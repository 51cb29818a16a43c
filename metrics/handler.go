package metrics

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// mostScrapes is how many requests are served at once.
const mostScrapes = 8

// Handler serves collectors to Prometheus, such as [Metrics] and a [Queue]. It asks nobody who they are: see
// [github.com/sqluice/sqluice/admin.Handler.Guard]. log takes the faults of collectors.
func Handler(log *slog.Logger, collectors ...prometheus.Collector) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("serve metrics: %w", err)
		}
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: mostScrapes, CoalesceGather: true,
	}), nil
}
