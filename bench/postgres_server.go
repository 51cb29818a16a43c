package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sqluice/sqluice/internal/test/serveruser"
)

// serverVariable names the environment variable that holds the URL of a server to measure instead of a temporary one.
// Its user must be allowed to create databases, and for a soak to see the size of the log and to write checkpoints (pg_monitor,
// pg_checkpoint).
const serverVariable = "SQLUICE_BENCH_POSTGRES"

// startWithin is the limit for a server's start.
const startWithin = 2 * time.Minute

var errNoServer = errors.New("there is no server")

// server is a PostgreSQL server in which runs make their databases.
type server struct {
	url      string
	process  int          // of a temporary server; 0 for a given server
	shutdown func() error // nil for a given server
}

// startServer uses the server of [serverVariable], or else starts one from the local binaries. It wraps [errNoServer]
// when there is neither.
func startServer(ctx context.Context) (*server, error) {
	if url := os.Getenv(serverVariable); url != "" {
		return &server{url: url}, nil
	}
	binaries, err := postgresBinaries()
	if err != nil {
		return nil, fmt.Errorf("%w: %w; install it or set %s to a server's URL", errNoServer, err, serverVariable)
	}
	dir, err := folder()
	if err != nil {
		return nil, err
	}
	s, err := startCluster(ctx, binaries, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// postgresBinaries finds the folder of the newest installed server.
func postgresBinaries() (string, error) {
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	// By length first, so that 9 comes before 10.
	slices.SortFunc(folders, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	if len(folders) > 0 {
		return folders[len(folders)-1], nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("find initdb: it is neither in /usr/lib/postgresql/*/bin nor in the PATH")
	}
	return filepath.Dir(initdb), nil
}

// connections is the number that the server allows: PostgreSQL's default of 100 is too few for twelve processes of
// systems that open all connections of their pools.
const connections = 400

// startCluster makes a cluster that listens on a unix socket only, allows more connections, and has PostgreSQL's other
// defaults, those of durability among them.
func startCluster(ctx context.Context, binaries, dir string) (*server, error) {
	attributes, err := serveruser.Attributes(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoServer, err)
	}
	separate(attributes)
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(binaries, "initdb"), "--pgdata="+data, "--username=sqluice",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions")
	initdb.Dir, initdb.SysProcAttr = dir, attributes
	if output, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, output)
	}
	cmd := exec.Command(filepath.Join(binaries, "postgres"), "-D", data, "-k", dir,
		"-c", "listen_addresses=", "-c", "logging_collector=off", "-c", fmt.Sprintf("max_connections=%d", connections))
	cmd.Dir, cmd.SysProcAttr = dir, attributes
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	lines := &serverLog{ready: make(chan struct{}), ended: make(chan struct{})}
	go lines.follow(log)
	s := &server{
		url: (&url.URL{
			Scheme: "postgres", User: url.User("sqluice"), Path: "/postgres",
			RawQuery: url.Values{"host": {dir}}.Encode(),
		}).String(),
		process: cmd.Process.Pid,
		shutdown: func() error {
			// SIGQUIT is PostgreSQL's immediate shutdown: the data is temporary.
			return errors.Join(cmd.Process.Signal(syscall.SIGQUIT), lines.wait(cmd), os.RemoveAll(dir))
		},
	}
	select {
	case <-lines.ready:
		return s, nil
	case <-lines.ended:
		return nil, fmt.Errorf("postgres ended at its start: %w\n%s", lines.wait(cmd), lines.text.String())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.shutdown())
	case <-time.After(startWithin):
		return nil, errors.Join(fmt.Errorf("postgres was not ready after %s", startWithin), s.shutdown())
	}
}

func (s *server) stop() error {
	if s.shutdown == nil {
		return nil
	}
	return s.shutdown()
}

// urlOf returns the URL of another database of the server.
func (s *server) urlOf(name string) (string, error) {
	parsed, err := url.Parse(s.url)
	if err != nil || parsed.Scheme != "postgres" && parsed.Scheme != "postgresql" {
		return "", fmt.Errorf("%s is not a URL as postgres://user:password@host:5432/name", serverVariable)
	}
	parsed.Path = "/" + name
	return parsed.String(), nil
}

// serverLog reads what a server writes, until it ends.
type serverLog struct {
	ready chan struct{} // closed when the server accepts connections
	ended chan struct{} // closed when the server has closed its log; text is complete then
	text  strings.Builder
}

func (l *serverLog) follow(log io.Reader) {
	defer close(l.ended)
	isReady := false
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		fmt.Fprintln(&l.text, lines.Text())
		if !isReady && strings.Contains(lines.Text(), "ready to accept connections") {
			isReady = true
			close(l.ready)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(&l.text, "read the log:", err)
	}
}

// wait reaps the server; that a signal ended it is no error.
func (l *serverLog) wait(cmd *exec.Cmd) error {
	<-l.ended
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}
