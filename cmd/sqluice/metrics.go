package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/pflag"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/metrics"
)

// metricsPath is the path of metrics, after the prefix if there is one.
const metricsPath = "/metrics"

// scrapeTimeout bounds the wait of a stopping worker for running requests for its metrics.
const scrapeTimeout = time.Second

// metricsFlags holds the flags of a worker's metrics.
type metricsFlags struct {
	address   string // empty means that no metrics are served
	tokenFile string
	hosts     []string
}

func (f *metricsFlags) add(flags *pflag.FlagSet) {
	textFlag(flags, &f.address, "metrics", "serve metrics at http://`HOST:PORT`"+metricsPath)
	textFlag(flags, &f.tokenFile, "token-file", "`FILE` with the token that requests for metrics must carry (default: the token in $"+tokenVariable+")")
	flags.StringArrayVar(&f.hosts, "host", nil, "also serve requests for metrics for this host `NAME`; may be repeated")
}

func (f *metricsFlags) check() error {
	if f.address == "" && (f.tokenFile != "" || len(f.hosts) > 0) {
		return usagef("--token-file and --host are for --metrics HOST:PORT, which is missing")
	}
	return nil
}

// metricsHandler returns a handler of the metrics of this process and of a client's queue, guarded by rules.
func metricsHandler(rules *admin.Handler, m *metrics.Metrics, c *jobs.Client, log *slog.Logger) (http.Handler, error) {
	handler, err := metrics.Handler(log, m, metrics.NewQueue(c, log), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err != nil {
		return nil, err
	}
	return rules.Guard(handler), nil
}

// withMetrics returns a handler that passes requests for a path to one handler and all others to another.
func withMetrics(path string, metrics, others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			metrics.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}

// config returns the rules for requests for metrics, or an error if a rule or the address is invalid. It runs before a database is created.
func (f *metricsFlags) config(ctx context.Context, a *app, log *slog.Logger) (admin.Config, error) {
	if f.address == "" {
		return admin.Config{}, nil
	}
	token, err := a.token(f.tokenFile)
	if err != nil {
		return admin.Config{}, err
	}
	config := admin.Config{Token: token, Hosts: f.hosts, Logger: log}
	if err := config.Validate(); err != nil {
		return config, nameFlags(err, serveFields)
	}
	return config, checkAddress(ctx, "--metrics", f.address, token != "")
}

// serveMetrics serves the metrics of a worker until stop is called.
func (a *app) serveMetrics(
	ctx context.Context, f *metricsFlags, config admin.Config, m *metrics.Metrics, c *jobs.Client, log *slog.Logger,
) (stop func(), err error) {
	rules, err := admin.New(c, config)
	if err != nil {
		return nil, nameFlags(err, serveFields)
	}
	handler, err := metricsHandler(rules, m, c, log)
	if err != nil {
		return nil, err
	}
	listener, err := listen(ctx, "--metrics", f.address, config.Token != "")
	if err != nil {
		return nil, err
	}
	stop = serveBeside(ctx, "metrics", withMetrics(metricsPath, handler, rules.Guard(http.NotFoundHandler())), listener, scrapeTimeout, log)
	log.Info("serving metrics", "url", fmt.Sprintf("http://%s%s", listener.Addr(), metricsPath))
	return stop, nil
}
