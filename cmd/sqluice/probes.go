package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/sqluice/sqluice/jobs"
)

const (
	probeWithin = 3 * time.Second // the maximum time for the answer of the database
	probeEvery  = time.Second     // the minimum time between two questions to the database
)

// probeFlag adds the flag --probes.
func probeFlag(flags *pflag.FlagSet, address *string) {
	textFlag(flags, address, "probes", "answer /healthz and /readyz, without a token, at http://`HOST:PORT`")
}

// probes answers whether this process serves, and whether its database works. The answer is a status and a word, because any machine may
// ask. It may be used concurrently.
type probes struct {
	client   *jobs.Client
	log      *slog.Logger
	stopping <-chan struct{} // closed when the process begins to stop

	mu    sync.Mutex
	asked time.Time // the time of the last question to the database; zero before the first
	err   error     // the result of that question; nil if the database works
}

func (p *probes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, word := http.StatusOK, "ok"
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		status, word = http.StatusMethodNotAllowed, "only GET and HEAD are answered"
	case r.URL.Path == "/healthz":
	case r.URL.Path != "/readyz":
		status, word = http.StatusNotFound, "there is /healthz and /readyz"
	case p.stops():
		status, word = http.StatusServiceUnavailable, "stopping"
	case p.check(r.Context()) != nil:
		status, word = http.StatusServiceUnavailable, "the database cannot be used: the log has the error"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := io.WriteString(w, word+"\n"); err != nil {
		p.log.Debug("a probe did not wait for its answer", "error", err)
	}
}

func (p *probes) stops() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// check returns the error of the database, or nil, from the last probeEvery. It logs each change between an error and none.
func (p *probes) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked.IsZero() && time.Since(p.asked) < probeEvery {
		return p.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeWithin) // other requests share the answer
	defer cancel()
	was := p.err
	p.err, p.asked = p.client.CheckSchema(ctx), time.Now()
	switch {
	case p.err != nil && was == nil:
		p.log.Warn("not ready: the database cannot be used", "error", p.err)
	case p.err == nil && was != nil:
		p.log.Info("ready again: the database can be used")
	}
	return p.err
}

// checkProbes returns an error if the address of probes is invalid. An empty address is valid.
func checkProbes(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	return checkAddress(ctx, "--probes", address, true)
}

// serveProbes answers probes at an address until stop is called. It does nothing for an empty address.
func (a *app) serveProbes(ctx context.Context, address string, c *jobs.Client, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := listen(ctx, "--probes", address, true)
	if err != nil {
		return nil, err
	}
	stop = serveBeside(ctx, "probes", &probes{client: c, log: log, stopping: ctx.Done()}, listener, probeWithin, log)
	log.Info("answering probes", "url", "http://"+listener.Addr().String()+"/readyz")
	return stop, nil
}
