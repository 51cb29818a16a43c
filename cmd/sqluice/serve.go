package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/metrics"
)

const serveHelp = `serve serves the dashboard, the HTTP API and metrics until SIGINT or SIGTERM. The dashboard is at /, the API below
/api/admin; GET /api/admin/openapi.json describes it. GET /metrics is for Prometheus.

Without a token it serves only direct requests from this machine. To listen on any other address, or behind a proxy, it
needs one: put at least 16 characters in SQLUICE_TOKEN or into the file of --token-file. Programs send it as
"Authorization: Bearer TOKEN"; in a browser it is the password, with any user name. HTTP does not hide the token: put a
proxy that speaks TLS in front.

It answers to localhost and to the machine's addresses; allow other names with --host. A request for one of these names
needs the token. --probes answers /healthz and /readyz at another address, without a token and for any name.`

// tokenVariable is the environment variable with the token.
const tokenVariable = "SQLUICE_TOKEN"

// The timeouts of a server. The database takes 10 seconds at most for each request of the API.
const (
	headerTimeout  = 5 * time.Second
	bodyTimeout    = 15 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	stopTimeout    = 10 * time.Second
	maxHeaderBytes = 16 << 10
)

// serveFlags holds the flags of the serve command.
type serveFlags struct {
	address   string
	tokenFile string
	hosts     []string
	origins   []string
	prefix    string
	readOnly  bool
	logFormat string
	logLevel  string
	probes    string

	durability durabilityFor
}

// serveFields maps the library's fields to flags.
var serveFields = map[string]string{
	"Hosts": "--host", "Origins": "--origin", "Prefix": "--prefix", "Token": "the token",
}

func (a *app) serveCommand() *cobra.Command {
	f := serveFlags{address: "127.0.0.1:8080", logFormat: "text", logLevel: "info"}
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve the dashboard, the HTTP API and metrics",
		Long:    serveHelp,
		GroupID: groupRun,
		Args:    noArgs(),
	}
	flags := cmd.Flags()
	textFlag(flags, &f.address, "addr", "`HOST:PORT` to listen on; port 0 means any free port")
	textFlag(flags, &f.tokenFile, "token-file", "`FILE` with the token (default: the token in $"+tokenVariable+")")
	flags.StringArrayVar(&f.hosts, "host", nil, "also serve requests for this host `NAME`; may be repeated")
	flags.StringArrayVar(&f.origins, "origin", nil, "also accept changes from pages of this `URL`; may be repeated")
	textFlag(flags, &f.prefix, "prefix", "serve below this `PATH`, for a proxy that keeps it in requests")
	flags.BoolVar(&f.readOnly, "read-only", false, "refuse all changes")
	flags.Var(&choiceValue{&f.logFormat, []string{"text", "json"}}, "log-format", "how to log")
	flags.Var(&choiceValue{&f.logLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "what to log")
	probeFlag(flags, &f.probes)
	f.durability = durabilityFlag(flags)
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error { return a.serve(ctx, &f) })
	return cmd
}

func (a *app) serve(ctx context.Context, f *serveFlags) error {
	defer outliveReaders()()
	token, err := a.token(f.tokenFile)
	if err != nil {
		return err
	}
	log := newLogger(a.progress(), f.logFormat, f.logLevel)
	config := admin.Config{
		Prefix: f.prefix, Token: token, Hosts: f.hosts, Origins: f.origins, ReadOnly: f.readOnly, Logger: log,
	}
	if err := config.Validate(); err != nil {
		return nameFlags(err, serveFields)
	}
	if err := errors.Join(checkAddress(ctx, "--addr", f.address, token != ""), checkProbes(ctx, f.probes)); err != nil {
		return err
	}
	m := metrics.New()
	return a.withObservedClient(ctx, f.durability, log, m.Observer(), func(c *jobs.Client) error {
		handler, err := admin.New(c, config)
		if err != nil {
			return nameFlags(err, serveFields)
		}
		if err := c.CheckSchema(ctx); err != nil {
			return err
		}
		forPrometheus, err := metricsHandler(handler, m, c, log)
		if err != nil {
			return err
		}
		listener, err := listen(ctx, "--addr", f.address, token != "")
		if err != nil {
			return err
		}
		stop, err := a.serveProbes(ctx, f.probes, c, log)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer stop()
		if err := a.printAndFlush("serving http://%s%s/", listener.Addr(), f.prefix); err != nil {
			return errors.Join(err, listener.Close())
		}
		server := httpServer(withMetrics(f.prefix+metricsPath, forPrometheus, handler), log)
		server.RegisterOnShutdown(handler.Close) // event streams last for minutes
		return serveUntil(ctx, server, listener, stopTimeout)
	})
}

// token returns the token that requests must carry, or "" for none.
func (a *app) token(file string) (string, error) {
	if file == "" {
		return strings.TrimSpace(a.getenv(tokenVariable)), nil
	}
	text, err := readSecret("token", file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(text)
	if token == "" {
		return "", fmt.Errorf("read the token: %s is empty", file)
	}
	return token, nil
}

// checkAddress returns an error for an invalid address, or for one that is not a loopback address unless mayBeAnywhere is set. It does not
// look up hosts: listen does.
func checkAddress(ctx context.Context, flag, address string, mayBeAnywhere bool) error {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port)
	}
	if err != nil {
		return usagef("%s %q must be HOST:PORT, such as 127.0.0.1:8080", flag, shown(address))
	}
	ip, err := netip.ParseAddr(host)
	if !mayBeAnywhere && (host == "" || err == nil && !ip.Unmap().IsLoopback()) {
		return notLoopback(flag, address)
	}
	return nil
}

func notLoopback(flag, address string) error {
	return usagef("%s %q is not a loopback address: another address needs a token, in %s or --token-file", flag, shown(address), tokenVariable)
}

// listen listens on an address. Unless mayBeAnywhere is set, it must be a loopback address. flag names its flag in errors.
func listen(ctx context.Context, flag, address string, mayBeAnywhere bool) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", shown(address), err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); !mayBeAnywhere && (!ok || !at.IP.IsLoopback()) {
		return nil, errors.Join(notLoopback(flag, address), listener.Close())
	}
	return listener, nil
}

func httpServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serveBeside serves in the background until stop is called, also after the end of ctx; within is the argument of serveUntil. It logs an
// error of the server, and the process continues.
func serveBeside(ctx context.Context, what string, handler http.Handler, listener net.Listener, within time.Duration, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := serveUntil(ctx, httpServer(handler, log), listener, within); err != nil {
			log.Error("serving failed", "what", what, "error", err)
		}
	}()
	return func() { cancel(); <-ended }
}

// serveUntil serves until ctx ends, and then waits for running requests. It aborts requests that take longer than within: the
// database is closed next.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener, within time.Duration) error {
	stopped := make(chan error, 1)
	unhook := context.AfterFunc(ctx, func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		err := server.Shutdown(stopping)
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.Join(fmt.Errorf("stop: requests ran for more than %s and are aborted", within), server.Close())
		}
		stopped <- err
	})
	err := server.Serve(listener)
	if unhook() {
		// Serve failed by itself. Running requests would continue with a closed database.
		return errors.Join(fmt.Errorf("serve: %w", err), server.Close())
	}
	return <-stopped
}
