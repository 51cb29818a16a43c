package testdb

import (
	"bufio"
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
	"testing"
	"time"
)

// hang is when a server that says nothing is given up.
const hang = 2 * time.Minute

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
		return "", errors.New("neither /usr/lib/postgresql/*/bin nor initdb in the PATH")
	}
	return filepath.Dir(initdb), nil
}

// startCluster makes a cluster that listens on a unix socket only, and returns the URL of its first database.
func startCluster(tb testing.TB, binaries string) string {
	tb.Helper()
	// Not tb.TempDir: a socket's path may be at most about 100 bytes, and the server may run as another user.
	dir, err := os.MkdirTemp("", "sqluice-pg-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("remove the PostgreSQL cluster: %v", err)
		}
	})
	attributes, err := unprivileged(dir)
	if err != nil {
		unavailable(tb, err)
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(tb.Context(), filepath.Join(binaries, "initdb"), "--pgdata="+data, "--username=sqluice",
		"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	initdb.Dir, initdb.SysProcAttr = dir, attributes
	if output, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, output)
	}

	// Nothing here survives the test, so nothing needs to reach the disk.
	server := exec.Command(filepath.Join(binaries, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "logging_collector=off")
	server.Dir, server.SysProcAttr = dir, attributes
	log, err := server.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := server.Start(); err != nil {
		tb.Fatalf("start postgres: %v", err)
	}
	lines := &serverLog{ready: make(chan struct{}), ended: make(chan struct{})}
	go lines.follow(log)
	tb.Cleanup(func() {
		// SIGQUIT is PostgreSQL's immediate shutdown.
		if err := errors.Join(server.Process.Signal(syscall.SIGQUIT), waitFor(server, lines)); err != nil {
			tb.Errorf("stop postgres: %v", err)
		}
	})
	select {
	case <-lines.ready:
	case <-lines.ended:
		tb.Fatalf("postgres ended at its start:\n%s", lines.text.String())
	case <-time.After(hang):
		tb.Fatalf("postgres was not ready after %s", hang)
	}
	return (&url.URL{
		Scheme: "postgres", User: url.User("sqluice"), Path: "/postgres",
		RawQuery: url.Values{"host": {dir}}.Encode(),
	}).String()
}

// waitFor reaps the server; that it was ended by our signal is no error.
func waitFor(server *exec.Cmd, lines *serverLog) error {
	<-lines.ended
	err := server.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
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
