package maintenance

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/sqluice/sqluice/internal/queue/outage"
)

// Service is work that runs beside a runner's jobs.
type Service interface {
	// Name returns the name of the service for people.
	Name() string

	// Run works until ctx ends. It logs its failures and tries again.
	Run(ctx context.Context)
}

// restartAfter is the pause of a service after a panic.
const restartAfter = time.Second

// Serve runs a service until ctx ends. A fault of the service that makes it panic ends neither the process nor the service: it is
// logged, and Run is called again.
func Serve(ctx context.Context, service Service, log *slog.Logger) {
	for !serveOnce(ctx, service, log) && outage.Sleep(ctx, restartAfter) {
		continue
	}
}

// serveOnce returns false after a panic.
func serveOnce(ctx context.Context, service Service, log *slog.Logger) (ended bool) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("a service of the worker panicked; restarting it", "service", service.Name(), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	service.Run(ctx)
	return true
}
