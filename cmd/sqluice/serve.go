package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/admin"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/metrics"
)

const serveHelp = `serve answers HTTP requests of people and programs that look after the queue, until SIGINT or SIGTERM. The
dashboard is at /, the API below /api/admin; GET /api/admin/openapi.json describes it. GET /metrics is for Prometheus.

Without a token it serves only direct requests from this machine. To listen on any other address, or behind a proxy, it
needs one: put at least 16 characters in SQLUICE_TOKEN or into the file of --token-file. Programs send it as
"Authorization: Bearer TOKEN"; in a browser it is the password, with any user name. HTTP does not hide the token: put a
proxy that speaks TLS in front.

It answers to localhost and to the machine's addresses; allow other names with --host. A request for one of these names
needs the token.`

// tokenVariable is the environment variable with the token.
const tokenVariable = "SQLUICE_TOKEN"

// The bounds of what a server waits for; each request of the API takes the database 10 seconds at most.
const (
	headerWithin = 5 * time.Second
	bodyWithin   = 15 * time.Second
	writeWithin  = 30 * time.Second
	idleWithin   = 2 * time.Minute
	stopWithin   = 10 * time.Second
	mostHeader   = 16 << 10
)

// serveFlags are the flags of the serve command.
type serveFlags struct {
	address   string
	tokenFile string
	hosts     []string
	origins   []string
	prefix    string
	readOnly  bool
	logFormat string
	logLevel  string

	durability durabilityFor
}

// serveFields names the flags that the library's fields come from.
var serveFields = map[string]string{
	"Hosts": "--host", "Origins": "--origin", "Prefix": "--prefix", "Token": "the token",
}

func (a *app) serveCommand() *cobra.Command {
	f := serveFlags{address: "127.0.0.1:8080", logFormat: "text", logLevel: "info"}
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Answer HTTP requests: the API for those who look after the queue",
		Long:    serveHelp,
		GroupID: groupRun,
		Args:    takesNothing(),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.address, "addr", f.address, "`HOST:PORT` to listen on; port 0 takes any that is free")
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the token (default: the token in $"+tokenVariable+")")
	flags.StringArrayVar(&f.hosts, "host", nil, "answer to this `NAME` too; may be repeated")
	flags.StringArrayVar(&f.origins, "origin", nil, "take changes from the pages of this `URL` too; may be repeated")
	flags.StringVar(&f.prefix, "prefix", "", "serve below this `PATH`, as behind a proxy that passes it on")
	flags.BoolVar(&f.readOnly, "read-only", false, "refuse all changes")
	flags.Var(&choiceValue{&f.logFormat, []string{"text", "json"}}, "log-format", "how to log")
	flags.Var(&choiceValue{&f.logLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "what to log")
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
	log := newLogger(newProgress(a.stderr), f.logFormat, f.logLevel)
	m := metrics.New()
	return a.withObservedClient(ctx, f.durability, log, m.Observer(), func(c *jobs.Client) error {
		handler, err := admin.New(c, admin.Config{
			Prefix: f.prefix, Token: token, Hosts: f.hosts, Origins: f.origins, ReadOnly: f.readOnly, Logger: log,
		})
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
		if err := a.say("serving http://%s%s/", listener.Addr(), f.prefix); err != nil {
			return errors.Join(err, listener.Close())
		}
		server := httpServer(withMetrics(f.prefix+metricsPath, forPrometheus, handler), log)
		server.RegisterOnShutdown(handler.Close) // event streams do not end by themselves
		return serveUntil(ctx, server, listener, stopWithin)
	})
}

// token is the one that requests have to bring; none when it is empty.
func (a *app) token(file string) (string, error) {
	if file == "" {
		return strings.TrimSpace(a.getenv(tokenVariable)), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("read the token: %s is empty", file)
	}
	return token, nil
}

// listen listens, on an address of the machine itself unless there is a token. flag is where the address comes from.
func listen(ctx context.Context, flag, address string, mayBeAnywhere bool) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", shown(address), err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); !mayBeAnywhere && (!ok || !at.IP.IsLoopback()) {
		return nil, errors.Join(usagef("%s %q is not of this machine alone: that needs a token, in %s or --token-file",
			flag, shown(address), tokenVariable), listener.Close())
	}
	return listener, nil
}

func httpServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin, WriteTimeout: writeWithin,
		IdleTimeout: idleWithin, MaxHeaderBytes: mostHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serveUntil serves until ctx ends, and then lets requests end that have begun. Those that go on for longer than a while are
// broken off: the database is closed next.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener, within time.Duration) error {
	stopped := make(chan error, 1)
	unhook := context.AfterFunc(ctx, func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		err := server.Shutdown(stopping)
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.Join(fmt.Errorf("stop: requests went on for %s and are broken off", within), server.Close())
		}
		stopped <- err
	})
	err := server.Serve(listener)
	if unhook() {
		// It was not told to stop. Requests that have begun would go on with a database that is closed.
		return errors.Join(fmt.Errorf("serve: %w", err), server.Close())
	}
	return <-stopped
}
