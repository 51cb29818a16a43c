package metrics

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// mostScrapes is the maximum number of concurrent requests.
const mostScrapes = 8

// Handler returns an HTTP handler that serves collectors, such as [Metrics] and a [Queue], to Prometheus. It returns an error
// if two collectors export the same metric. It does not check credentials: see
// [github.com/sqluice/sqluice/admin.Handler.Guard]. Errors of collectors are logged to log.
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
