package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqluice/sqluice/jobs"
)

func serveTests() tests {
	return tests{
		"Serve": serves, "ServeIsStopped": serveIsStopped, "ServeGivesMetrics": serveGivesMetrics, "WorkGivesMetrics": workGivesMetrics,
		"HTTP10NeedsAToken": http10NeedsAToken,
	}
}

// serving starts a server and returns where it serves.
func (c *cli) serving(env []string, args ...string) (*process, string) {
	c.t.Helper()
	p := c.startWith(env, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	return p, c.servesAt(p)
}

// servesAt waits until a server says where it serves.
func (c *cli) servesAt(p *process) string {
	c.t.Helper()
	url := ""
	eventually(c.t, "the server says where it serves", func() bool {
		line, ended := strings.CutSuffix(p.out.String(), "\n")
		url = strings.TrimPrefix(line, "serving ") + "api/admin" // it tells where the dashboard is
		return ended
	})
	return url
}

// fetch sends a request with a token, if there is one.
func fetch(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func serves(t *testing.T, c *cli) {
	c.ok("up")
	p, url := c.serving(nil)
	if status, body := fetch(t, http.MethodPost, url+"/jobs", "", `{"kind": "k", "payload": 7}`); status != http.StatusCreated {
		t.Fatalf("an enqueue is answered with %d: %s", status, body)
	}
	if job := c.show("1"); job.Kind != "k" || string(job.Payload) != "7" {
		t.Errorf("the job is %+v", job)
	}
	var list struct{ Jobs []jobs.Job }
	if status, body := fetch(t, http.MethodGet, url+"/jobs", "", ""); status != http.StatusOK || json.Unmarshal([]byte(body), &list) != nil || len(list.Jobs) != 1 {
		t.Errorf("the list is answered with %d: %s", status, body)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wantExit(exitOK)

	const token = "sixteen characters"
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, byVariable := c.serving([]string{tokenVariable + "=" + token + "\n"}, "--read-only") // as from a file
	_, byFile := c.serving(nil, "--token-file", file, "--prefix", "/queue", "--host", "jobs.example.com")
	if !strings.HasSuffix(byFile, "/queue/api/admin") {
		t.Errorf("below a prefix it serves %s", byFile)
	}
	for _, url := range []string{byVariable, byFile} {
		if status, body := fetch(t, http.MethodGet, url+"/stats", "", ""); status != http.StatusUnauthorized {
			t.Errorf("%s without a token is answered with %d: %s", url, status, body)
		}
		if status, body := fetch(t, http.MethodGet, url+"/stats", token, ""); status != http.StatusOK {
			t.Errorf("%s with the token is answered with %d: %s", url, status, body)
		}
	}
	if status, body := fetch(t, http.MethodDelete, byVariable+"/jobs/1", token, ""); status != http.StatusForbidden {
		t.Errorf("a change is answered with %d: %s", status, body)
	}
	if status, body := fetch(t, http.MethodDelete, byFile+"/jobs/1", token, ""); status != http.StatusNoContent {
		t.Errorf("a change is answered with %d: %s", status, body)
	}
}

// serveIsStopped: a running request is served, an event stream ends, and a connection that has sent nothing does not delay
// the stop.
func serveIsStopped(t *testing.T, c *cli) {
	c.ok("up")
	p, url := c.serving(nil)
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/api/admin")
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	half, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	const body = `{"kind": "k"}`
	fmt.Fprintf(half, "POST /api/admin/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	answer := make([]byte, len("HTTP/1.1 100"))
	if _, err := io.ReadFull(half, answer); err != nil || string(answer) != "HTTP/1.1 100" {
		t.Fatalf("the server asks for the body with %q, %v", answer, err)
	}
	events, err := http.Get(url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	lines := bufio.NewScanner(events.Body)
	for lines.Text() != "event: change" {
		if !lines.Scan() {
			t.Fatalf("the event stream has ended: %v", lines.Err())
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until the server ends it
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the event stream ended early: %v", err)
	}
	eventually(t, "it takes no more connections", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return true
		}
		_ = conn.Close()
		return false
	})
	fmt.Fprint(half, body)
	text, err := io.ReadAll(half)
	if err != nil || !strings.Contains(string(text), "201 Created") {
		t.Errorf("the request that had begun is answered with %q, %v", text, err)
	}
	p.wantExit(exitOK)
	if job := c.show("1"); job.Kind != "k" {
		t.Errorf("the job is %+v", job)
	}
}

func TestServeRefusesToStart(t *testing.T) {
	c := newCLI(t)
	c.fails(exitFailure, []string{"no such database", "sqluice up"}, "serve")
	c.ok("up")
	c.fails(exitUsage, []string{`--addr "0.0.0.0:0"`, "needs a token", tokenVariable}, "serve", "--addr", "0.0.0.0:0")
	c.fails(exitUsage, []string{`--addr ":0"`, "needs a token"}, "serve", "--addr", ":0")
	c.fails(exitUsage, []string{`--addr "nonsense" must be HOST:PORT`}, "serve", "--addr", "nonsense")
	c.fails(exitUsage, []string{"--host", `"a:80"`}, "serve", "--host", "a:80")
	c.fails(exitUsage, []string{"--origin", `"nowhere"`}, "serve", "--origin", "nowhere")
	c.fails(exitUsage, []string{"--prefix", `"queue"`}, "serve", "--prefix", "queue")
	file := filepath.Join(t.TempDir(), "token")
	c.fails(exitFailure, []string{"read the token"}, "serve", "--token-file", file)
	for text, complaint := range map[string]string{"\n": "is empty", "short\n": "at least 16 characters, not 5"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if a := c.run("serve", "--token-file", file); a.code == exitOK || !strings.Contains(a.err, complaint) || strings.Contains(a.err, "short\n") {
			t.Errorf("with the token %q it ends with %d: %s", text, a.code, a.err)
		}
	}
	c.ok("down", "--all")
	c.fails(exitFailure, []string{"schema", "sqluice up"}, "serve", "--addr", "127.0.0.1:0")
}

// TestServeOutlivesTheReadersOfItsLog checks that for example when the log is a pipe into a program that has ended.
func TestServeOutlivesTheReadersOfItsLog(t *testing.T) {
	c := newCLI(t)
	c.ok("up")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	url := c.servesAt(c.startLogging(write, nil, "serve", "--addr", "127.0.0.1:0"))
	if err := errors.Join(read.Close(), os.Remove(c.db)); err != nil {
		t.Fatal(err)
	}
	for range 3 { // each is logged
		if status, body := fetch(t, http.MethodGet, url+"/stats", "", ""); status != http.StatusInternalServerError {
			t.Errorf("without its database it answers with %d: %s", status, body)
		}
	}
	if status, body := fetch(t, http.MethodGet, url+"/healthz", "", ""); status != http.StatusOK {
		t.Errorf("afterwards it answers with %d: %s", status, body)
	}
}

// TestServeBreaksOffWhatDoesNotEnd checks that requests that do not end are aborted, with an error.
func TestServeBreaksOffWhatDoesNotEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun, broken := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(broken)
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() {
		served <- serveUntil(ctx, httpServer(handler, slog.New(slog.DiscardHandler)), listener, time.Millisecond)
	}()
	asked := make(chan error, 1)
	go func() {
		answer, err := http.Get("http://" + listener.Addr().String())
		if err == nil {
			err = answer.Body.Close()
		}
		asked <- err
	}()
	<-begun
	stop()
	if err := <-served; err == nil || !strings.Contains(err.Error(), "aborted") {
		t.Errorf("it ends with %v", err)
	}
	<-broken
	if err := <-asked; err == nil {
		t.Error("the request that did not end was answered")
	}
}
